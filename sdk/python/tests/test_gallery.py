"""Files for the published SDK 0.3.1 run unchanged, and answer the same to the same host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bridge import ROOT, begin_visit, visit

EXAMPLES = ROOT / "conformance/published/python"
FIXTURES = ROOT / "conformance/fixtures/py"


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "with": arguments}


TOOLS = {"tools": True}
CASES: dict[str, list[dict[str, Any]]] = {
    "tools.py": [TOOLS, call("add", a=2, b=3), call("greet", name="Ann"), {"count": "count", "with": {"to": 3}}],
    "groups.py": [
        TOOLS,
        call("notes", action="write", title="a", text="hi", color="gren"),
        call("notes", action="write", text="hi"),
        call("notes", action="write", title="a", text="hi", color="green"),
        call("notes", action="read", title="a"),
        call("notes", action="read", title="a", all=True),
        call("notes", action="read"),
        call("notes", action="reed", title="a"),
        call("notes"),
        call("shapes.square", side=3),
        call("shapes.circle", radius=1.5),
    ],
    "workflow.py": [
        TOOLS,
        call("release.test"),
        call("release.choose", version="1.2"),
        {"until": ["release.cancel", "release.test", "status"]},
        call("wipe"),
        call("status"),
        call("release.test", passed=False),
        {"until": ["release.cancel", "release.fix", "status"]},
        call("release.fix"),
        call("release.test"),
        {"until": ["release.publish", "status"]},
        call("release.publish"),
        {"until": ["status", "wipe"]},
    ],
    "server_context.py": [TOOLS, call("whoami"), call("whoami", workspace="attic"), call("plain", text="x")],
    "local_middleware.py": [call("weather", city="ulm"), call("weather", city="bonn")],
    "middleware.py": [call("pay", amount=5), call("pay", amount=500)],
    "telemetry.py": [call("divide", a=7, b=2), call("divide", a=7, b=0)],
    "discovery/main.py": [TOOLS, call("total", numbers=[1, 2, 3]), call("words", text="a b c")],
    "hidden.py": [
        TOOLS,
        call("open_vault", code="0"),
        call("look_inside"),
        call("open_vault", code="1234"),
        {"until": ["close_vault", "look_inside"]},
        call("look_inside"),
        call("close_vault"),
        {"until": ["open_vault"]},
    ],
    "structured.py": [TOOLS, call("forecast", city="Ulm")],
    "resources_prompts.py": [
        {"resources": True},
        {"templates": True},
        {"prompts": True},
        {"read": "notes://all"},
        {"read": "notes://one/tea"},
        {"read": "notes://one/coal"},
        {"read": "notes://dot"},
        {"get": "summarize", "with": {"name": "tea"}},
        {"get": "summarize"},
        {"complete": ["prompt", "summarize", "name", ""]},
        {"complete": ["resource", "notes://one/{name}", "name", "t"]},
    ],
    "progress.py": [
        {"count": "count", "with": {"to": 3}},
        {"give_up": "count", "with": {"to": 5000}},
        {"give_up": "wait", "with": {"seconds": 600}},
        {"count": "count", "with": {"to": 1}},
    ],
    "sampling.py": [call("title", text="tea and cake")],
    "sidecar.py": [call("ask", about="tea")],
}
FIXTURE_CASES: dict[str, list[dict[str, Any]]] = {
    "basics.py": [
        TOOLS,
        call("echo", text="hi"),
        call("greet", name="Ann"),
        call("structured"),
        call("structured_empty"),
        call("weather_json", city="Ulm"),
        call("weather_prose", city="Ulm"),
        call("fail_with_code"),
        call("fail_with_text"),
        call("raise_error"),
        call("large", size=300_000),
        call("large_error", size=100_000),
        call("reveal"),
        call("secret"),
        call("conceal"),
        call("secret"),
        call("shout", text="hello"),
        {"give_up": "until_cancelled", "with": {"note": "/dev/null"}},
        call("sleep_ms", ms=5),
        call("nothing"),
        call("echo", text=5),
    ],
    "library.py": [
        {"resources": True},
        {"read": "library://index"},
        {"read": "library://cover"},
        {"read": "library://burnt"},
        {"get": "torn"},
        {"read": "library://all"},
        {"read": "library://book/tea"},
        {"get": "summarize", "with": {"title": "tea"}},
        {"complete": ["prompt", "summarize", "title", "t"]},
        {"complete": ["resource", "library://book/{title}", "title", "x"]},
    ],
    "workflow.py": [
        TOOLS,
        call("math.double", n=4),
        call("deploy.review", version="1"),
        TOOLS,
        call("deploy.approve"),
        TOOLS,
    ],
    "interceptors.py": [
        call("echo", text="a", rewrite="late"),
        call("echo", text="a", reject="first"),
        call("echo", text="a", sign="tie-one"),
    ],
    "clients.py": [
        call("test_simple_text"),
        call("test_structured", a=1, b=2),
        {"count": "test_tool_with_progress"},
        call("test_sampling", prompt="hello"),
        call("test_trigger_tool_change"),
        call("test_hidden"),
    ],
    "asks.py": [call("ask", text="hello")],
    "quickstart.py": [call("add", a=1, b=2)],
}

# The steps whose answers differ, with a part of ours and the reason as the README has it.
BETTER = {
    json.dumps(call("notes", action="reed", title="a")): (
        EXAMPLES / "groups.py",
        "Did you mean 'read'?",
        "Errors of groups have their text as `message`, too",
    ),
    json.dumps(call("notes")): (
        EXAMPLES / "groups.py",
        "Missing 'action' field",
        "Errors of groups have their text as `message`, too",
    ),
    json.dumps({"read": "library://burnt"}): (
        FIXTURES / "library.py",
        "it burnt down",
        "A resource or prompt that fails is an error, not a text with the reason",
    ),
    json.dumps({"get": "torn"}): (
        FIXTURES / "library.py",
        "a page is torn",
        "A resource or prompt that fails is an error, not a text with the reason",
    ),
    json.dumps(call("echo", text=5)): (
        FIXTURES / "basics.py",
        "at /text: expected string",
        "Arguments are checked before the handler runs",
    ),
    json.dumps(call("raise_error")): (
        FIXTURES / "basics.py",
        "ValueError: the handler raised on purpose",
        "The text of an unexpected exception begins with its type",
    ),
    json.dumps(call("divide", a=7, b=0)): (
        EXAMPLES / "telemetry.py",
        "ZeroDivisionError: integer division or modulo by zero",
        "The text of an unexpected exception begins with its type",
    ),
    json.dumps(call("leave", status=3)): (
        FIXTURES / "basics.py",
        "sys.exit(3)",
        "`sys.exit` in a handler fails the call instead of leaving it without an answer",
    ),
}

FILES = [(EXAMPLES / name, steps) for name, steps in CASES.items()] + [
    (FIXTURES / name, steps) for name, steps in FIXTURE_CASES.items()
]


@pytest.mark.parametrize(("file", "steps"), FILES, ids=[f"{file.parent.name}/{file.name}" for file, _ in FILES])
def test_a_file_for_the_published_sdk_answers_the_same(file: Path, steps: list[dict[str, Any]], tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    both = begin_visit(file, steps, tmp_path / "ours"), begin_visit(file, steps, tmp_path / "theirs", is_published=True)
    ours, theirs = (each.result() for each in both)
    assert len(ours.given) == len(steps)
    for step, mine, published in zip(steps, ours.given, theirs.given, strict=True):
        if json.dumps(step) in BETTER:
            continue
        assert plain(mine) == plain(published), f"{json.dumps(step)}\n{ours.stderr}"


@pytest.mark.parametrize("step", BETTER)
def test_where_the_published_sdk_is_wrong_the_readme_says_so(step: str, tmp_path: Path) -> None:
    file, expected, reason = BETTER[step]
    assert reason in " ".join((ROOT / "sdk/python/README.md").read_text().split())
    assert expected in json.dumps(visit(file, [json.loads(step)], tmp_path).given[0])


def plain(result: Any) -> Any:
    """A result, with texts that are JSON as values: blanks do not count."""
    if isinstance(result, dict):
        return {name: loaded(value) if name == "text" else plain(value) for name, value in result.items()}
    return [plain(each) for each in result] if isinstance(result, list) else result


def loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def test_every_example_is_compared() -> None:
    files = {path.name for path in EXAMPLES.glob("*.py")}
    assert files == {name for name in CASES if "/" not in name}


def test_the_meta_of_an_answer_reaches_the_host(tmp_path: Path) -> None:
    file = tmp_path / "meta.py"
    file.write_text(
        "from protomcp import *\n"
        "resource('note://one')(lambda: ResourceResult('tea', {'of': 'read'}))\n"
        "prompt(name='ask')(lambda: PromptResult('What?', 'Asks.', {'of': 'prompt'}))\n"
        "completion('ref/prompt', 'ask', 'x')(lambda typed: CompletionResult(['plain'], 1, False, {'of': 'typing'}))\n"
    )
    steps: list[dict[str, Any]] = [{"read": "note://one"}, {"get": "ask"}, {"complete": ["prompt", "ask", "x", ""]}]
    given = visit(file, steps, tmp_path).given
    assert [each["_meta"]["of"] for each in given] == ["read", "prompt", "typing"]
    assert given[1]["description"] == "Asks."


@pytest.mark.parametrize("how", ["enable", "disable", "set_allowed", "set_blocked", "batch", "get_active_tools"])
def test_a_handler_changes_the_list_of_tools(how: str, tmp_path: Path) -> None:
    """The published SDK loses the answers (docs/decisions.md), so there is nothing to compare."""
    steps = [call("change", how=how, names="switched"), TOOLS]
    changed, tools = visit(FIXTURES / "manager.py", steps, tmp_path).given
    expected = {
        "enable": ["change", "echo", "switched"],
        "batch": ["change", "echo", "switched"],
        "set_allowed": ["switched"],
        "set_blocked": ["change", "echo"],
    }.get(how, ["change", "echo"])
    assert changed["content"][0]["text"] == f"{how} returned {len(expected)}"
    assert tools == expected


@pytest.mark.parametrize("env", [{}, {"A_LOOP": "1"}, {"AT_START": "1"}, {"AT_START": "1", "A_LOOP": "1"}])
def test_connections_and_globals_of_plain_files_need_no_lock(env: dict[str, Any], tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [{"together": [call("enter", amount=amount) for amount in range(64)]}, call("sums")]
    visits = {}
    for who in ("ours", "theirs"):
        (tmp_path / who).mkdir()
        visits[who] = begin_visit(FIXTURES / "ledger.py", steps, tmp_path / who, is_published=who == "theirs", **env)
    answers = {}
    for who, each in visits.items():
        entered, sums = each.result().given
        answers[who] = [result["content"][0]["text"] for result in [*entered, sums]]
    expected = ["entered"] * 64 + ["2016 2016"]
    assert answers["ours"] == expected
    # The published SDK has a thread for handlers, in which connections of the module fail.
    assert (answers["theirs"] == expected) is ("AT_START" not in env)
