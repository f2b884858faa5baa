"""The threads of handlers. The main thread reads and runs plain handlers, one at a time.

While a handler runs for more than 2 ms, or waits for an answer, a second thread reads in its place: it answers lists,
cancellations and pings, and keeps further calls for the main thread, which reads again as soon as none is left. So
calls of fast handlers cost no change of threads, and slow ones hold up nothing but each other.
"""

from __future__ import annotations

import os
import select
import threading
import time
from _socket import MSG_DONTWAIT
from collections import deque

from . import _forks
from ._frames import Frame, FrameReader, Rejected
from ._pool import Pool
from ._typing import TYPE_CHECKING
from ._wire import Envelope

if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable

    from ._work import Adopt, Work

STUCK = 0.002
"""Seconds after which the second thread reads."""
FAST = 0.0001
"""Seconds below which the main thread runs a handler itself that could run in the pool."""
PATIENCE = 5.0
"""Seconds that handlers have to end when the bridge has closed the connection; those on the main thread have more."""
_QUIET = 50
"""Rounds without a call after which the second thread sleeps until the next one."""


class MainThread:
    """Reads envelopes and gives them to `receive`, which calls `submit` for those that need a handler."""

    adopt: Adopt | None = None

    def __init__(self, stream: _socket.socket, receive: Callable[[Envelope], None], concurrency: int) -> None:
        self.receive = receive
        # Called with the running handler and the number of calls behind it, whenever one more waits.
        self.on_queue: Callable[[Work, int], None] = lambda running, waiting: None
        self.on_reject: Callable[[Rejected], None] = lambda frame: None
        # Called before this thread waits, or works on something slow: what it has answered goes out.
        self.on_idle: Callable[[], None] = lambda: None
        # Called when there is nothing more to read, while handlers may still run.
        self.on_end: Callable[[], None] = lambda: None
        self._stream = stream
        self._frames = FrameReader()
        self._thread = threading.get_ident()
        self._pool = Pool(concurrency, self.adopt)
        self._backlog: deque[Work] = deque()
        self._running: Work | None = None
        self._has_ended = False
        # The main thread reads unless the second one does; `_reading` is held by the one that reads or hands over.
        self._is_reader = True
        self._reading = threading.Lock()
        # When the running handler has begun; 0 if none runs, less than 0 if it waits for an answer.
        self._since = 0.0
        self._runs = 0
        self._switch = threading.Lock()
        self._standby: threading.Thread | None = None
        self._is_parked = False
        self._bell = threading.Event()
        self._poke: tuple[int, int] | None = None
        self._forks = _forks.count

    def run(self) -> None:
        """Reads until the bridge closes the connection, and until the last plain handler has ended."""
        try:
            while not self._has_ended:
                if not self._is_reader:
                    self._drain()
                    continue
                frame = self._frames.next()
                if frame is None:
                    self.on_idle()
                    self._read(0)
                else:
                    self._take(frame)
            self._drain()
        finally:
            self.close()

    @property
    def is_lost(self) -> bool:
        """True if the bytes of the bridge could not be read."""
        return self._frames.lost

    def submit(self, work: Work) -> None:
        """Runs a handler. Called by the thread that reads."""
        if work.is_async:
            self.start_async(work)
        elif work.is_concurrent and self._pool.limit > 1:
            cost = work.cost()
            if work.is_refusal:
                self._pool.refuse(work)
            elif cost is not None and cost < FAST and self._may_run():
                self._run(work)
            else:
                self._pool.submit(work)
        elif self._may_run():
            self._run(work)
        else:
            self._backlog.append(work)
            if (running := self._running) is not None:
                self.on_queue(running, len(self._backlog))

    def start_async(self, work: Work) -> None:
        """Runs an async handler in its own loop: the file has registered it after the start."""
        if self._may_run():
            self._run(work)
        else:
            self._backlog.append(work)

    def wait(self, done: threading.Event, timeout: float | None) -> bool:
        """Waits for an answer of the bridge. On the main thread the second one reads it."""
        if threading.get_ident() != self._thread:
            return done.wait(timeout)
        self.on_idle()
        with self._switch:
            is_handler = self._since != 0.0
            if self._is_reader:
                self._since = -1.0
        self._ensure_standby()
        self._bell.set()
        try:
            return done.wait(timeout)
        finally:
            if not is_handler:
                with self._switch:
                    self._since = 0.0
                self.resume()

    def on_hold(self) -> None:
        """An answer of the main thread waits for `on_idle`, which follows the frames that have been read."""

    def resume(self) -> None:
        """Code of the main thread that was not a plain handler has waited: `run` reads again."""

    def end(self) -> None:
        """There is nothing more to read. Handlers that run are told, and those that wait for their turn fail."""
        self._has_ended = True
        self.on_end()
        self._bell.set()

    def close(self) -> None:
        """Ends the other threads. Handlers in the pool have some time."""
        self._has_ended = True
        self._pool.end(PATIENCE)
        if self._standby is None or self._poke is None:
            return
        self._bell.set()
        os.write(self._poke[1], b"x")
        self._standby.join(PATIENCE)
        if not self._standby.is_alive():
            for each in self._poke:
                os.close(each)

    def _check_process(self) -> None:
        """Ends the child of an async handler that waits in the loop: it would take what is for its parent."""
        if self._forks != _forks.count:
            _forks.leave(RuntimeError("a process that an async handler forks cannot wait in it"), "a handler")

    def _take(self, frame: Frame) -> None:
        self._check_process()
        if isinstance(frame, Envelope):
            self.receive(frame)
        elif isinstance(frame, Rejected):
            self.on_reject(frame)

    def _may_run(self) -> bool:
        return self._since == 0.0 and threading.get_ident() == self._thread

    def _read(self, flags: int) -> None:
        """Reads what there is; notes the end of the stream."""
        self._check_process()
        try:
            data = self._stream.recv(1 << 16, flags)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._frames.feed(data)
        if not data or self._frames.lost:
            self.end()

    def _run(self, work: Work) -> None:
        """Runs one handler on the main thread. If it was slow, runs what came since, and reads again."""
        self._run_one(work)
        if not self._is_reader:
            self.on_idle()
            self._drain()

    def _run_one(self, work: Work) -> None:
        start = time.monotonic()
        with self._switch:
            self._since = start
            self._runs += 1
            is_parked = self._is_parked
        if is_parked:
            self._bell.set()
        elif self._standby is None:
            self._ensure_standby()
        self._running = work
        try:
            work.run(self.adopt)
        finally:
            self._running = None
            with self._switch:
                self._since = 0.0

    def _drain(self) -> None:
        """Runs the queued handlers, then takes the reading back."""
        while True:
            while self._backlog:
                self._run_one(self._backlog.popleft())
                self.on_idle()
            if self._take_back():
                return

    def _take_back(self) -> bool:
        """Makes the main thread the reader, unless there are handlers to run."""
        if self._is_reader:
            return True
        with self._reading:
            if self._backlog:
                return False
            self._is_reader = True
        if self._poke is not None:
            os.write(self._poke[1], b"x")
        return True

    # The second thread.

    def _ensure_standby(self) -> None:
        if self._standby is None:
            self._poke = os.pipe()
            self._standby = threading.Thread(target=self._watch, name="protomcp-reader", daemon=True)
            self._standby.start()

    def _watch(self) -> None:
        """Watches the running handler, and reads in the place of the main thread while it is stuck."""
        quiet, seen = 0, -1
        while not self._has_ended:
            self._bell.wait(STUCK / 2)
            self._bell.clear()
            if self._take_over():
                self._read_instead()
                quiet = 0
            elif self._since == 0.0 and self._runs == seen:
                quiet += 1
            else:
                quiet, seen = 0, self._runs
            if quiet > _QUIET:
                self._park()
                quiet = 0

    def _take_over(self) -> bool:
        """Becomes the reader if the running handler takes long or waits."""
        with self._switch:
            since = self._since
            if since == 0.0 or not self._is_reader:
                return False
            if since > 0.0 and time.monotonic() - since < STUCK:
                return False
            self._is_reader = False
            return True

    def _park(self) -> None:
        """Sleeps until a handler runs."""
        with self._switch:
            if self._since or self._has_ended:
                return
            self._is_parked = True
        self._bell.wait()
        with self._switch:
            self._is_parked = False

    def _read_instead(self) -> None:
        """Reads until the main thread takes the reading back, or the stream ends."""
        assert self._poke is not None
        self.on_idle()
        poller = select.poll()
        poller.register(self._stream, select.POLLIN)
        poller.register(self._poke[0], select.POLLIN)
        while True:
            with self._reading:
                if self._is_reader or self._has_ended:
                    break
                frame = self._frames.next()
                if frame is not None:
                    self._take(frame)
                    continue
            ready = dict(poller.poll())
            if self._poke[0] in ready:
                break
            with self._reading:
                if not self._is_reader and not self._has_ended:
                    self._read(MSG_DONTWAIT)
        self._swallow_poke()

    def _swallow_poke(self) -> None:
        """Each time that the main thread takes the reading back, there is one byte to read, now or soon."""
        assert self._poke is not None
        if not self._has_ended or self._is_reader:
            os.read(self._poke[0], 1)
