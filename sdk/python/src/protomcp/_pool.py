"""Threads for plain handlers that may overlap. A thread is started only if none is idle."""

from __future__ import annotations

import threading
from collections import deque

from ._work import Work


class Pool:
    """At most `limit` threads; more work waits in order."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._queue: deque[Work] = deque()
        self._idle = 0
        self._count = 0

    def submit(self, work: Work) -> None:
        with self._lock:
            self._queue.append(work)
            if self._idle >= len(self._queue):
                self._ready.notify()
                return
            if self._count >= self.limit:
                return
            self._count += 1
        threading.Thread(target=self._work, name=f"protomcp-{self._count}", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._queue:
                    self._idle += 1
                    self._ready.wait()
                    self._idle -= 1
                work = self._queue.popleft()
            work.run()
