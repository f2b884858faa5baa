"""The main thread of files with async handlers: an event loop that owns the connection.

Async handlers run together as its tasks. Plain ones run between them, one at a time; while one is slow, the second
thread reads, as without a loop.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from typing import Any

from ._main_thread import PATIENCE, MainThread
from ._work import Work

_IS_EAGER = sys.version_info >= (3, 12)


class EventLoop(MainThread):
    """`around` is an async context manager that is entered before the first request, or None."""

    _loop: asyncio.AbstractEventLoop
    _closed: asyncio.Event
    _is_taking = False
    around: Any = None

    def run(self) -> None:
        try:
            asyncio.run(self._main())
        finally:
            self.close()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        if self.around is None:
            await self._serve()
        else:
            async with self.around:
                await self._serve()

    async def _serve(self) -> None:
        # Frames may have been read before the loop was there. No task runs while they are taken.
        self._loop.call_soon(self._take_frames)
        self._loop.add_reader(self._stream, self._readable)
        try:
            await self._closed.wait()
        finally:
            self._loop.remove_reader(self._stream)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=PATIENCE)
        # Afterwards things are closed that handlers in threads use.
        self._pool.end(PATIENCE)

    def start_async(self, work: Work) -> None:
        if self._may_run():
            self._start(work)
        else:
            self._soon(self._start, work)

    def adopt(self, work: Work, value: Any) -> None:
        """A task awaits what a plain handler has returned."""
        if threading.get_ident() == self._thread:
            asyncio._set_running_loop(self._loop)
            self._start(work, value)
        else:
            self._soon(self._start, work, value)

    def resume(self) -> None:
        if not self._is_reader:
            self._soon(self._drain_one)

    def end(self) -> None:
        super().end()
        self._soon(self._closed.set)

    def _soon(self, function: Any, *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            # The loop has been closed: nothing waits for it.
            return

    def _readable(self) -> None:
        # While the second thread reads, there is nothing to do here.
        if self._is_reader:
            self._read(socket.MSG_DONTWAIT)
            self._take_frames()

    def on_hold(self) -> None:
        if not self._is_taking:
            # Other tasks may answer in this round of the loop, too.
            if len(self._tasks) > 1:
                self._loop.call_soon(self.on_idle)
            else:
                self.on_idle()

    def _take_frames(self) -> None:
        self._is_taking = True
        try:
            while self._is_reader and (frame := self._frames.next()) is not None:
                self._take(frame)
        except BaseException:
            # The frames behind it do not wait for more bytes.
            self._loop.call_soon(self._take_frames)
            raise
        finally:
            self._is_taking = False
            self.on_idle()

    def _start(self, work: Work, value: Any = None) -> None:
        """Starts a task. The call can be cancelled from the first step on."""
        if _IS_EAGER:
            task = asyncio.Task(self._bound(work, value), loop=self._loop, eager_start=True)  # type: ignore[call-arg]
        else:
            task = self._loop.create_task(self._bound(work, value))
        if not task.done():
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _bound(self, work: Work, value: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        work.context._bind_cancel(lambda: self._soon(task.cancel))
        try:
            await work.run_async(value)
        finally:
            work.context._bind_cancel(None)

    def _run_one(self, work: Work) -> None:
        """A plain handler does not see this loop: `asyncio.run` does not begin where one runs."""
        asyncio._set_running_loop(None)
        try:
            super()._run_one(work)
        finally:
            asyncio._set_running_loop(self._loop)
            # `asyncio.run` leaves none behind, and the next handler may ask for it.
            asyncio.set_event_loop(self._loop)

    def _run(self, work: Work) -> None:
        self._run_one(work)
        if not self._is_reader:
            self.on_idle()
            self._loop.call_soon(self._drain_one)

    def _drain_one(self) -> None:
        """Runs one of the queued handlers; tasks run in between."""
        if self._backlog:
            self._run_one(self._backlog.popleft())
            self.on_idle()
            self._loop.call_soon(self._drain_one)
        elif self._take_back():
            # Bytes that the second thread has left in its buffer.
            self._take_frames()
        else:
            self._loop.call_soon(self._drain_one)
