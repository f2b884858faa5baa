"""The conversations of conformance/vectors, with the tools of their process declared with this SDK.

The bridge of a vector says what it says there. What this process says has the kinds, the ids and the meaning of the
vector: texts, values, codes and lists, but not the way in which a result is cut or packed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from protomcp import (
    App,
    AsyncContext,
    PromptArg,
    ResourceContent,
    ToolContext,
    ToolError,
    ToolResult,
    completion,
    hand_over,
    middleware,
    prompt,
    resource,
    resource_template,
    runner,
    take_over,
    tool,
    tool_manager,
)
from protomcp._frames import FrameReader, Payload
from protomcp._wire import Envelope, write_envelope
from test_vectors import envelope_from_json, envelope_to_json, vectors

PATIENCE = 120.0
REST = {"request_id", "for_call", "context", "question_key", "more_questions"}
PIECES = {"stream_header", "stream_chunk"}


def declare_tools(release: threading.Event) -> None:
    """The tools of the process of the vectors. Jobs end with `release`."""
    app = App("app", html="<p>adds</p>", uri="ui://second/add")
    number = {"type": "number"}
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    pair = {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]}
    total = {"type": "object", "properties": {"sum": number}, "required": ["sum"]}
    jobs = 0

    @tool("Adds two numbers", total, input_schema=pair, app=app)
    def add(a: float, b: float) -> ToolResult:
        return ToolResult(f"{a + b:g}", structured_content={"sum": a + b})

    tool("Returns a text", title="Echo", read_only=True, name="echo", input_schema=text)(lambda text: text)

    @tool("Counts, with progress", annotations={"destructiveHint": False})
    def count(to: int, ctx: ToolContext) -> str:
        for done in range(1, to + 1):
            ctx.report_progress(done, to, f"step {done}")
        return "counted"

    @tool("Waits until it is cancelled")
    async def wait(ctx: AsyncContext) -> None:
        ctx.log.info("", data="waiting")
        try:
            await asyncio.Event().wait()
        finally:
            ctx.log.warning("", data="cancelled")

    @tool("Returns a large text")
    def large(size: int, error: bool = False, chunk: int = 0) -> ToolResult:
        return ToolResult("x" * size, is_error=error)

    tool("Is hidden at the start", hidden=True, name="secret")(lambda: "42")

    @tool("Fails")
    def fail() -> None:
        raise ToolError("there is no paper left", code="OUT_OF_PAPER", suggestion="put some in")

    @tool("Runs as a task", task_support=True)
    async def job(ctx: AsyncContext) -> str:
        nonlocal jobs
        jobs += 1
        ctx.continue_as_task()
        await asyncio.to_thread(release.wait)
        return f"job-{jobs} is done"

    hand_over(lambda: {"jobs": jobs})

    @take_over
    def take(state: dict[str, int]) -> None:
        nonlocal jobs
        jobs = state["jobs"]


def declare_questions() -> None:
    """The tools that ask the client or the bridge."""

    @tool("Asks the model")
    async def sample(text: str, ctx: AsyncContext) -> str:
        return str((await ctx.sample(text, max_tokens=100))["content"])

    @tool("Asks for the roots")
    async def roots(ctx: AsyncContext) -> str:
        return ", ".join(each.uri for each in await ctx.roots())

    @tool("Asks the user")
    async def confirm(text: str, ctx: AsyncContext) -> str:
        form = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
        answer = await ctx.ask(text, form)
        return f"{answer.action} {json.dumps(answer.content, separators=(',', ':'))}"

    tool("Shows the secret tool", name="reveal")(lambda: " ".join(tool_manager.enable(["secret"])))
    hidden = ToolResult("hidden", disable_tools=["secret"], meta={"example.org/hidden": 1})
    tool("Hides the secret tool", name="hide")(lambda: hidden)

    @tool("Returns the metadata of its call")
    def meta(ctx: ToolContext) -> str:
        caller = ctx.caller
        found = {"client_name": caller.client_name, "protocol_version": caller.protocol_version}
        context = found | {"session": caller.session, "timeout_ms": 300_000 if ctx.time_left else 0}
        return json.dumps({"context": context, "metadata": ctx.meta}, sort_keys=True)


def declare_others() -> None:
    """Middleware, resources, a prompt and its completion."""

    @middleware("polite", 10)
    def polite(phase: str, tool_name: str, args_json: str, result_json: str, is_error: bool) -> dict[str, Any]:
        is_rude = phase == "before" and json.loads(args_json)["text"] == "rude"
        return {"reject": True, "reject_reason": "be polite"} if is_rude else {}

    @middleware("loud", 20)
    def loud(phase: str, tool_name: str, args_json: str, result_json: str, is_error: bool) -> dict[str, Any]:
        if phase == "before":
            return {"arguments_json": json.dumps({"text": json.loads(args_json)["text"].upper()})}
        return {"result_json": json.dumps(json.loads(result_json) + "!")}

    @resource("memo://one", "A memo", name="one", mime_type="text/plain", title="Memo One")
    def one() -> list[ResourceContent]:
        uri = "memo://one"
        return [ResourceContent(uri, "buy milk"), ResourceContent(uri, blob=b"\x89P", mime_type="image/png")]

    @resource_template("memo://{name}", name="memo", mime_type="text/plain")
    def memo(name: str) -> list[str]:
        if name == "broken":
            raise ToolError("the disk is broken", code="IO")
        return []

    @prompt("Greets", title="A Greeting", arguments=[PromptArg("who", "Whom", True, "Who")])
    def greet(who: str) -> str:
        return f"Hello, {who}!"

    @completion("ref/prompt", "greet", "who")
    def who(typed: str, settled: dict[str, str]) -> list[str]:
        return [each for each in ("Ada", "Alan", "Grace") if each.startswith(typed) and each not in settled.values()]


class Process:
    """This SDK at one end of a socket, and the reader of its frames at the other end."""

    def __init__(self) -> None:
        self._stream, theirs = socket.socketpair()
        self._stream.settimeout(PATIENCE)
        self._thread = threading.Thread(target=runner.serve, args=(theirs,), daemon=True)
        self._thread.start()
        self._reader = FrameReader()

    def say(self, envelope: dict[str, Any]) -> None:
        self._stream.sendall(write_envelope(envelope_from_json(envelope)))

    def frames(self) -> Iterator[dict[str, Any]]:
        """Its envelopes, in the form of the vectors. Those that are sent raw have their payload as `result_json`."""
        payload = None
        while data := self._stream.recv(1 << 16):
            self._reader.feed(data)
            while (frame := self._reader.next()) is not None:
                if isinstance(frame, Payload):
                    payload = frame.data.decode()
                    if not frame.header.followed_by_result:
                        yield {"request_id": frame.header.request_id, "call_result": {"result_json": payload}}
                        payload = None
                    continue
                assert isinstance(frame, Envelope)
                found = envelope_to_json(frame)
                if payload is not None:
                    found["call_result"]["result_json"], payload = payload, None
                yield found

    def hang_up(self) -> None:
        self._stream.shutdown(socket.SHUT_WR)

    def join(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self._stream.close()


def whole(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps of a vector, with each result in one envelope."""
    found: list[dict[str, Any]] = []
    raw: dict[str, Any] = {}
    chunks = b""
    for step in steps:
        envelope = step.get("envelope", {})
        if "raw" in step:
            # The payload is the JSON of a text of x, compressed.
            raw = step["raw"]
            result = {"result_json": json.dumps("x" * (int(raw["uncompressed_size"]) - 2))}
            found.append({"from": "process", "request_id": raw["request_id"], "call_result": result})
        elif "stream_chunk" in envelope:
            chunks += base64.b64decode(envelope["stream_chunk"]["data"])
            if envelope["stream_chunk"].get("final"):
                result = {"result_json": chunks.decode()}
                found.append({"from": "process", "request_id": envelope["request_id"], "call_result": result})
        elif raw.get("followed_by_result") and "call_result" in envelope:
            found[-1]["call_result"] |= envelope["call_result"]
            raw = {}
        elif "stream_header" not in envelope:
            found.append({"from": step["from"], **envelope})
    return found


def kind_of(envelope: dict[str, Any]) -> str:
    (kind,) = envelope.keys() - REST - {"from"}
    return kind


def texts(content: Any) -> list[Any]:
    """The texts of a result or a message: a text alone, a block, or a list of blocks."""
    blocks = content if isinstance(content, list) else [content]
    return [each["text"] if isinstance(each, dict) else each for each in blocks]


def parsed(message: dict[str, Any], name: str) -> Any:
    return json.loads(message[name]) if message.get(name) else None


def meaning(kind: str, message: dict[str, Any], asked: dict[str, Any]) -> Any:
    """The part of a message that each process with these tools sends alike. `asked` is the last one of the bridge."""
    match kind:
        case "sdk_info":
            return {"elicitation", "request-context", "ping", "hand-over"} <= set(message["features"])
        case "tool_list":
            return sorted((each["name"], each["description"], each.get("title", "")) for each in message["tools"])
        case "call_result":
            if message.get("is_error"):
                code = message.get("error", {}).get("error_code")
                return code if code == "OUT_OF_PAPER" else "failed"
            result = [texts(parsed(message, "result_json")), parsed(message, "structured_content_json")]
            return [*result, message.get("disable_tools"), parsed(message, "metadata_json")]
        case "middleware_intercept_response":
            if message.get("reject"):
                return message["reject_reason"]
            # Unchanged ones may be left out.
            return [parsed(asked | message, name) for name in ("arguments_json", "result_json")]
        case "resource_list_response":
            return sorted((each["uri"], each["name"], each.get("mime_type")) for each in message["resources"])
        case "resource_template_list_response":
            return [(each["uri_template"], each["name"]) for each in message["templates"]]
        case "prompt_list_response":
            return [(each["name"], each["arguments"]) for each in message["prompts"]]
        case "read_resource_response":
            found = [(each.get("text"), each.get("blob")) for each in message.get("contents", [])]
            return found, message.get("error", {}).get("message") if "IO" in str(message) else None
        case "get_prompt_response":
            return [(each["role"], *texts(parsed(each, "content_json"))) for each in message.get("messages", [])]
        case "completion_response":
            return message["values"]
        case "sampling_request":
            return [texts(each["content"]) for each in parsed(message, "messages_json")], message["max_tokens"]
        case "elicitation_request":
            return message["message"], parsed(message, "requested_schema_json")
        case "log":
            return message["level"], parsed(message, "data_json")
        case "task_status_response":
            return message["state"] == "cancelled"
        case "hand_over_response":
            return json.loads(base64.b64decode(message["state"])) if message.get("state") else {"jobs": 0}
        case "take_over_response":
            return bool(message.get("error"))
        case "create_task" | "list_roots_request":
            return None
    return message


def with_ids(envelope: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    """The envelope of the bridge, with the ids that this process has given to questions and tasks."""
    found: Any = json.loads(json.dumps({name: value for name, value in envelope.items() if name != "from"}))
    for message in (found, found[kind_of(envelope)]):
        for name in ("request_id", "task_id"):
            if name in message:
                message[name] = ids.get(message[name], message[name])
    return dict(found)


@pytest.mark.parametrize("vector", vectors("conversations"))
def test_conversations(vector: dict[str, Any]) -> None:
    release = threading.Event()
    declare_tools(release)
    declare_questions()
    declare_others()
    process, ids, cancelled, asked = Process(), dict[str, str](), set[str](), dict[str, Any]()
    # A cancelled call has a result that no client sees.
    said = (each for each in process.frames() if "call_result" not in each or each["request_id"] not in cancelled)
    for step in whole(vector["steps"]):
        kind = kind_of(step)
        message = step[kind]
        if step["from"] == "bridge":
            asked = message
            if kind == "cancel":
                cancelled.add(message["request_id"])
            if kind in ("task_result", "hand_over"):
                release.set()
            if kind == "task_result":
                poll = {"task_status": message, "request_id": "poll"}
                is_done = False
                while not is_done:
                    process.say(with_ids(poll, ids))
                    is_done = next(said)["task_status_response"]["state"] == "completed"
            process.say(with_ids(step, ids))
            continue
        found = next(said)
        assert kind_of(found) == kind, (found, step)
        if kind.endswith("_request") or kind == "enable_tools":
            ids[step["request_id"]] = found["request_id"]
        elif kind == "create_task":
            ids[message["task_id"]] = found[kind]["task_id"]
        assert found.get("request_id") == ids.get(step.get("request_id", ""), step.get("request_id"))
        assert found.get("for_call") == step.get("for_call")
        assert meaning(kind, found[kind], asked) == meaning(kind, message, asked)
    release.set()
    process.hang_up()
    assert [each for each in said if "log" not in each] == []
    process.join()
