"""Runs of workflows: steps that overlap, fail, are cancelled, or return more than text."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from protomcp import (
    Image,
    StepResult,
    ToolError,
    ToolResult,
    configure,
    get_registered_workflows,
    step,
    tool,
    workflow,
)
from protomcp import _workflow_runs as runs
from protomcp.testing import Harness, Result


def declare(handles: bool, begin: Callable[..., Any], end: Callable[..., Any], **more: Any) -> None:
    """A workflow `flow` of two steps."""
    methods = {
        "begin": step("begin", "Begins.", initial=True, next=["end"])(begin),
        "end": step("end", "Ends.", terminal=True)(end),
        **more,
    }
    workflow("flow", handles=handles)(type("Flow", (), methods))


def handle_of(result: Result) -> dict[str, Any]:
    return {"handle": result.structured["handle"]} if result.structured else {}


def is_empty() -> bool:
    return not runs._active and not runs._handles


BOTH = pytest.mark.parametrize("handles", [False, True], ids=["session", "handles"])


@BOTH
@pytest.mark.parametrize("is_plain", [False, True], ids=["async", "plain"])
def test_one_step_of_a_run_runs_at_a_time(handles: bool, is_plain: bool) -> None:
    entered, go = threading.Event(), threading.Event()
    count = 0

    def slow(self: Any) -> str:
        nonlocal count
        count += 1
        entered.set()
        assert go.wait(10)
        return "done"

    async def later(self: Any) -> str:
        return await asyncio.to_thread(slow, self)

    configure(concurrency=4)
    declare(handles, lambda self: "begun", slow if is_plain else later)
    with Harness() as tools:
        about = handle_of(tools.call("flow.begin"))
        first = tools.start("flow.end", **about)
        assert entered.wait(10)
        refused = tools.call("flow.end", **about)
        go.set()
        assert (refused.is_error, refused.text) == (True, "another step of this run has not ended")
        assert refused.error is not None
        assert (refused.error["error_code"], refused.error["retryable"]) == ("OUT_OF_ORDER", True)
        assert (first.result().text, count) == ("done", 1)
    assert is_empty()


@BOTH
def test_a_cancelled_run_does_not_come_back(handles: bool) -> None:
    entered, go = threading.Event(), threading.Event()

    async def slow(self: Any) -> str:
        entered.set()
        await asyncio.to_thread(go.wait, 10)
        return "done"

    declare(handles, lambda self: "begun", lambda self: "over", more=step("more", next=["end"])(slow))
    flow = get_registered_workflows()[0]
    flow.step("begin").next = ["more"]
    with Harness() as tools:
        about = handle_of(tools.call("flow.begin"))
        call = tools.start("flow.more", **about)
        assert entered.wait(10)
        assert tools.call("flow.cancel", **about).text == "Workflow 'flow' cancelled"
        go.set()
        result = call.result()
        assert (result.text, result.enable_tools, result.structured) == ("done", [], None)
        assert tools.call("flow.end", **about).text == "No active workflow 'flow' to continue"
    assert is_empty()


@BOTH
def test_a_first_step_that_fails_leaves_no_run(handles: bool) -> None:
    ways: dict[str, Callable[[], Any]] = {
        "error": lambda: ToolResult("no disk", is_error=True, error_code="NO_DISK"),
        "next": lambda: StepResult("", next=["begin"]),
        "raise": lambda: [].pop(),
        "odd": object,
    }
    declare(handles, lambda self, way: ways[way](), lambda self: "over")
    with Harness() as tools:
        for way in ways:
            assert tools.call("flow.begin", way=way).is_error
            assert is_empty()
        assert tools.call("flow.begin", way="error").error["error_code"] == "NO_DISK"  # type: ignore[index]


def test_a_session_has_one_run_of_a_workflow() -> None:
    def begin(self: Any, fails: bool = False) -> str:
        if fails:
            raise ToolError("no disk")
        return "begun"

    declare(False, begin, lambda self: "over")
    with Harness(session="") as tools:
        for fails in (False, False, True, False, True):
            tools.call("flow.begin", fails=fails)
            assert [len(each) for each in runs._active.values()] == [1]
        assert tools.call("flow.end").text == "over"
    assert is_empty()


@BOTH
def test_a_step_that_returns_an_error_may_be_repeated(handles: bool) -> None:
    results = [ToolResult("no disk", is_error=True, error_code="NO_DISK", retryable=True), "over"]
    declare(handles, lambda self: "begun", lambda self: results.pop(0))
    with Harness() as tools:
        about = handle_of(tools.call("flow.begin"))
        result = tools.call("flow.end", **about)
        assert (result.is_error, result.text) == (True, "no disk")
        assert result.error is not None and result.error["error_code"] == "NO_DISK"
        assert tools.call("flow.end", **about).text == "over"


@BOTH
def test_a_step_returns_any_content(handles: bool) -> None:
    @tool
    def other() -> str:
        return ""

    full = ToolResult(["a", Image(b"png")], structured_content={"a": 1}, meta={"b": 2}, enable_tools=["other"])
    declare(handles, lambda self: Image(b"png"), lambda self: full)
    with Harness() as tools:
        result = tools.call("flow.begin")
        assert [each["type"] for each in result.content] == (["image", "text"] if handles else ["image"])
        if handles:
            assert result.structured is not None
            assert result.text == f"handle: {result.structured['handle']}\nnext: flow.end"
        result = tools.call("flow.end", **handle_of(result))
        assert [each["type"] for each in result.content] == ["text", "image"]
        assert (result.structured, result.meta, result.enable_tools[0]) == ({"a": 1}, {"b": 2}, "other")


@BOTH
@pytest.mark.parametrize("is_plain", [False, True], ids=["async", "plain"])
def test_async_functions_at_the_end_are_awaited(handles: bool, is_plain: bool) -> None:
    ended = []

    async def on_complete(self: Any) -> None:
        await asyncio.sleep(0)
        ended.append("complete")

    async def on_cancel(self: Any) -> None:
        await asyncio.sleep(0)
        ended.append("cancel")

    async def end(self: Any) -> str:
        return "over"

    last: Any = (lambda self: "over") if is_plain else end
    declare(handles, lambda self: "begun", last, on_complete=on_complete, on_cancel=on_cancel)
    with Harness() as tools:
        assert tools.call("flow.end", **handle_of(tools.call("flow.begin"))).text == "over"
        about = handle_of(tools.call("flow.begin"))
        assert tools.call("flow.cancel", **about).text == "Workflow 'flow' cancelled"
    assert ended == ["complete", "cancel"]
    assert is_empty()


def test_on_error_knows_the_exception_in_a_group() -> None:
    class Group(Exception):
        exceptions = (LookupError("no disk"),)

    Group.__name__ = "ExceptionGroup"

    def begin(self: Any) -> str:
        raise Group

    marked = step("begin", initial=True, next=["end"], on_error={LookupError: "end"})(begin)
    end = step("end", terminal=True)(lambda self: "over")
    workflow("flow")(type("Flow", (), {"begin": marked, "end": end}))
    with Harness() as tools:
        text = "Error caught (LookupError: no disk), transitioning to 'end'"
        assert tools.call("flow.begin").text == text
        assert tools.call("flow.end").text == "over"


@BOTH
@pytest.mark.parametrize("is_plain", [False, True], ids=["async", "plain"])
def test_a_run_that_completes_takes_no_second_call(handles: bool, is_plain: bool) -> None:
    entered, go = threading.Event(), threading.Event()
    ended = []

    async def on_complete(self: Any) -> None:
        entered.set()
        await asyncio.to_thread(go.wait, 10)
        ended.append("complete")

    async def end(self: Any) -> str:
        return "over"

    declare(handles, lambda self: "begun", (lambda self: "over") if is_plain else end, on_complete=on_complete)
    configure(concurrency=4)
    with Harness() as tools:
        about = handle_of(tools.call("flow.begin"))
        first = tools.start("flow.end", **about)
        assert entered.wait(10)
        refused = tools.call("flow.end", **about)
        go.set()
        assert (refused.is_error, refused.text) == (True, "another step of this run has not ended")
        assert first.result().text == "over"
    assert (ended, is_empty()) == (["complete"], True)


@BOTH
@pytest.mark.parametrize("is_plain", [False, True], ids=["async", "plain"])
def test_a_run_that_is_cancelled_takes_no_second_call(handles: bool, is_plain: bool) -> None:
    entered, go = threading.Event(), threading.Event()
    ended = []

    def slow(self: Any) -> None:
        entered.set()
        assert go.wait(10)
        ended.append("cancel")

    async def later(self: Any) -> None:
        await asyncio.to_thread(slow, self)

    configure(concurrency=4)
    declare(handles, lambda self: "begun", lambda self: "over", on_cancel=slow if is_plain else later)
    with Harness() as tools:
        about = handle_of(tools.call("flow.begin"))
        first = tools.start("flow.cancel", **about)
        assert entered.wait(10)
        refused = [tools.call(f"flow.{name}", **about).text for name in ("cancel", "end")]
        go.set()
        assert refused == [f"No active workflow 'flow' to {each}" for each in ("cancel", "continue")]
        assert first.result().text == "Workflow 'flow' cancelled"
    assert (ended, is_empty()) == (["cancel"], True)


@BOTH
@pytest.mark.parametrize("is_plain", [False, True], ids=["async", "plain"])
def test_a_run_goes_on_when_its_cancellation_fails(handles: bool, is_plain: bool) -> None:
    def fail(self: Any) -> None:
        raise ToolError("no disk")

    async def fail_later(self: Any) -> None:
        await asyncio.sleep(0)
        raise ToolError("no disk")

    declare(handles, lambda self: "begun", lambda self: "over", on_cancel=fail if is_plain else fail_later)
    with Harness() as tools:
        about = handle_of(tools.call("flow.begin"))
        assert tools.call("flow.cancel", **about).text == "no disk"
        assert tools.call("flow.end", **about).text == "over"
    assert is_empty()


@BOTH
@pytest.mark.parametrize("fails", [False, True], ids=["works", "fails"])
def test_a_step_may_end_during_a_cancellation(handles: bool, fails: bool) -> None:
    entered = [threading.Event(), threading.Event()]
    go = [threading.Event(), threading.Event()]

    async def pause(number: int) -> None:
        entered[number].set()
        assert await asyncio.to_thread(go[number].wait, 10)

    async def more(self: Any) -> str:
        await pause(0)
        return "done"

    async def on_cancel(self: Any) -> None:
        await pause(1)
        if fails:
            raise ToolError("no disk")

    functions = {"more": step("more", next=["end"])(more), "on_cancel": on_cancel}
    declare(handles, lambda self: "begun", lambda self: "over", **functions)
    get_registered_workflows()[0].step("begin").next = ["more"]
    with Harness() as tools:
        about = handle_of(tools.call("flow.begin"))
        call = tools.start("flow.more", **about)
        assert entered[0].wait(10)
        cancel = tools.start("flow.cancel", **about)
        assert entered[1].wait(10)
        go[0].set()
        result = call.result()
        assert result.structured is not None if handles else "flow.end" in result.enable_tools
        go[1].set()
        assert cancel.result().text == ("no disk" if fails else "Workflow 'flow' cancelled")
        after = tools.call("flow.end", **about).text
        assert after == ("over" if fails else "No active workflow 'flow' to continue")
    assert is_empty()


@pytest.mark.parametrize("fails", [False, True], ids=["works", "fails"])
def test_a_first_step_may_fail_during_a_cancellation(fails: bool) -> None:
    entered = [threading.Event(), threading.Event()]
    go = [threading.Event(), threading.Event()]

    async def begin(self: Any) -> str:
        entered[0].set()
        assert await asyncio.to_thread(go[0].wait, 10)
        raise ToolError("no file")

    async def on_cancel(self: Any) -> None:
        entered[1].set()
        assert await asyncio.to_thread(go[1].wait, 10)
        if fails:
            raise ToolError("no disk")

    declare(False, begin, lambda self: "over", on_cancel=on_cancel)
    with Harness() as tools:
        call = tools.start("flow.begin")
        assert entered[0].wait(10)
        cancel = tools.start("flow.cancel")
        assert entered[1].wait(10)
        go[0].set()
        assert call.result().is_error
        assert is_empty()
        go[1].set()
        assert cancel.result().text == ("no disk" if fails else "Workflow 'flow' cancelled")


@BOTH
def test_structured_content_of_a_step_is_an_object(handles: bool) -> None:
    wrong = ToolResult("over", structured_content=[1])  # type: ignore[arg-type]
    results = [wrong, ToolResult("over", structured_content={"a": 1})]
    declare(handles, lambda self: "begun", lambda self: results.pop(0))
    with Harness() as tools:
        about = handle_of(tools.call("flow.begin"))
        result = tools.call("flow.end", **about)
        assert (result.is_error, result.text) == (True, "structured_content must be a JSON object")
        assert tools.call("flow.end", **about).structured == {"a": 1}
