"""Threads for plain handlers that may overlap. A thread is started only if none is idle."""

from __future__ import annotations

import threading
import time
from collections import deque

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._work import Adopt, Work


class Pool:
    """At most `limit` threads; more work waits in order. `adopt` is the argument of `Work.run`."""

    def __init__(self, limit: int, adopt: Adopt | None = None) -> None:
        self.limit = limit
        self._adopt = adopt
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._queue: deque[Work] = deque()
        self._running: list[Work] = []
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._has_ended = False

    def submit(self, work: Work) -> None:
        with self._lock:
            self._queue.append(work)
            if self._idle >= len(self._queue):
                self._ready.notify()
                return
            if len(self._threads) >= self.limit:
                return
            thread = threading.Thread(target=self._work, name=f"protomcp-{len(self._threads) + 1}", daemon=True)
            self._threads.append(thread)
        thread.start()

    def refuse(self, refusal: Work) -> None:
        """Runs it immediately, unless handlers of cancelled calls have all threads: then when one of them has ended."""
        with self._lock:
            is_blocked = len(self._running) >= self.limit and all(each.context._cancelled for each in self._running)
            if is_blocked:
                self._queue.appendleft(refusal)
        if not is_blocked:
            refusal.run()

    def end(self, timeout: float) -> None:
        """Lets the threads end when nothing is queued, and waits for them."""
        with self._lock:
            self._has_ended = True
            self._ready.notify_all()
        deadline = time.monotonic() + timeout
        for each in self._threads:
            each.join(max(deadline - time.monotonic(), 0.0))

    def _work(self) -> None:
        work: Work | None = None
        while True:
            with self._lock:
                if work is not None:
                    self._running.remove(work)
                    work = None
                while not self._queue:
                    if self._has_ended:
                        return
                    self._idle += 1
                    self._ready.wait()
                    self._idle -= 1
                work = self._queue.popleft()
                self._running.append(work)
            work.run(self._adopt)
