"""The tool process: answers the requests of the bridge (docs/envelope.md)."""

from __future__ import annotations

import os
import sys
import threading
import time

from . import _catalog, _registry
from ._catalog import Tools
from ._frames import Rejected
from ._link import Link
from ._output import failed, refused, report, text_of_error
from ._typing import TYPE_CHECKING
from ._version import __version__
from ._wire import (
    DisableToolsRequest,
    Envelope,
    HandOverResponse,
    MiddlewareInterceptResponse,
    Pong,
    ReadResourceResponse,
    RegisterMiddlewareRequest,
    ReloadResponse,
    SdkInfo,
    TakeOverResponse,
)
from ._wire import ToolError as WireError
from ._work import Answer, Refusal, ToolCall, Work
from .context import BaseContext, ToolContext
from .discovery import all_overlap
from .errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._tasks import Tasks

    Ways = tuple[Callable[[Any], Envelope], Callable[[BaseException], Envelope]]
    """The answers for a result and for an error."""

MAX_CALLS = 64
"""The calls that the bridge may send concurrently."""


_ANSWERS = ("active_tools", "elicitation_response", "sampling_response", "list_roots_response", "pong")


def _is_lent() -> bool:
    """True for the copy that `pmcp` keeps: next to its folder is the package that yields to others."""
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.exists(os.path.join(folder, "lent", "protomcp", "__init__.py"))


class Process:
    """Receives envelopes, and gives those that need a handler to `submit`."""

    def __init__(
        self, link: Link, submit: Callable[[Work], None], wait: Callable[[threading.Event, float | None], bool]
    ) -> None:
        self.tools = Tools()
        self.runs_in_turn = False
        """True if no two calls can overlap, for the introduction."""
        self._link = link
        self._submit = submit
        self._wait = wait
        self._tasks: Tasks | None = None
        self._running: dict[str, BaseContext] = {}
        self._middleware: dict[str, Callable[..., Any]] = {}
        self._unregistered: list[Any] = []
        self._reload_id = ""
        # The tools that were hidden in the last list.
        self._hidden: set[str] = set()
        self._awaits_skills = False
        self._handlers: dict[str, Callable[[Envelope], None]] = {
            "call_tool": self._call_tool,
            "cancel": self._cancel,
            "task_status": self._task_status,
            "task_result": self._task_result,
            "task_cancel": self._task_cancel,
            "list_tools": self._list_tools,
            "register_middleware_response": self._registered,
            "reload": self._reload,
            "bridge_info": self._bridge_info,
            "ping": lambda envelope: self._send("pong", Pong(), envelope),
            "list_resources_request": lambda envelope: self._list("resource_list_response", envelope),
            "list_resource_templates_request": lambda envelope: self._list("resource_template_list_response", envelope),
            "list_prompts_request": lambda envelope: self._list("prompt_list_response", envelope),
            "read_resource_request": self._read_resource,
            "get_prompt_request": self._get_prompt,
            "completion_request": self._complete,
            "middleware_intercept": self._intercept,
            "hand_over": self._hand_over,
            "take_over": self._take_over,
            **dict.fromkeys(_ANSWERS, link.deliver),
        }

    def introduce(self) -> None:
        """Sends `sdk_info`, the first frame."""
        features = ["elicitation", "arguments-match", "request-context", "ping"]
        if self.runs_in_turn:
            features.append("in-turn")
        if self.tools.check_by_schema():
            features.append("validated-arguments")
        if self.tools.keep_their_schemas():
            features.append("structured-content")
        if any(_registry.registered("handover", "functions")):
            features.append("hand-over")
        if _is_lent():
            features.append("lent")
        folders = _registry.registered("skills", "announce")
        self._awaits_skills = bool(folders)
        info = SdkInfo("protomcp", __version__, "python", MAX_CALLS, features, folders)
        self._link.send(Envelope("sdk_info", info))

    def receive(self, envelope: Envelope) -> None:
        """Handles one envelope. Unknown ones are ignored."""
        handler = self._handlers.get(envelope.kind)
        if handler is not None:
            handler(envelope)

    def reject(self, frame: Rejected) -> None:
        """Answers a request that could not be read."""
        reason = frame.reason.replace("_", " ")
        text = f"a message of the bridge is {reason}: {frame.kind or 'its kind is not known'}"
        print(f"protomcp: {text}", file=sys.stderr)
        if frame.kind == "call_tool" and frame.request_id:
            self._link.respond(frame.request_id, refused(text))

    def end(self) -> None:
        """The connection is closed: running handlers are cancelled, and so are those that wait for their turn."""
        for context in list(self._running.values()):
            context._set_cancelled()
        self._link.end()

    def send_tools(self) -> None:
        """Replaces the list of tools."""
        self._link.send(Envelope("tool_list", self.tools.list()))

    def _send(self, kind: str, message: Any, request: Envelope) -> None:
        self._link.send(Envelope(kind, message, request.request_id))

    def _bridge_info(self, envelope: Envelope) -> None:
        self._link.features = frozenset(envelope.message.features)
        self._note_skills()

    def _note_skills(self) -> None:
        """Says once that an older bridge does not read the folders of skills; the oldest ones announce no features."""
        if self._awaits_skills and "skill-folders" not in self._link.features:
            text = "this pmcp does not serve the skills of a tool file: use a newer one, or pmcp run --skills DIR"
            print(f"protomcp: {text}", file=sys.stderr)
        self._awaits_skills = False

    # The handshake.

    def _list_tools(self, envelope: Envelope) -> None:
        self._send("tool_list", self.tools.list(), envelope)
        self._hidden.clear()
        self._register("")

    def _register(self, reload_id: str) -> None:
        self._reload_id = reload_id
        self._unregistered = list(_registry.middleware())
        self._middleware = {each.name: each.handler for each in self._unregistered}
        self._register_next()

    def _registered(self, envelope: Envelope) -> None:
        if self._unregistered:
            name = self._unregistered.pop(0).name
            if not envelope.message.success:
                print(f"protomcp: the bridge has refused the middleware {name!r}", file=sys.stderr)
            self._register_next()

    def _register_next(self) -> None:
        if self._unregistered:
            first = self._unregistered[0]
            self._link.send(Envelope("register_middleware", RegisterMiddlewareRequest(first.name, first.priority)))
            return
        self._link.send(Envelope("reload_response", ReloadResponse(True), self._reload_id))
        # The lists of the bridge survive a reload, and a session may have shown a hidden tool.
        hidden = [each.name for each in self.tools.all() if each.hidden]
        if names := [each for each in hidden if each not in self._hidden]:
            self._link.send(Envelope("disable_tools", DisableToolsRequest(names)))
        self._hidden = set(hidden)

    def _reload(self, envelope: Envelope) -> None:
        """Lists the tools that are registered now. Only a new process reads the files again."""
        try:
            _catalog.check(self.tools)
            found = self.tools.list()
        except Exception as error:
            self._send("reload_response", ReloadResponse(False, text_of_error(error)), envelope)
            return
        self._link.send(Envelope("tool_list", found))
        self._register(envelope.request_id)

    def _list(self, kind: str, envelope: Envelope) -> None:
        # It is sent after the introduction of a bridge that has one.
        self._note_skills()
        lists: dict[str, Callable[[], Any]] = {
            "resource_list_response": _catalog.resources,
            "resource_template_list_response": _catalog.resource_templates,
            "prompt_list_response": _catalog.prompts,
        }
        self._send(kind, lists[kind](), envelope)

    # Requests with handlers.

    def _call_tool(self, envelope: Envelope) -> None:
        request = envelope.message
        try:
            plan = self.tools.plan(request.name)
        except Exception as error:
            # A tool that was registered after the start, with types that have no form in JSON.
            report(error, f"tool {request.name!r}")
            self._link.respond(envelope.request_id, failed(error))
            return
        if plan is None:
            self._refuse(envelope, f"Tool not found: {request.name}")
            return
        context = plan.context_class(request.progress_token, self._link.send)
        self._fill(context, envelope)
        context._arguments_match = request.arguments_match
        self._running[envelope.request_id] = context
        work = ToolCall(self._link, envelope, plan, context)
        work.ended = self._ended
        if plan.has_tasks:
            from ._tasks import Task

            task = Task(envelope.request_id, context)
            work.tasks = (self._all_tasks(), task)
            context._begin_task = work.tasks[0].offer(task)
        self._submit(work)

    def _refuse(self, envelope: Envelope, why: str) -> None:
        """Answers a call after its turn on the main thread, and while handlers of cancelled calls do not have all
        others: so the bridge learns that they do not keep further calls from running."""
        turns = [False, True] if self.tools.use_threads() else [False]
        context, left = ToolContext("", self._link.send), turns[1:]
        for is_concurrent in reversed(turns):
            work = Refusal(self._link, envelope.request_id, context, why, left)
            work.is_concurrent = is_concurrent
            self._submit(work)

    def _all_tasks(self) -> Tasks:
        from ._tasks import Tasks

        if self._tasks is None:
            self._tasks = Tasks(self._link.send)
        return self._tasks

    def _task_status(self, envelope: Envelope) -> None:
        self._send("task_status_response", self._all_tasks().status(envelope.message.task_id), envelope)

    def _task_cancel(self, envelope: Envelope) -> None:
        self._send("task_status_response", self._all_tasks().cancel(envelope.message.task_id), envelope)

    def _task_result(self, envelope: Envelope) -> None:
        response = self._all_tasks().take(envelope.message.task_id)
        self._link.respond(envelope.request_id, response or refused("the task has no result"))

    def _fill(self, context: BaseContext, envelope: Envelope) -> None:
        context.request_id = envelope.request_id
        context._link = self._link
        context._wait = self._wait
        context._about = envelope.context
        context._metadata_json = getattr(envelope.message, "metadata_json", "")
        context._arrived = time.monotonic()

    def _ended(self, request_id: str) -> None:
        self._running.pop(request_id, None)

    def _cancel(self, envelope: Envelope) -> None:
        context = self._running.get(envelope.message.request_id)
        if context is not None:
            context._set_cancelled()

    def _work(self, envelope: Envelope, about: str, handler: Any, ways: Ways) -> None:
        context = (handler.context_type or ToolContext)("", self._link.send)
        self._fill(context, envelope)
        work = Answer(self._link, about, envelope.request_id, context, lambda: handler.call(context), *ways)
        work.is_async = handler.is_async
        work.is_concurrent = all_overlap()
        self._submit(work)

    def _hand_over(self, envelope: Envelope) -> None:
        from . import handover

        self._transfer(
            envelope,
            "the function of hand_over",
            lambda: handover.state(lambda: bool(self._running)),
            (
                lambda state: Envelope("hand_over_response", HandOverResponse(state)),
                lambda error: Envelope("hand_over_response", HandOverResponse(error=text_of_error(error))),
            ),
        )

    def _take_over(self, envelope: Envelope) -> None:
        from . import handover

        self._transfer(
            envelope,
            "the function of take_over",
            lambda: handover.resume(envelope.message.state),
            (
                lambda _: Envelope("take_over_response", TakeOverResponse()),
                lambda error: Envelope("take_over_response", TakeOverResponse(text_of_error(error))),
            ),
        )

    def _transfer(self, envelope: Envelope, about: str, call: Callable[[], Any], ways: Ways) -> None:
        """Hands over or takes over in the thread of plain handlers, concurrently with async ones."""
        context = ToolContext("", self._link.send)
        self._fill(context, envelope)
        work = Answer(self._link, about, envelope.request_id, context, call, *ways)
        work.is_async = True
        self._submit(work)

    def _read_resource(self, envelope: Envelope) -> None:
        from . import _requests

        uri = envelope.message.uri
        about = f"resource {uri!r}"
        try:
            found = _requests.reader_of(uri)
        except Exception as error:
            report(error, about)
            self._send("read_resource_response", _requests.unread(error).message, envelope)
            return
        if found is None:
            error_ = WireError("NOT_FOUND", f"Resource not found: {uri}")
            self._send("read_resource_response", ReadResourceResponse(error=error_), envelope)
            return
        handler, mime_type = found
        ways = (lambda value: _requests.contents(value, uri, mime_type), _requests.unread)
        self._work(envelope, about, handler, ways)

    def _get_prompt(self, envelope: Envelope) -> None:
        from . import _requests
        from .prompt import get_registered_prompts

        request = envelope.message
        about = f"prompt {request.name!r}"
        try:
            found = next((each for each in get_registered_prompts() if each.name == request.name), None)
            if found is None:
                raise ToolError(f"Prompt not found: {request.name}", code="NOT_FOUND")
            handler = _requests.prompt_handler(found, request)
        except Exception as error:
            report(error, about)
            self._send("get_prompt_response", _requests.unprompted(error).message, envelope)
            return
        self._work(envelope, about, handler, (_requests.messages, _requests.unprompted))

    def _complete(self, envelope: Envelope) -> None:
        from . import _requests

        request = envelope.message
        about = f"completion of {request.argument_name!r} of {request.ref_name!r}"
        try:
            handler = _requests.completer_of(request)
        except Exception as error:
            report(error, about)
            self._send("completion_response", _requests.uncompleted(error).message, envelope)
            return
        if handler is None:
            self._send("completion_response", _requests.suggestions(None).message, envelope)
            return
        self._work(envelope, about, handler, (_requests.suggestions, _requests.uncompleted))

    def _intercept(self, envelope: Envelope) -> None:
        from . import _requests

        request = envelope.message
        function = self._middleware.get(request.middleware_name)
        if function is None:
            self._send("middleware_intercept_response", MiddlewareInterceptResponse(), envelope)
            return
        handler = _requests.interceptor(function, request)
        ways = (lambda value: _requests.decision(value, request), _requests.rejection)
        self._work(envelope, f"middleware {request.middleware_name!r} of tool {request.tool_name!r}", handler, ways)
