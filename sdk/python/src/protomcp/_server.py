"""Puts the parts of a tool process together."""

from __future__ import annotations

import sys
import threading

from . import _catalog, _registry, discovery
from ._link import Link
from ._logging import forward_logging
from ._main_thread import MainThread
from ._process import Process
from ._typing import TYPE_CHECKING
from ._work import Work

if TYPE_CHECKING:
    import _socket
    from typing import Any

_MANY = 8
"""Calls behind a plain handler of which its author is told."""
_QUEUE = (
    "protomcp: {waiting} calls wait for {running}, a plain handler. Handlers with `async def` overlap; "
    "plain ones do with @tool(concurrent=True) or configure(concurrency=N), in threads"
)


class Server:
    """One connection with its link, its process, and the thread that runs the handlers."""

    def __init__(self, stream: _socket.socket) -> None:
        _start_sidecars()
        count = len(_registry.sidecars)
        discovery.discover_handlers()
        if len(_registry.sidecars) > count:
            _start_sidecars()
        self.link = Link(stream)
        self.process = Process(self.link, self._submit, self._wait)
        _catalog.check(self.process.tools)
        main = _loop_class() if _needs_loop(self.process) else MainThread
        self.process.runs_in_turn = main is MainThread and self.process.tools.run_in_turn()
        self.main: MainThread = main(stream, self.process.receive, discovery.concurrency())
        if not self.process.runs_in_turn:
            # Otherwise calls wait in the bridge, which says so.
            self.main.on_queue = self._queued
        self.main.on_reject = self.process.reject
        self.main.on_idle = self.link.flush
        self.main.on_end = self.process.end
        self._has_told = False

    def run(self) -> None:
        undo = forward_logging(self.link)
        try:
            self._run()
            if self.main.is_lost:
                raise ConnectionError("the bytes from the bridge cannot be read")
        finally:
            self.process.end()
            undo()

    def _run(self) -> None:
        self.process.introduce()
        self.link.hold(self.main.on_hold)
        if around := _registry.registered("_lifespan", "registered"):
            from . import _lifespan

            if hasattr(self.main, "around"):
                self.main.around = _lifespan.entered_async(around)
                self.main.run()
            else:
                with _lifespan.entered(around):
                    self.main.run()
        else:
            self.main.run()

    def _submit(self, work: Work) -> None:
        self.main.submit(work)

    def _wait(self, done: threading.Event, timeout: float | None) -> bool:
        return self.main.wait(done, timeout)

    def _queued(self, running: Work, waiting: int) -> None:
        """Says once how calls can overlap, when many wait for one handler."""
        if waiting >= _MANY and not self._has_told:
            self._has_told = True
            print(_QUEUE.format(waiting=waiting, running=running.about()), file=sys.stderr, flush=True)


def _start_sidecars() -> None:
    """Starts those that start with the server."""
    if _registry.sidecars:
        from .sidecar import start_sidecars

        start_sidecars("server_start")


def _loop_class() -> Any:
    from ._event_loop import EventLoop

    return EventLoop


def _needs_loop(process: Process) -> bool:
    """True if any handler is async. Without one, asyncio is not even imported."""
    from ._signature import is_async

    others: list[Any] = [
        *(each.handler for each in _registry.resources()),
        *(each.handler for each in _registry.templates()),
        *(each.handler for each in _registry.prompts()),
        *(each.handler for each in _registry.middleware()),
        *(handler for _, handler in _registry.completions()),
    ]
    lifespan = sys.modules.get(f"{__package__}._lifespan")
    has_async_lifespan = lifespan is not None and lifespan.is_async()
    return process.tools.have_async() or has_async_lifespan or any(map(is_async, others))
