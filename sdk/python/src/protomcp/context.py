"""The context of a request: progress, log, cancellation, questions, and who asks.

A handler gets it in a parameter whose annotation is ToolContext, or AsyncContext for `async def`.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import time

from ._json import parse
from ._typing import TYPE_CHECKING, overload
from ._wire import Envelope, ProgressNotification, RequestContext
from .errors import AskError, Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from ._link import Link
    from .log import ServerLogger
    from .questions import Answer, Question, Root

    T = TypeVar("T")

_lock = threading.Lock()

current: contextvars.ContextVar[BaseContext | None] = contextvars.ContextVar("protomcp_context", default=None)
"""The context of the request that this code works on."""


class Principal:
    """The authenticated user of a request."""

    __slots__ = ("client_id", "issuer", "scopes", "subject")

    def __init__(self, subject: str, client_id: str, issuer: str, scopes: list[str]) -> None:
        self.subject = subject
        self.client_id = client_id
        self.issuer = issuer
        self.scopes = scopes


class Caller:
    """The sender of a request, as far as the bridge tells.

    `session` is empty for clients without one. `principal` is None if the client is not authenticated. `capabilities`
    are the capabilities of MCP.
    """

    __slots__ = ("capabilities", "client_name", "client_version", "principal", "protocol_version", "session")

    def __init__(self, context: RequestContext | None) -> None:
        found = context or RequestContext()
        self.session = found.session
        self.protocol_version = found.protocol_version
        self.client_name = found.client_name
        self.client_version = found.client_version
        text = found.client_capabilities_json
        self.capabilities: dict[str, Any] = parse(text) if text else {}
        self.principal: Principal | None = None
        if (user := found.principal) is not None:
            self.principal = Principal(user.subject, user.client_id, user.issuer, list(user.scopes))

    @property
    def shows_apps(self) -> bool:
        """True if the client shows MCP Apps."""
        return "io.modelcontextprotocol/ui" in self.capabilities.get("extensions", {})


class BaseContext:
    """The common part of the contexts of plain and of async handlers."""

    _is_protomcp_context = True
    # Set for requests of a bridge; a context that a test makes has none of it.
    _link: Link | None = None
    _about: RequestContext | None = None
    _metadata_json = ""
    _arguments_match = False
    _arrived = 0.0
    _wait: Callable[[threading.Event, float | None], bool] | None = None
    _begin_task: Callable[[], bool] | None = None
    _on_progress: Callable[[float, float, str], None] | None = None
    _questions = 0
    # The factor of progress, which is whole numbers on the way. It stays, since progress has to grow.
    _scale = 1
    _has_odd_progress = False
    request_id = ""
    """The id of the request. It is unique in this process."""

    def __init__(self, progress_token: str, send_fn: Callable[[Envelope], None]) -> None:
        self._progress_token = progress_token
        self._send_fn = send_fn
        self._cancelled = False
        self._cancel_callback: Callable[[], None] | None = None

    def report_progress(self, progress: float, total: float = 0, message: str = "") -> None:
        """Tells the client how far the call is, if it has asked for that. `total` 0 means unknown.

        If one of both is a fraction, the client gets thousandths. Infinite numbers and NaN are not sent.
        """
        try:
            progress, total = _number(progress), _number(total or 0)
        except (TypeError, ValueError, OverflowError):
            if self._progress_token:
                raise
            return
        if progress - progress != 0 or total - total != 0:
            if not self._has_odd_progress:
                self._has_odd_progress = True
                text = f"protomcp: the progress {progress} of {total} is not sent: both are finite numbers"
                print(text, file=sys.stderr, flush=True)
            return
        if self._on_progress is not None:
            self._on_progress(progress, total, message)
        if self._progress_token and not self._cancelled:
            if progress % 1 != 0 or total % 1 != 0:
                self._scale = 1000
            done, whole = round(progress * self._scale), round(total * self._scale)
            self._send_fn(Envelope("progress", ProgressNotification(self._progress_token, done, whole, message)))

    def is_cancelled(self) -> bool:
        """True if the caller no longer wants the result."""
        return self._cancelled

    @property
    def wants_progress(self) -> bool:
        """True if the client has asked for progress."""
        return bool(self._progress_token)

    @property
    def log(self) -> ServerLogger:
        """Sends messages to the log of the client."""
        from .log import ServerLogger

        return ServerLogger(self._send_fn)

    @property
    def caller(self) -> Caller:
        """The sender of the request."""
        return Caller(self._about)

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of the request, without its progress token."""
        found = parse(self._metadata_json) if self._metadata_json else {}
        return found if isinstance(found, dict) else {}

    @property
    def time_left(self) -> float | None:
        """The seconds until the bridge gives up; None if it does not tell."""
        timeout = self._about.timeout_ms if self._about else self.meta.get("protomcp/timeoutMs", 0)
        return max(timeout / 1000 - (time.monotonic() - self._arrived), 0.0) if timeout else None

    def continue_as_task(self) -> bool:
        """Answers the call with a task, and goes on. False if the tool was not registered with `task_support`.

        Without it, a plain handler with `task_support` is a task from the start, and an async one if it neither
        answers nor asks immediately.
        """
        return self._begin_task is not None and self._begin_task()

    def page_completed(self, id: str) -> None:
        """Tells the client that the user has finished on the page of this visit."""
        from ._wire import ElicitationComplete

        if self._link is not None and "elicitation-complete" in self._link.features:
            self._send_fn(Envelope("elicitation_complete", ElicitationComplete(id)))

    def _set_cancelled(self) -> None:
        with _lock:
            if self._cancelled:
                return
            self._cancelled = True
            callback = self._cancel_callback
        if callback is not None:
            callback()

    def _bind_cancel(self, callback: Callable[[], None] | None) -> None:
        """Sets what a cancellation does; immediately, if it has come already."""
        with _lock:
            self._cancel_callback = callback
            is_cancelled = self._cancelled
        if is_cancelled and callback is not None:
            callback()

    def _envelopes(self, questions: tuple[Question, ...]) -> list[Envelope]:
        """The questions in envelopes; raises AskError if the bridge cannot pass them on."""
        link = self._link
        if link is None:
            raise AskError("there is no client to ask: the context does not belong to a request")
        envelopes = [each.envelope() for each in questions]
        self._questions += 1
        features = link.features
        for envelope in envelopes:
            if envelope.kind == "elicitation_request" and "elicitation" not in features:
                raise AskError("this bridge cannot ask the user")
            envelope.for_call = self.request_id
            if "question-key" not in features:
                envelope.question_key = ""
        if "question-group" in features and "for-call" in features:
            for envelope in envelopes[:-1]:
                envelope.more_questions = True
        return envelopes


class ToolContext(BaseContext):
    """The context of a plain handler: questions wait for their answers."""

    def check(self) -> None:
        """Ends the handler if the call was cancelled. Its `finally` blocks run."""
        if self._cancelled:
            raise Cancelled

    def sample(
        self,
        messages: list[dict[str, Any]],
        system_prompt: str = "",
        max_tokens: int = 1000,
        model_preferences: dict[str, Any] | None = None,
        timeout: float = 60.0,
    ) -> dict[str, Any]:
        """Asks the model of the client for a message.

        The answer has role, content, model and stop_reason; without an answer within `timeout` seconds, or if the
        client refuses, it has `error` only. `ask_all` with `Sample` raises instead, and waits without a limit.
        """
        from .questions import Sample

        question = Sample(
            messages, system_prompt=system_prompt, max_tokens=max_tokens, model_preferences=model_preferences
        )
        try:
            found: dict[str, Any] = self.ask_all(question, timeout=timeout)[0]
        except TimeoutError:
            return {"error": f"no answer to the sampling request within {timeout} s"}
        except AskError as error:
            return {"error": error.message}
        return found

    @overload
    def ask(self, message: str, form: type[T], *, key: str = "") -> Answer[T]: ...
    @overload
    def ask(self, message: str, form: dict[str, Any] | None = None, *, key: str = "") -> Answer[dict[str, Any]]: ...
    def ask(self, message: str, form: Any = None, *, key: str = "") -> Answer[Any]:
        """Asks the user of the client to fill in a form; raises AskError. See `Form`."""
        from .questions import Form

        found: Answer[Any] = self.ask_all(Form(message, form, key=key))[0]
        return found

    def ask_page(self, message: str, url: str, *, id: str = "", key: str = "") -> Answer[None]:
        """Asks the user of the client to visit a page; raises AskError. See `Page`."""
        from .questions import Page

        found: Answer[None] = self.ask_all(Page(message, url, id=id, key=key))[0]
        return found

    def roots(self, *, key: str = "") -> list[Root]:
        """The folders that the client works in; raises AskError."""
        from .questions import Roots

        found: list[Root] = self.ask_all(Roots(key))[0]
        return found

    def ask_all(self, *questions: Question, timeout: float | None = None) -> list[Any]:
        """Asks several questions together and returns the answers in their order; raises AskError, or TimeoutError.

        A call that is cancelled before the answers ends here, as in `check`.
        """
        if not questions:
            return []
        envelopes = self._envelopes(questions)
        link = self._link
        assert link is not None
        answers: list[Envelope | None] = [None] * len(envelopes)
        left, done = len(envelopes), threading.Event()

        def deliver_to(at: int) -> Callable[[Envelope | None], None]:
            def deliver(envelope: Envelope | None) -> None:
                nonlocal left
                answers[at] = envelope
                left -= 1
                if left == 0:
                    done.set()

            return deliver

        ids = link.ask(envelopes, [deliver_to(at) for at in range(len(envelopes))])
        before = self._cancel_callback
        self._bind_cancel(done.set)
        try:
            is_done = self._wait(done, timeout) if self._wait else done.wait(timeout)
        finally:
            self._bind_cancel(before)
        if left:
            for each in ids:
                link.forget(each)
            if is_done:
                raise Cancelled
            raise TimeoutError(f"no answer within {timeout} s")
        return [question.answer(answer) for question, answer in zip(questions, answers, strict=True)]


class AsyncContext(BaseContext):
    """The context of an async handler: questions are awaited. A cancelled handler gets asyncio.CancelledError."""

    async def sample(
        self,
        messages: str | list[dict[str, Any]],
        system_prompt: str = "",
        max_tokens: int = 1000,
        model_preferences: dict[str, Any] | None = None,
        *,
        key: str = "",
        **more: Any,
    ) -> dict[str, Any]:
        """Asks the model of the client for a message; raises AskError. See `Sample`."""
        from .questions import Sample

        question = Sample(
            messages,
            system_prompt=system_prompt,
            max_tokens=max_tokens,
            model_preferences=model_preferences,
            key=key,
            **more,
        )
        found: dict[str, Any] = (await self.ask_all(question))[0]
        return found

    @overload
    async def ask(self, message: str, form: type[T], *, key: str = "") -> Answer[T]: ...
    @overload
    async def ask(
        self, message: str, form: dict[str, Any] | None = None, *, key: str = ""
    ) -> Answer[dict[str, Any]]: ...
    async def ask(self, message: str, form: Any = None, *, key: str = "") -> Answer[Any]:
        """Asks the user of the client to fill in a form; raises AskError. See `Form`."""
        from .questions import Form

        found: Answer[Any] = (await self.ask_all(Form(message, form, key=key)))[0]
        return found

    async def ask_page(self, message: str, url: str, *, id: str = "", key: str = "") -> Answer[None]:
        """Asks the user of the client to visit a page; raises AskError. See `Page`."""
        from .questions import Page

        found: Answer[None] = (await self.ask_all(Page(message, url, id=id, key=key)))[0]
        return found

    async def roots(self, *, key: str = "") -> list[Root]:
        """The folders that the client works in; raises AskError."""
        from .questions import Roots

        found: list[Root] = (await self.ask_all(Roots(key)))[0]
        return found

    async def ask_all(self, *questions: Question) -> list[Any]:
        """Asks several questions together and returns the answers in their order; raises AskError."""
        if not questions:
            return []
        import asyncio

        envelopes = self._envelopes(questions)
        link = self._link
        assert link is not None
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Envelope | None]] = [loop.create_future() for _ in envelopes]

        def deliver_to(future: asyncio.Future[Envelope | None]) -> Callable[[Envelope | None], None]:
            def settle(envelope: Envelope | None) -> None:
                if not future.done():
                    future.set_result(envelope)

            return lambda envelope: _settle(loop, settle, envelope)

        ids = link.ask(envelopes, [deliver_to(future) for future in futures])
        try:
            answers = await asyncio.gather(*futures)
        finally:
            for each in ids:
                link.forget(each)
        return [question.answer(answer) for question, answer in zip(questions, answers, strict=True)]


def _number(value: Any) -> Any:
    """The number of anything that has one, such as a text of digits."""
    if isinstance(value, (int, float)):
        return value
    try:
        return float(value)
    except TypeError:
        return int(value)


def context_as(ctx: Any, cls: Any) -> Any:
    """The same context for code that wants the other class."""
    if cls is None or ctx is None or isinstance(ctx, cls):
        return ctx
    other = cls.__new__(cls)
    other.__dict__ = ctx.__dict__
    return other


def _settle(loop: Any, settle: Callable[[Envelope | None], None], envelope: Envelope | None) -> None:
    try:
        loop.call_soon_threadsafe(settle, envelope)
    except RuntimeError:
        # The loop has been closed: no task waits for the answer.
        return
