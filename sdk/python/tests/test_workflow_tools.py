"""The tools that are shown and hidden during workflows, and at their end."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from protomcp import ToolError, ToolResult, step, tool, tool_manager, workflow
from protomcp import _workflow_runs as runs
from protomcp._wire import ActiveToolsResponse, Envelope
from protomcp.errors import DeclarationError
from protomcp.testing import Harness
from test_workflows import BOTH, declare, handle_of, is_empty


def declare_two(allow: list[str]) -> None:
    """Workflows `one` and `two`, a tool, and a hidden one."""
    tool(name="plain")(lambda: "plain")
    tool(name="secret", hidden=True)(lambda: "secret")
    for name, patterns in (("one", allow), ("two", None)):
        begin = step("begin", initial=True, next=["end"])(lambda self: "begun")
        end = step("end", terminal=True)(lambda self: "over")
        workflow(name, allow_during=patterns)(type(name, (), {"begin": begin, "end": end}))


def test_a_workflow_shows_no_hidden_tools() -> None:
    declare_two(["*"])
    hidden = ["secret", "two.cancel", "two.end"]
    with Harness() as tools:
        begun, over = tools.call("one.begin"), tools.call("one.end")
    assert begun.enable_tools == ["one.cancel", "one.end", "plain", "two.begin"]
    assert begun.disable_tools == ["one.begin", *hidden]
    assert over.enable_tools == ["plain", "two.begin"]
    assert over.disable_tools == ["one.begin", "one.cancel", "one.end", *hidden]


def test_a_workflow_shows_a_hidden_tool_that_it_names() -> None:
    declare_two(["secret"])
    with Harness() as tools:
        begun, over = tools.call("one.begin"), tools.call("one.end")
    assert begun.enable_tools == ["one.cancel", "one.end", "secret"]
    assert over.enable_tools == ["plain", "two.begin"]


def test_the_end_of_an_inner_workflow_shows_the_outer_one() -> None:
    declare_two(["two.*"])
    outer = ["one.cancel", "one.end", "two.begin"]
    with Harness() as tools:
        assert tools.call("one.begin").enable_tools == outer
        # The second call begins the same run again.
        begun = [tools.call("two.begin").enable_tools for _ in range(2)]
        assert begun == [["two.cancel", "two.end"]] * 2
        assert tools.call("two.end").enable_tools == outer[:2]
        assert tools.call("one.end").enable_tools == ["plain", "two.begin"]
    assert is_empty()


def test_a_change_for_everyone_is_newer_than_a_session_s() -> None:
    declare_two([])
    shown = ToolResult("hello", enable_tools=["secret"], disable_tools=["plain"])
    tool(name="login")(lambda: shown)
    with Harness() as tools:
        tools.call("login")
        runs.note("", {"secret": False, "plain": True})
        tools.call("one.begin")
        over = tools.call("one.end")
        assert ("secret" in over.disable_tools, "plain" in over.enable_tools) == (True, True)
        tools.call("login")
        tools.call("one.begin")
        assert "secret" in tools.call("one.end").enable_tools


@pytest.mark.parametrize("way", ["refused", "cancelled", "error", "over"])
def test_a_step_notes_the_tools_that_its_result_shows(way: str) -> None:
    """A result that does not reach the client shows none."""
    tool(name="secret", hidden=True)(lambda: "secret")

    def end(self: Any) -> Any:
        if way == "cancelled":
            runs.drop(runs._active["test"][-1])
        return ToolResult("over", enable_tools=["secret"], is_error=way == "error")

    def on_complete(self: Any) -> None:
        if way == "refused":
            raise ToolError("no disk")

    declare(False, lambda self: "begun", end, on_complete=on_complete)
    with Harness() as tools:
        tools.call("flow.begin")
        assert ("secret" in tools.call("flow.end").enable_tools) == (way in ("error", "over"))
        assert runs._changes.get("test", {}) == ({"secret": True} if way in ("error", "over") else {})


@pytest.mark.parametrize("way", ["result", "step", "manager"])
@pytest.mark.parametrize("allow", [["*"], None], ids=["all", "none"])
def test_a_workflow_gives_an_enabled_tool_back(allow: Any, way: str) -> None:
    """And a tool that was hidden stays hidden."""
    declare_two(allow)
    shown = ToolResult("hello", enable_tools=["secret"], disable_tools=["plain"])

    @tool
    def login() -> ToolResult:
        if way == "manager":
            tool_manager.batch(enable=["secret"], disable=["plain"])
        return ToolResult("hello") if way == "manager" else shown

    logging_in = step("login", initial=True, terminal=True)(lambda self: shown)
    workflow("three")(type("three", (), {"login": logging_in}))
    with Harness() as tools:
        call = tools.start("three.login" if way == "step" else "login")
        if way == "manager":
            tools._wait(lambda: "py-1" in tools._answers, 30.0, "the request")
            tools._send(Envelope("active_tools", ActiveToolsResponse([]), "py-1"))
        call.result()
        for _ in range(2):
            begun, over = tools.call("one.begin"), tools.call("one.end")
            assert ("secret" in begun.enable_tools, "secret" in begun.disable_tools) == (bool(allow), not allow)
            assert ("secret" in over.enable_tools, "secret" in over.disable_tools) == (True, False)
            assert "plain" not in begun.enable_tools + over.enable_tools
    with Harness(session="other") as tools:
        tools.call("one.begin")
        assert "secret" in tools.call("one.end").disable_tools


@BOTH
@pytest.mark.parametrize("allow", [["*"], None], ids=["all", "none"])
def test_a_tool_that_is_shown_during_a_run_stays(handles: bool, allow: Any) -> None:
    """And one that is hidden stays hidden: no step reverses it, nor the end."""
    tool(name="plain")(lambda: "plain")
    tool(name="secret", hidden=True)(lambda: "secret")
    tool(name="login")(lambda: ToolResult("hello", enable_tools=["secret"], disable_tools=["plain"]))
    begin = step("begin", initial=True, next=["more"])(lambda self: "begun")
    more = step("more", next=["end"])(lambda self: "more")
    end = step("end", terminal=True)(lambda self: "over")
    methods = {"begin": begin, "more": more, "end": end}
    workflow("flow", allow_during=allow, block_during=None if allow else ["*"], handles=handles)(
        type("Flow", (), methods)
    )
    with Harness() as tools:
        about = handle_of(tools.call("flow.begin"))
        tools.call("login")
        shown = {"login", "secret"}
        for name in ("more", "end"):
            found = tools.call(f"flow.{name}", **about)
            shown = shown.union(found.enable_tools).difference(found.disable_tools)
            assert shown.intersection(("plain", "secret")) == ({"secret"} if allow or name == "end" else set())


def test_the_end_of_an_inner_workflow_shows_what_was_shown_in_it() -> None:
    declare_two(["*"])
    tool(name="login")(lambda: ToolResult("hello", enable_tools=["secret"], disable_tools=["plain"]))
    with Harness() as tools:
        tools.call("one.begin")
        tools.call("two.begin")
        tools.call("login")
        assert tools.call("two.end").enable_tools == ["login", "one.cancel", "one.end", "secret"]
        assert tools.call("one.end").enable_tools == ["login", "secret", "two.begin"]


def test_the_changes_of_a_session_that_is_in_use_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_SESSIONS", 3)
    declare_two([])
    for session in ("test", "other", "last"):
        runs.note(session, {"secret": True})
    # A question changes nothing.
    runs.note("asking", {})
    with Harness() as tools:
        tools.call("one.begin")
        runs.note("other", {"plain": False})
        runs.note("new", {"plain": False})
        assert list(runs._changes) == ["", "test", "other", "new"]
        assert "secret" in tools.call("one.end").enable_tools


def test_the_end_of_a_step_whose_run_is_forgotten_leaves_the_new_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_SESSIONS", 1)
    entered, go = threading.Event(), threading.Event()

    def begin(self: Any, slowly: bool = False) -> str:
        if slowly:
            entered.set()
            assert go.wait(30)
        return "begun"

    declare(False, begin, lambda self: "over")
    with Harness(session="a") as slow, Harness(session="a") as tools, Harness(session="b") as other:
        beginning = slow.start("flow.begin", slowly=True)
        assert entered.wait(30)
        # Its run gives way to this one.
        other.call("flow.begin")
        tools.call("flow.begin")
        go.set()
        beginning.result()
        assert tools.call("flow.end").text == "over"


def test_a_step_has_a_name_and_parameters_that_arrive() -> None:
    first = step("begin", initial=True, next=["cancel"])(lambda self: "begun")
    with pytest.raises(ValueError, match="step 'cancel' has the name of the tool that cancels a run"):
        workflow("flow")(
            type("Flow", (), {"begin": first, "cancel": step("cancel", terminal=True)(lambda self: "over")})
        )
    kept = step("begin", initial=True, next=["cancel"], no_cancel=True)(lambda self: "begun")
    workflow("kept", handles=True)(
        type("Kept", (), {"begin": kept, "cancel": step("cancel", terminal=True)(lambda self: "mine")})
    )
    with Harness() as tools:
        handle = handle_of(tools.call("kept.begin"))
        assert tools.call("kept.cancel", **handle).text == "mine"

    def publish(self: Any, handle: str) -> str:
        return handle

    begin = step("begin", initial=True, next=["end"])(lambda self: "begun")
    workflow("post", handles=True)(type("Post", (), {"begin": begin, "end": step("end", terminal=True)(publish)}))
    with pytest.raises(DeclarationError, match="the parameter handle is the handle of the run: give it another name"):
        Harness().__enter__()
