"""Calls the registered tools without a bridge, for tests.

    from protomcp.testing import Harness

    def test_add():
        with Harness() as tools:
            assert tools.call("add", a=1, b=2).text == "3"

The harness takes the place of `pmcp`: what a tool gets and sends has passed through the same envelopes.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from . import runner
from ._frames import FrameReader, Payload
from ._wire import (
    BridgeInfo,
    CallToolRequest,
    CallToolResponse,
    CancelRequest,
    CompletionRequest,
    ElicitationResponse,
    Envelope,
    GetPromptRequest,
    HandOverRequest,
    ListPromptsRequest,
    ListResourcesRequest,
    ListRootsResponse,
    ListToolsRequest,
    Ping,
    Principal,
    ReadResourceRequest,
    RegisterMiddlewareResponse,
    RequestContext,
    RootDef,
    SamplingResponse,
    TakeOverRequest,
    ToolDefinition,
    write_envelope,
)

FEATURES = (
    "elicitation",
    "elicitation-complete",
    "for-call",
    "for-request",
    "hand-over",
    "list-changed",
    "metadata",
    "ping",
    "question-group",
    "question-key",
    "raw-with-result",
    "reply-errors",
    "reply-metadata",
    "request-context",
    "sampling-params",
    "skill-folders",
)
"""The features of the bridge whose place the harness takes."""


class Result:
    """The result of a call. `error` is the object with error_code, message, suggestion and retryable, or None."""

    def __init__(self, response: CallToolResponse) -> None:
        self.is_error = response.is_error
        self.content: list[dict[str, Any]] = json.loads(response.result_json or "[]")
        text = response.structured_content_json
        self.structured: dict[str, Any] | None = json.loads(text) if text else None
        self.meta: dict[str, Any] = json.loads(response.metadata_json) if response.metadata_json else {}
        self.enable_tools = list(response.enable_tools)
        self.disable_tools = list(response.disable_tools)
        found = response.error
        self.error = {name: getattr(found, name) for name in found.__slots__} if found is not None else None

    @property
    def text(self) -> str:
        """All texts of the content, line by line."""
        return "\n".join(each["text"] for each in self.content if each.get("type") == "text")

    def __repr__(self) -> str:
        return f"Result(is_error={self.is_error}, content={self.content}, structured={self.structured})"


class Call:
    """A call that runs. `progress` has pairs of a number and a message."""

    def __init__(self, harness: Harness, id: str) -> None:
        self._harness = harness
        self.id = id
        self.progress: list[tuple[int, str]] = []

    def result(self, timeout: float = 30.0) -> Result:
        """Waits for the result; raises TimeoutError."""
        return Result(self._harness._answer(self.id, timeout))

    def cancel(self) -> None:
        """Cancels the call; its handler then fails with a result that a client would not see."""
        self._harness._send(Envelope("cancel", CancelRequest(self.id)))


class Harness:
    """Serves what is registered, in its own thread. Use it as a context manager: its end raises what has ended the
    process.

    `ask` answers forms and pages: a function of the message and the schema (or the URL) that returns the values, None
    to decline. `sample` answers questions to the model: a function of the messages that returns a text. `roots` are the
    URIs of the client's folders. Without them the client cannot answer. `features` are the bridge's.
    """

    def __init__(
        self,
        *,
        ask: Callable[[str, Any], dict[str, Any] | None] | None = None,
        sample: Callable[[list[dict[str, Any]]], str] | None = None,
        roots: list[str] | None = None,
        session: str = "test",
        user: str = "",
        timeout: float = 30.0,
        features: Iterable[str] = FEATURES,
    ) -> None:
        self._features = list(features)
        self._ask = ask
        self._sample = sample
        self._roots = roots
        self._context = RequestContext(
            int(timeout * 1000), session, "2025-11-25", "protomcp-testing", principal=Principal(user) if user else None
        )
        self.logs: list[tuple[str, Any]] = []
        """The log messages: pairs of a level and the data."""
        self.questions: list[Envelope] = []
        """The questions that were asked."""
        self.sent: list[Envelope] = []
        """All other envelopes that answer nothing."""
        self._ids = itertools.count(1)
        self._answers: dict[str, Any] = {}
        self._calls: dict[str, Call] = {}
        self._changed = threading.Condition()
        self._is_ready = False
        self._is_closed = False
        self._failure: BaseException | None = None
        self._reply_meta: dict[str, Any] = {}

    def __enter__(self) -> Harness:
        self._stream, theirs = socket.socketpair()
        self._write = threading.Lock()
        self._threads = [
            threading.Thread(target=self._serve, args=(theirs,), name="protomcp-harness", daemon=True),
            threading.Thread(target=self._read, name="protomcp-harness-reader", daemon=True),
        ]
        for each in self._threads:
            each.start()
        self._send(Envelope("bridge_info", BridgeInfo("protomcp-testing", "", self._features)))
        self._tools = self._request("list_tools", ListToolsRequest()).tools
        self._wait(lambda: self._is_ready, 30.0, "the handshake")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_WR)
        for each in self._threads:
            each.join(30.0)
        self._stream.close()
        if kind is None and self._failure is not None:
            raise self._failure
        if kind is None and self._threads[0].is_alive():
            raise TimeoutError("a handler has not ended 30 s after the end of the connection")

    @property
    def tools(self) -> dict[str, ToolDefinition]:
        """The tools by name, as a bridge gets them."""
        return {each.name: each for each in self._tools}

    def call(self, tool: str | Callable[..., Any], /, **arguments: Any) -> Result:
        """Calls a tool, by its name or its function, and waits for the result."""
        return self.start(tool, **arguments).result()

    def start(self, tool: str | Callable[..., Any], /, **arguments: Any) -> Call:
        """Calls a tool and does not wait."""
        name = tool if isinstance(tool, str) else tool.__name__
        id = f"req-{next(self._ids)}"
        call = self._calls[id] = Call(self, id)
        self._send(Envelope("call_tool", CallToolRequest(name, json.dumps(arguments), id), id, context=self._context))
        return call

    def read(self, uri: str) -> list[str | bytes]:
        """The parts of a resource; raises LookupError with the reason."""
        found = self._request("read_resource_request", ReadResourceRequest(uri))
        if found.error is not None:
            raise LookupError(found.error.message)
        return [each.blob or each.text for each in found.contents]

    def get(self, prompt: str, /, **arguments: str) -> list[tuple[str, dict[str, Any]]]:
        """The messages of a prompt, as pairs of a role and a content block; raises LookupError."""
        found = self._request("get_prompt_request", GetPromptRequest(prompt, json.dumps(arguments)))
        if found.error is not None:
            raise LookupError(found.error.message)
        return [(each.role, json.loads(each.content_json)) for each in found.messages]

    def complete(self, ref_type: str, ref_name: str, argument: str, value: str) -> list[str]:
        """The suggestions for an argument; raises LookupError with the reason."""
        found = self._request("completion_request", CompletionRequest(ref_type, ref_name, argument, value))
        if found.error is not None:
            raise LookupError(found.error.message)
        return list(found.values)

    @property
    def reply_meta(self) -> dict[str, Any]:
        """The `_meta` of the last answer to `read`, `get` or `complete`."""
        return self._reply_meta

    def hand_over(self) -> Any:
        """The state that a reload would hand over; None if there is none. Raises RuntimeError with the reason."""
        found = self._request("hand_over", HandOverRequest())
        if found.error:
            raise RuntimeError(found.error)
        return json.loads(found.state) if found.state else None

    def take_over(self, state: Any) -> None:
        """Gives the process the state of one before; raises RuntimeError with the reason."""
        found = self._request("take_over", TakeOverRequest(json.dumps(state).encode()))
        if found.error:
            raise RuntimeError(found.error)

    def ping(self) -> None:
        """Waits for a sign of life, which a process gives also while handlers run."""
        self._request("ping", Ping())

    def resources(self) -> list[str]:
        """The URIs of the resources."""
        return [each.uri for each in self._request("list_resources_request", ListResourcesRequest()).resources]

    def prompts(self) -> list[str]:
        """The names of the prompts."""
        return [each.name for each in self._request("list_prompts_request", ListPromptsRequest()).prompts]

    def _serve(self, stream: socket.socket) -> None:
        try:
            runner.serve(stream)
        except BaseException as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _send(self, envelope: Envelope) -> None:
        try:
            with self._write:
                self._stream.sendall(write_envelope(envelope))
        except OSError:
            if self._is_closed:
                return
            # The process has ended; the reason is more use.
            self._wait(lambda: self._failure is not None, 5.0, "the end of the process")
            raise self._failure or ConnectionError("the process has ended") from None

    def _request(self, kind: str, message: Any) -> Any:
        id = f"req-{next(self._ids)}"
        self._send(Envelope(kind, message, id, context=self._context))
        answer = self._answer(id, 30.0)
        text = getattr(answer, "metadata_json", "")
        self._reply_meta = json.loads(text) if text else {}
        return answer

    def _answer(self, id: str, timeout: float) -> Any:
        self._wait(lambda: id in self._answers, timeout, f"the answer to {id}")
        return self._answers.pop(id)

    def _wait(self, is_there: Callable[[], bool], timeout: float, what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: is_there() or self._failure is not None, timeout):
                raise TimeoutError(f"{what} did not come within {timeout} s")
            if not is_there() and self._failure is not None:
                raise self._failure

    def _read(self) -> None:
        frames, payloads = FrameReader(), dict[str, bytes]()
        while data := self._receive_some():
            frames.feed(data)
            while (frame := frames.next()) is not None:
                if isinstance(frame, Payload):
                    payloads[frame.header.request_id] = frame.data
                    if not frame.header.followed_by_result:
                        self._receive(Envelope("call_result", CallToolResponse(), frame.header.request_id), payloads)
                elif isinstance(frame, Envelope):
                    self._receive(frame, payloads)

    def _receive_some(self) -> bytes:
        try:
            return self._stream.recv(1 << 16)
        except OSError:
            # The process has ended without reading everything.
            return b""

    def _receive(self, envelope: Envelope, payloads: dict[str, bytes]) -> None:
        kind, message = envelope.kind, envelope.message
        if kind == "call_result" and (data := payloads.pop(envelope.request_id, None)) is not None:
            message.result_json = data.decode()
        if kind == "register_middleware":
            self._send(Envelope("register_middleware_response", RegisterMiddlewareResponse(True)))
        elif kind in ("elicitation_request", "sampling_request", "list_roots_request"):
            self.questions.append(envelope)
            threading.Thread(target=self._reply, args=(envelope,), daemon=True).start()
        with self._changed:
            if kind == "progress" and message.progress_token in self._calls:
                self._calls[message.progress_token].progress.append((message.progress, message.message))
            elif kind == "log":
                self.logs.append((message.level, json.loads(message.data_json)))
            elif kind == "reload_response":
                self._is_ready = True
            elif envelope.request_id and not kind.endswith("_request"):
                self._answers[envelope.request_id] = message
            else:
                self.sent.append(envelope)
            self._changed.notify_all()

    def _reply(self, question: Envelope) -> None:
        """Answers a question as the client of the test does."""
        message = question.message
        if question.kind == "sampling_request":
            if self._sample is None:
                reply: Any = SamplingResponse(error="the client has no model")
            else:
                text = self._sample(json.loads(message.messages_json))
                block = json.dumps({"type": "text", "text": text})
                reply = SamplingResponse("assistant", block, "test", "endTurn")
            kind = "sampling_response"
        elif question.kind == "list_roots_request":
            kind, reply = "list_roots_response", ListRootsResponse([RootDef(uri) for uri in self._roots or ()])
        elif self._ask is None:
            kind, reply = "elicitation_response", ElicitationResponse(error="the client cannot ask its user")
        else:
            about = json.loads(message.requested_schema_json) if message.mode == "form" else message.url
            values = self._ask(message.message, about)
            kind = "elicitation_response"
            reply = ElicitationResponse("decline" if values is None else "accept", json.dumps(values or {}))
        self._send(Envelope(kind, reply, question.request_id))
