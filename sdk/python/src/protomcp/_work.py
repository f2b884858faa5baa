"""Requests of the bridge on which handlers work, from their envelope to their answer."""

from __future__ import annotations

import sys
import threading
import time

from . import _forks, _registry
from ._input import arguments_of
from ._output import failed, refused, report, without_text
from ._plan import Plan
from ._typing import TYPE_CHECKING
from ._wire import CallToolRequest, CallToolResponse, Envelope
from .context import BaseContext, current
from .errors import Cancelled, TaskError, leaf_of
from .result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._link import Link
    from ._tasks import Task, Tasks

    Adopt = Callable[["Work", Any], None]
    """Takes over a request whose handler has returned an awaitable."""


class Work:
    """One request and its handler. Exactly one of `run` and `run_async` is called, once."""

    __slots__ = ("context", "ended", "is_async", "is_concurrent", "request_id")

    waits_for_sidecars = False
    is_refusal = False

    def __init__(self, request_id: str, context: BaseContext) -> None:
        self.request_id = request_id
        self.context = context
        self.is_async = False
        self.is_concurrent = False
        self.ended: Callable[[str], None] | None = None

    def start(self) -> Any:
        """Calls the handler; returns its result, or an awaitable."""
        raise NotImplementedError

    def succeed(self, value: Any) -> None:
        """Answers with the result of the handler."""
        raise NotImplementedError

    def fail(self, error: BaseException) -> None:
        """Answers with an exception."""
        raise NotImplementedError

    def cost(self) -> float | None:
        """The recent time of this handler; None if it is not known."""
        return None

    def run(self, adopt: Adopt | None = None) -> None:
        """Works on the request in this thread. `adopt` takes over when the handler returns an awaitable."""
        token, forks = current.set(self.context), _forks.count
        try:
            if self.context._cancelled:
                # Its caller has given up while it waited for its turn.
                raise Cancelled
            if self.waits_for_sidecars and _registry.sidecars:
                _start_sidecars()
            value = self.start()
            if forks != _forks.count:
                _forks.leave(None, self.about())
            if hasattr(value, "__await__"):
                if adopt is not None:
                    adopt(self, value)
                    return
                import asyncio

                value = asyncio.run(_await(value, self.context))
                if forks != _forks.count:
                    _forks.leave(None, self.about())
            self.succeed(value)
        except BaseException as error:
            if forks != _forks.count:
                _forks.leave(error, self.about())
            self._failed(error)
        finally:
            current.reset(token)
        if self.ended is not None:
            self.ended(self.request_id)

    async def run_async(self, value: Any = None) -> None:
        """Works on the request in its own task. `value` is the awaitable of a handler that has begun."""
        current.set(self.context)
        forks = _forks.count
        try:
            if value is None:
                if self.context._cancelled:
                    raise Cancelled
                if self.waits_for_sidecars and _registry.sidecars:
                    import asyncio

                    await asyncio.to_thread(_start_sidecars)
                value = self.start()
            if hasattr(value, "__await__"):
                if self.context._begin_task is not None:
                    import asyncio

                    from ._tasks import GRACE

                    asyncio.get_running_loop().call_later(GRACE, _begin_task, self.context)
                value = await value
            if forks != _forks.count:
                _forks.leave(None, self.about())
            self.succeed(value)
        except BaseException as error:
            if forks != _forks.count:
                _forks.leave(error, self.about())
            self._failed(error)
        if self.ended is not None:
            self.ended(self.request_id)

    def _failed(self, error: BaseException) -> None:
        """Answers with an exception of any kind. An interrupt of the process goes on."""
        try:
            error = leaf_of(error)
            if not self.context._cancelled:
                report(error, self.about())
        except Exception:
            # The handler has closed the log, or the error cannot be written to it: the answer is sent without.
            pass
        try:
            self.fail(error)
        except BaseException:
            self.fail(without_text(error))
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise error

    def about(self) -> str:
        """The request in a message to the author."""
        return "a request"


def _start_sidecars() -> None:
    """Starts those that wait for the first call."""
    from .sidecar import is_waiting, start_sidecars

    if is_waiting():
        start_sidecars("first_tool_call")


async def _await(value: Any, context: BaseContext) -> Any:
    """Awaits a value in its own loop, and cancels it with the call."""
    import asyncio

    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        try:
            loop.call_soon_threadsafe(task.cancel)
        except RuntimeError:
            # The loop has been closed: the value is there.
            return

    context._bind_cancel(cancel)
    try:
        return await value
    finally:
        context._bind_cancel(None)


def _begin_task(context: BaseContext) -> None:
    """Makes a call a task that has neither answered nor asked; one that has asked decides for itself."""
    if context._questions == 0:
        context.continue_as_task()


class ToolCall(Work):
    """A call of a tool."""

    __slots__ = ("_action", "_link", "_plan", "_request", "_started", "tasks")

    waits_for_sidecars = True

    def __init__(self, link: Link, envelope: Envelope, plan: Plan, context: BaseContext) -> None:
        self.request_id = envelope.request_id
        self.context = context
        self.is_async = plan.is_async
        self.is_concurrent = plan.concurrent
        self.ended = None
        self._link = link
        self._plan = plan
        self._request: CallToolRequest = envelope.message
        self._started = 0.0
        self._action = ""
        # Set if the call may become a task.
        self.tasks: tuple[Tasks, Task] | None = None

    def start(self) -> Any:
        plan, request = self._plan, self._request
        arguments = arguments_of(request.arguments_json, plan.name)
        if self.tasks is not None and not self.is_async:
            self.context.continue_as_task()
        if plan.resolves:
            arguments = plan.prepare(arguments)
        if _registry.sinks:
            self._started = time.monotonic()
            self._action = str(arguments.get("action", ""))
            self._emit("start", dict(arguments))
            self.context._on_progress = self._report_progress
        if not self.is_concurrent:
            return plan.chain(self.context, arguments)
        # The time of the handler alone: sending waits for other threads.
        start = time.monotonic()
        value = plan.chain(self.context, arguments)
        self._note(time.monotonic() - start)
        return value

    def succeed(self, value: Any) -> None:
        output = self._plan.output
        if self.tasks is None and not _registry.sinks and (texts := output.texts(value)) is not None:
            # A result of the usual form.
            self._link.respond_text(self.request_id, *texts)
            return
        response = output.respond(value)
        if response.enable_tools or response.disable_tools:
            self._note_list(response)
        if _registry.sinks:
            shown = value.result if isinstance(value, ToolResult) else value
            self._report("success", result=str(shown)[:20000])
        self._respond(response)

    def _note_list(self, response: CallToolResponse) -> None:
        """Tells the workflows, whose end shows the other tools from before."""
        if (workflow := sys.modules.get(f"{__package__}.workflow")) and self.context._about is not None:
            workflow.note_result(self._plan.name, self.context._about.session, response)

    def fail(self, error: BaseException) -> None:
        if _registry.sinks and isinstance(error, Exception):
            self._report("error", error=error)
        failure = error.message if isinstance(error, TaskError) else ""
        self._respond(_failure(error, self.context), failure)

    def _respond(self, response: CallToolResponse, failure: str = "") -> None:
        if self.tasks is None or not self.tasks[0].end(self.tasks[1], response, failure):
            self._link.respond(self.request_id, response)

    def cost(self) -> float | None:
        return self._plan.cost

    def about(self) -> str:
        return f"tool {self._plan.name!r}"

    def _note(self, seconds: float) -> None:
        # A slow call counts immediately, fast ones bring the cost down again by and by.
        before = self._plan.cost
        self._plan.cost = seconds if before is None or seconds > before else 0.8 * before + 0.2 * seconds

    def _report(self, phase: str, result: str = "", error: Exception | None = None) -> None:
        elapsed = int((time.monotonic() - self._started) * 1000)
        self._emit(phase, {}, result, error, elapsed)

    def _report_progress(self, *progress: Any) -> None:
        self._emit("progress", {}, "", None, int((time.monotonic() - self._started) * 1000), *progress)

    def _emit(self, phase: str, arguments: dict[str, Any], *outcome: Any) -> None:
        from .telemetry import ToolCallEvent, emit_telemetry

        emit_telemetry(ToolCallEvent(self._plan.name, phase, arguments, self._action, *outcome))


def _failure(error: BaseException, context: BaseContext) -> CallToolResponse:
    """The answer to a call that was cancelled is ignored; it shows that the handler has ended."""
    return refused("the call was cancelled") if context.is_cancelled() else failed(error)


class Answer(Work):
    """Another request: a resource, a prompt, a completion, a middleware."""

    __slots__ = ("_about", "_call", "_fail", "_link", "_succeed")

    def __init__(
        self,
        link: Link,
        about: str,
        request_id: str,
        context: BaseContext,
        call: Callable[[], Any],
        succeed: Callable[[Any], Envelope],
        fail: Callable[[BaseException], Envelope],
    ) -> None:
        super().__init__(request_id, context)
        self._link = link
        self._about = about
        self._call = call
        self._succeed = succeed
        self._fail = fail

    def about(self) -> str:
        return self._about

    def start(self) -> Any:
        return self._call()

    def succeed(self, value: Any) -> None:
        self._send(self._succeed(value))

    def fail(self, error: BaseException) -> None:
        self._send(self._fail(error))

    def _send(self, envelope: Envelope) -> None:
        envelope.request_id = self.request_id
        if "reply-metadata" not in self._link.features and hasattr(envelope.message, "metadata_json"):
            envelope.message.metadata_json = ""
        self._link.send(envelope)


class Refusal(Work):
    """One turn of the call of an unknown tool. The last of them answers: `left` has an element for each other one."""

    __slots__ = ("_left", "_link", "_why")

    is_refusal = True

    def __init__(self, link: Link, request_id: str, context: BaseContext, why: str, left: list[bool]) -> None:
        super().__init__(request_id, context)
        self._link = link
        self._why = why
        self._left = left

    def about(self) -> str:
        return "the call of an unknown tool"

    def start(self) -> Any:
        return None

    def succeed(self, value: Any) -> None:
        try:
            # Two threads may be here: exactly one finds none left.
            self._left.pop()
        except IndexError:
            self._link.respond(self.request_id, refused(self._why))

    def fail(self, error: BaseException) -> None:
        self.succeed(None)
