"""Questions, log messages, the caller; resources, prompts, apps and workflows as a bridge sees them."""

from __future__ import annotations

import enum
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Optional, TypeVar

import pytest

import protomcp
from protomcp import (
    App,
    AppOnly,
    AskError,
    AsyncContext,
    CompletionResult,
    Depends,
    Form,
    Page,
    PromptMessage,
    PromptResult,
    ResourceContent,
    ResourceResult,
    Roots,
    Sample,
    StepResult,
    ToolContext,
    completion,
    local_middleware,
    middleware,
    prompt,
    resource,
    resource_template,
    server_context,
    step,
    telemetry_sink,
    tool,
    workflow,
)
from protomcp._uris import match
from protomcp.prompt import get_registered_prompts
from protomcp.testing import Harness


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Order:
    color: Color
    count: int = 1
    note: str | None = None


def test_a_form_is_filled_in() -> None:
    @tool
    def plain(ctx: ToolContext) -> str:
        answer = ctx.ask("What?", Order, key="order")
        return f"{answer.action} {answer.content}"

    @tool
    async def later(ctx: AsyncContext) -> str:
        answer = await ctx.ask("What?", Order)
        return f"{answer.action} {answer.content}"

    schemas = []

    def fill(message: str, schema: Any) -> dict[str, Any] | None:
        schemas.append(schema)
        return {"color": "red"}

    with Harness(ask=fill) as tools:
        expected = f"accept {Order(Color.RED)}"
        assert (tools.call(plain).text, tools.call(later).text) == (expected, expected)
        assert tools.questions[0].question_key == "order"
        assert tools.questions[0].for_call == "req-2"
    assert schemas[0] == {
        "type": "object",
        "properties": {
            "color": {"type": "string", "enum": ["red", "blue"]},
            "count": {"type": "integer", "default": 1},
            "note": {"type": "string"},
        },
        "required": ["color"],
    }
    with Harness(ask=lambda *_: None) as tools:
        assert tools.call(plain).text == "decline None"
    with Harness() as tools:
        refused = tools.call(plain)
        assert refused.error and refused.error["message"] == "the client cannot ask its user"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_page_is_visited(is_async: bool) -> None:
    page = "https://example.com/sign-in"

    if is_async:

        @tool
        async def sign_in(ctx: AsyncContext) -> str:
            answer = await ctx.ask_page("Please sign in.", page, id="visit-1", key="in")
            ctx.page_completed("visit-1")
            return f"{answer.action} {answer.accepted} {answer.content}"
    else:

        @tool
        def sign_in(ctx: ToolContext) -> str:  # type: ignore[misc]
            answer = ctx.ask_page("Please sign in.", page, id="visit-1", key="in")
            ctx.page_completed("visit-1")
            return f"{answer.action} {answer.accepted} {answer.content}"

    asked = []

    def visit(message: str, url: Any) -> dict[str, Any] | None:
        asked.append((message, url))
        return {}

    with Harness(ask=visit) as tools:
        assert tools.call("sign_in").text == "accept True None"
        assert asked == [("Please sign in.", page)]
        question = tools.questions[0]
        assert (question.message.mode, question.message.elicitation_id) == ("url", "visit-1")
        assert (question.question_key, question.for_call) == ("in", "req-2")
        completed = [each.message for each in tools.sent if each.kind == "elicitation_complete"]
        assert [each.elicitation_id for each in completed] == ["visit-1"]
    with Harness(ask=lambda *_: None) as tools:
        assert tools.call("sign_in").text == "decline False None"
    with Harness(ask=visit, features=["for-call"]) as tools:
        refused = tools.call("sign_in").error
        assert refused and (refused["error_code"], refused["message"]) == (
            "QUESTION_FAILED",
            "this bridge cannot ask the user",
        )


def test_each_visit_of_a_page_has_its_id() -> None:
    first, second = Page("?", "https://example.com"), Page("?", "https://example.com")
    assert first.id and second.id and first.id != second.id


def test_a_nested_form_is_refused() -> None:
    with pytest.raises(TypeError, match="the field order of the form"):
        Form("?", Outer)


@dataclass
class Outer:
    order: Order


@pytest.mark.parametrize("is_async", [False, True])
def test_several_questions_are_asked_together(is_async: bool) -> None:
    questions = (Form("?", Order, key="a"), Sample("Hello", key="b", temperature=0.5), Roots("c"))

    if is_async:

        @tool
        async def several(ctx: AsyncContext) -> str:
            form, sample, roots = await ctx.ask_all(*questions)
            return f"{form.content.count} {sample['content']} {roots[0].uri}"
    else:

        @tool
        def several(ctx: ToolContext) -> str:  # type: ignore[misc]
            form, sample, roots = ctx.ask_all(*questions)
            return f"{form.content.count} {sample['content']} {roots[0].uri}"

    with Harness(ask=lambda *_: {"color": "blue", "count": 2}, sample=lambda _: "hi", roots=["file:///a"]) as tools:
        assert tools.call("several").text == "2 hi file:///a"
        assert [each.more_questions for each in tools.questions] == [True, True, False]
        assert [each.question_key for each in tools.questions] == ["a", "b", "c"]
        assert json.loads(tools.questions[1].message.params_json) == {"temperature": 0.5}


def test_the_published_way_to_ask_the_model() -> None:
    @tool
    def ask(ctx: ToolContext) -> str:
        return json.dumps(ctx.sample([{"role": "user", "content": "hello"}], system_prompt="brief", timeout=20))

    with Harness(sample=lambda messages: messages[0]["content"].upper()) as tools:
        assert json.loads(tools.call(ask).text) == {
            "role": "assistant",
            "content": "HELLO",
            "model": "test",
            "stop_reason": "endTurn",
        }
    with Harness() as tools:
        assert json.loads(tools.call(ask).text) == {"error": "the client has no model"}


def test_a_context_of_a_test_has_no_client() -> None:
    with pytest.raises(AskError, match="no client"):
        ToolContext("", lambda envelope: None).ask("?")


def test_who_calls_and_until_when() -> None:
    @tool
    def who(ctx: ToolContext) -> str:
        caller = ctx.caller
        user = caller.principal.subject if caller.principal else ""
        assert ctx.time_left is not None and 0 < ctx.time_left <= 20
        return f"{caller.client_name} {caller.session} {user} {caller.shows_apps}"

    with Harness(user="ann", session="s", timeout=20) as tools:
        assert tools.call(who).text == "protomcp-testing s ann False"


def test_log_messages_name_their_call() -> None:
    @tool
    def speak(ctx: ToolContext) -> None:
        ctx.log.warning("one")
        protomcp.log.info("", data={"two": 2})
        logging.getLogger("mine").error("three %d", 3)

    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        with Harness() as tools:
            tools.call(speak)
            assert tools.logs == [("warning", {"message": "one"}), ("info", {"two": 2}), ("error", "three 3")]
        assert root.handlers == []
    finally:
        root.handlers = handlers


def test_resources_return_anything() -> None:
    @resource("notes://all")
    def everything() -> list[Any]:
        return [ResourceContent("notes://a", "a"), b"\1"]

    @resource("notes://data")
    async def data(ctx: AsyncContext) -> dict[str, int]:
        return {"a": 1}

    @resource_template("notes://{kind}/{number}")
    def one(kind: str, number: int, uri: str) -> str:
        return f"{kind} {number + 1} {uri}"

    @resource("notes://broken")
    def broken() -> str:
        raise OSError("it burnt down")

    with Harness() as tools:
        assert tools.read("notes://all") == ["a", b"\1"]
        assert tools.read("notes://data") == ['{"a":1}']
        assert tools.read("notes://x%20y/4") == ["x y 5 notes://x%20y/4"]
        for uri, reason in (
            ("notes://broken", "it burnt down"),
            ("notes://x/y", 'expected integer, got "y"'),
            ("other://", "Resource not found: other://"),
        ):
            with pytest.raises(LookupError, match=reason):
                tools.read(uri)


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("a://{x}", "a://1", {"x": "1"}),
        ("a://{x}", "a://1/2", None),
        ("a://{+x}", "a://1/2", {"x": "1/2"}),
        ("a://{x}/b{?q,r}", "a://1/b?q=2", {"x": "1", "q": "2"}),
        ("a://{x}.{y}", "a://1.2", {"x": "1", "y": "2"}),
        ("a://b", "a://c", None),
    ],
)
def test_a_template_matches(template: str, uri: str, values: dict[str, str] | None) -> None:
    assert match(template, uri) == values


def test_prompts_have_the_arguments_of_their_functions() -> None:
    @prompt()
    def review(code: str, tone: str = "plain") -> list[Any]:
        """Reviews.

        Args:
            code: The code.
        """
        return ["look", PromptMessage("assistant", f"{code} {tone}")]

    with Harness() as tools:
        assert tools.prompts() == ["review"]
        texts = [(role, block["text"]) for role, block in tools.get("review", code="x")]
        assert texts == [("user", "look"), ("assistant", "x plain")]
        with pytest.raises(LookupError, match="tone_of"):
            tools.get("review", code="x", tone_of="y")
    (found,) = protomcp.prompt.__globals__["get_registered_prompts"]()
    assert [(each.name, each.description, each.required) for each in found.arguments] == [
        ("code", "The code.", True),
        ("tone", "", False),
    ]


def test_whole_answers_have_a_meta() -> None:
    @resource("note://one")
    def note() -> ResourceResult:
        return ResourceResult([ResourceContent("note://one", "tea", meta={"part": 1}), b"x"], meta={"of": "read"})

    @prompt()
    def ask() -> PromptResult:
        return PromptResult(["What?", "Why?"], "Asks twice.", meta={"of": "prompt"})

    @completion("ref/prompt", "ask", "tone")
    def tones(typed: str) -> CompletionResult:
        return CompletionResult(["plain"], meta={"of": "completion"})

    with Harness() as tools:
        assert (tools.read("note://one"), tools.reply_meta) == (["tea", b"x"], {"of": "read"})
        assert [block["text"] for _, block in tools.get("ask")] == ["What?", "Why?"]
        assert tools.reply_meta == {"of": "prompt"}
        assert (tools.complete("ref/prompt", "ask", "tone", ""), tools.reply_meta) == (["plain"], {"of": "completion"})
    with Harness(features=[]) as tools:
        assert (tools.read("note://one"), tools.reply_meta) == (["tea", b"x"], {})


def test_an_app_is_a_resource_of_its_tools(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>one</p>")
    clock = App("clock", page, csp={"connectDomains": ["https://example.org"]})

    @tool(app=clock)
    def now() -> str:
        return "12:00"

    @tool(app=AppOnly(clock))
    def wind() -> str:
        return "wound"

    with Harness() as tools:
        assert json.loads(tools.tools["now"].metadata_json) == {"ui": {"resourceUri": "ui://clock"}}
        assert json.loads(tools.tools["wind"].metadata_json)["ui"]["visibility"] == ["app"]
        assert tools.read("ui://clock") == ["<p>one</p>"]
        page.write_text("<p>two</p>")
        assert tools.read("ui://clock") == ["<p>two</p>"]


def test_contexts_of_the_server_and_middleware() -> None:
    seen = []

    @server_context("user", expose=False)
    def user(arguments: dict[str, Any]) -> str:
        return str(arguments.pop("as", "guest"))

    @local_middleware(10)
    def outer(ctx: Any, name: str, arguments: dict[str, Any], following: Any) -> Any:
        seen.append(name)
        return following(ctx, arguments) + "!"

    @middleware("audit", 5)
    def audit(phase: str, tool_name: str, args_json: str, result_json: str, is_error: bool) -> dict[str, Any]:
        return {}

    @tool
    def whoami(user: str) -> str:
        return user

    with Harness() as tools:
        assert "user" not in tools.tools["whoami"].input_schema_json
        assert (tools.call(whoami).text, tools.call(whoami, **{"as": "ann"}).text) == ("guest!", "ann!")
    assert seen == ["whoami", "whoami"]


def test_a_workflow_of_a_session_is_its_own() -> None:
    @workflow("deploy")
    class Deploy:
        @step(initial=True, next=["approve"])
        def review(self, version: str) -> StepResult:
            return StepResult(version)

        @step(terminal=True)
        async def approve(self) -> str:
            return "approved"

    with Harness(session="a") as tools:
        begun = tools.call("deploy.review", version="1")
        assert begun.enable_tools == ["deploy.approve", "deploy.cancel"]
        assert begun.disable_tools == ["deploy.review"]
        tools._context.session = "b"
        assert tools.call("deploy.approve").text == "No active workflow 'deploy' to continue"
        tools._context.session = "a"
        assert tools.call("deploy.approve").text == "approved"


def test_a_workflow_with_handles_limits_other_tools_for_its_session() -> None:
    @tool
    def status() -> str:
        return "green"

    @tool
    def wipe() -> str:
        return "wiped"

    tool(hidden=True, name="secret")(lambda: "42")

    @workflow("deploy", allow_during=["stat*"], handles=True)
    class Deploy:
        @step(initial=True, next=["check"])
        def review(self) -> str:
            return "reviewing"

        @step(next=["approve"], allow_during=["wipe"])
        def check(self) -> str:
            return "checked"

        @step(terminal=True)
        def approve(self) -> str:
            return "approved"

    for session, changes in (("a", [([], ["status"]), (["status"], ["wipe"]), (["wipe"], [])]), ("", [([], [])] * 3)):
        with Harness(session=session) as tools:
            first = tools.call("deploy.review")
            assert first.structured
            handle = first.structured["handle"]
            results = [first, *(tools.call(f"deploy.{name}", handle=handle) for name in ("check", "approve"))]
            assert [each.is_error for each in results] == [False] * 3
            assert [(each.enable_tools, each.disable_tools) for each in results] == changes


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ({"a": {"next": ["a"]}}, "no initial step"),
        ({"a": {"initial": True}}, "dead end"),
        ({"a": {"initial": True, "next": ["b"]}}, "nonexistent step 'b'"),
        ({"a": {"initial": True, "terminal": True, "next": []}}, "terminal step 'a' has next"),
    ],
)
def test_a_workflow_that_cannot_end_is_refused(steps: dict[str, Any], problem: str) -> None:
    methods = {name: step(name, **about)(lambda self: "") for name, about in steps.items()}
    with pytest.raises(ValueError, match=problem):
        workflow("broken")(type("Broken", (), methods))


def test_a_generator_is_a_lifespan_with_a_loop() -> None:
    steps = []

    @protomcp.lifespan
    async def around() -> Any:
        steps.append("open")
        yield
        steps.append("close")

    @protomcp.lifespan
    def inner() -> Iterator[None]:
        steps.append("inner")
        yield

    @tool
    def use() -> str:
        return ",".join(steps)

    with Harness() as tools:
        assert tools.call(use).text == "open,inner"
    assert steps == ["open", "inner", "close"]


def test_arguments_of_prompts_are_converted() -> None:
    @prompt
    def repeat(word: str, times: int = 2, loud: bool = False, base: str = Depends(lambda: "!")) -> str:
        """Repeats a word."""
        return word * times + base * loud

    with Harness() as tools:
        assert tools.prompts() == ["repeat"]
        assert tools.get("repeat", word="ha")[0][1]["text"] == "haha"
        assert tools.get("repeat", word="ha", times="3", loud="true")[0][1]["text"] == "hahaha!"
        with pytest.raises(LookupError) as found:
            tools.get("repeat", wrd="ha", times="x")
    message = str(found.value)
    assert message.startswith('invalid arguments for prompt "repeat":')
    for part in ('"word" is missing', 'expected integer, got "x"', 'unknown argument "wrd"; did you mean "word"?'):
        assert part in message
    assert [each.name for each in get_registered_prompts()[0].arguments] == ["word", "times", "loud"]


def test_no_questions_have_no_answers() -> None:
    @tool
    def plain(ctx: ToolContext) -> str:
        return str(ctx.ask_all())

    @tool
    async def later(ctx: AsyncContext) -> str:
        return str(await ctx.ask_all())

    with Harness() as tools:
        assert (tools.start(plain).result(5).text, tools.start(later).result(5).text) == ("[]", "[]")


def test_progress_may_be_a_fraction(capfd: pytest.CaptureFixture[str]) -> None:
    events = []
    telemetry_sink(lambda event: events.append((event.phase, event.progress, event.total, event.message)))

    @tool
    def work(ctx: ToolContext) -> str:
        ctx.report_progress(1, 4)
        ctx.report_progress(1.0, 4.0)
        ctx.report_progress(1.5, 4, "half")
        ctx.report_progress(float("nan"), 4)
        ctx.report_progress(2, float("inf"))
        ctx.report_progress(2, 4)
        return "done"

    with Harness() as tools:
        call = tools.start(work)
        assert call.result().text == "done"
        assert call.progress == [(1, ""), (1, ""), (1500, "half"), (2000, "")]
    assert events[1:4] == [("progress", 1, 4, ""), ("progress", 1, 4, ""), ("progress", 1.5, 4, "half")]
    assert [phase for phase, *_ in events] == ["start", *["progress"] * 4, "success"]
    assert capfd.readouterr().err == "protomcp: the progress nan of 4 is not sent: both are finite numbers\n"


def test_progress_is_anything_with_a_number() -> None:
    class Whole:
        def __int__(self) -> int:
            return 4

    @tool
    def work(ctx: ToolContext, odd: Any = None) -> str:
        ctx.report_progress("50", 100)  # type: ignore[arg-type]
        ctx.report_progress(Decimal(60), "100")  # type: ignore[arg-type]
        ctx.report_progress(70, Whole())  # type: ignore[arg-type]
        if odd is not None:
            ctx.report_progress(odd)
        return "done"

    with Harness() as tools:
        call = tools.start(work)
        assert call.result().text == "done"
        assert call.progress == [(50, ""), (60, ""), (70, "")]
        assert "ValueError" in tools.call(work, odd="half").text
    ctx = ToolContext("", lambda envelope: None)
    for odd in ("half", [], {}, object(), 10**400, Decimal("sNaN")):
        ctx.report_progress(odd, odd)  # type: ignore[arg-type]


def test_a_log_message_has_its_text_and_its_data() -> None:
    @tool
    def speak(ctx: ToolContext) -> str:
        ctx.log.info("one", data={"two": 2})
        ctx.log.info("zero", data=0)
        ctx.log.info("", data=0)
        ctx.log.info("", data={})
        ctx.log.info("none", data=None)
        ctx.log.info("order", data=Order(Color.RED))
        ctx.log.info("own", data={"message": "other", "two": 2})
        return ""

    with Harness() as tools:
        tools.call(speak)
        assert [data for _, data in tools.logs] == [
            {"message": "one", "two": 2},
            {"message": "zero", "data": 0},
            0,
            {},
            {"message": "none"},
            {"message": "order", "color": "red", "count": 1, "note": None},
            {"message": "own", "data": {"message": "other", "two": 2}},
        ]


def test_a_log_message_without_a_form_in_json_is_sent_as_text() -> None:
    circle: list[Any] = []
    circle.append(circle)

    @tool
    def speak(ctx: ToolContext) -> str:
        ctx.log.error(FileNotFoundError("no disk"))
        ctx.log.error("one", data={"why": ValueError("bad"), "count": 1, "ratio": float("nan")})
        ctx.log.info("", data=[object, {1}])
        ctx.log.info("circle", data=circle)
        return "said"

    with Harness() as tools:
        assert tools.call(speak).text == "said"
        *logs, (_, last) = tools.logs
        assert [data for _, data in logs] == [
            {"message": "FileNotFoundError: no disk"},
            {"message": "one", "why": "ValueError: bad", "count": 1, "ratio": "nan"},
            ["<class 'object'>", [1]],
        ]
        assert last == {"message": "circle", "data": ["…"]}


def test_a_log_message_with_a_cyclic_tree_is_bounded() -> None:
    tree: dict[str, Any] = {"children": []}
    tree["children"] = [{"name": name, "parent": tree} for name in range(10_000)]

    @tool
    def speak(ctx: ToolContext) -> str:
        ctx.log.info("tree", data=tree)
        return "said"

    with Harness() as tools:
        assert tools.call(speak).text == "said"
        ((_, data),) = tools.logs
        assert data["children"][0] == {"name": 0, "parent": "…"}
        assert data["children"][-1] == "…"


class Own:
    """A type without a form in JSON."""


@pytest.mark.parametrize(
    "hint", [Any, Any | None, TypeVar("T"), Annotated[Any, "x"], Optional["ToolContext"], "Unknown", Own]
)
def test_ctx_is_the_context_unless_its_type_is_one_of_an_argument(hint: Any) -> None:
    def some(ctx=None) -> str:  # type: ignore[no-untyped-def]
        return type(ctx).__name__

    some.__annotations__["ctx"] = hint
    tool(some)
    with Harness() as tools:
        assert tools.call("some").text == "ToolContext"


def test_ctx_is_an_argument_if_its_type_says_so() -> None:
    @tool
    def pods(ctx: str, size: int = 1) -> str:
        return f"{ctx} {size}"

    @tool
    def plain(ctx) -> str:  # type: ignore[no-untyped-def]
        return type(ctx).__name__

    @tool
    def some(ctx: Any) -> str:
        return type(ctx).__name__

    with Harness() as tools:
        assert tools.call(pods, ctx="prod").text == "prod 1"
        assert [tools.call(each).text for each in (plain, some)] == ["ToolContext", "ToolContext"]
