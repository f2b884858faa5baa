"""Unexpected errors of handlers: the type and the text are in the answer, the traceback and the name in the log."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protomcp import (
    ToolError,
    action,
    completion,
    hand_over,
    middleware,
    prompt,
    resource,
    resource_template,
    runner,
    step,
    take_over,
    tool,
    tool_group,
    workflow,
)
from protomcp._wire import (
    MiddlewareInterceptRequest,
    TaskResultRequest,
    TaskStatusRequest,
)
from protomcp.testing import Harness


def broken(*arguments: Any, **named: Any) -> Any:
    raise ValueError("no disk")


def test_an_unexpected_error_is_named_wherever_it_is_raised(capfd: pytest.CaptureFixture[str]) -> None:
    tool(name="plain")(broken)
    tool(name="task", task_required=True)(broken)
    resource("a://b")(lambda: broken())
    resource_template("a://c/{d}")(lambda d: broken())
    prompt(name="ask")(lambda: broken())
    completion("ref/prompt", "ask", "x")(lambda typed: broken())
    middleware("around")(broken)
    hand_over(broken)
    take_over(lambda state: broken())
    tool_group("shapes")(type("Shapes", (), {"square": action("square")(lambda self: broken())}))
    begin = step("begin", initial=True, terminal=True)(lambda self: "")
    workflow("flow")(type("Flow", (), {"begin": begin, "on_complete": broken}))

    def intercepted() -> str:
        request = MiddlewareInterceptRequest("around", "before", "plain")
        return str(tools._request("middleware_intercept", request).reject_reason)

    def task() -> str:
        call = tools.start("task")
        tools._answer(call.id, 30.0)
        while tools._request("task_status", TaskStatusRequest(call.id)).state == "running":
            time.sleep(0.005)
        return str(json.loads(tools._request("task_result", TaskResultRequest(call.id)).result_json)[0]["text"])

    cases: list[tuple[str, Callable[[], object]]] = [
        ("tool 'plain'", lambda: tools.call("plain").text),
        ("tool 'task'", task),
        ("tool 'shapes.square'", lambda: tools.call("shapes.square").text),
        ("tool 'flow.begin'", lambda: tools.call("flow.begin").text),
        ("resource 'a://b'", lambda: tools.read("a://b")),
        ("resource 'a://c/d'", lambda: tools.read("a://c/d")),
        ("prompt 'ask'", lambda: tools.get("ask")),
        ("completion of 'x' of 'ask'", lambda: tools.complete("ref/prompt", "ask", "x", "")),
        ("middleware 'around' of tool 'plain'", intercepted),
        ("the function of hand_over", lambda: tools.hand_over()),
        ("the function of take_over", lambda: tools.take_over(1)),
    ]
    with Harness() as tools:
        capfd.readouterr()
        for about, use in cases:
            try:
                answer = str(use())
            except Exception as error:
                answer = str(error)
            said = capfd.readouterr().err
            assert answer.endswith("ValueError: no disk") and "Traceback" not in answer, answer
            assert said.count(f"protomcp: {about} has failed\nTraceback (most recent call last):\n") == 1, said
            assert 'raise ValueError("no disk")' in said and "_work.py" not in said, said


def test_an_error_that_is_meant_for_the_caller_has_no_type(capfd: pytest.CaptureFixture[str]) -> None:
    @resource_template("a://{b}")
    def read(b: int) -> str:
        raise ToolError("there is none")

    @prompt
    def ask(b: int) -> str:
        raise ToolError("no such topic")

    with Harness() as tools:
        for use, text in (
            (lambda: tools.read("a://1"), "there is none"),
            (lambda: tools.read("a://x"), 'invalid arguments for resource template "read":'),
            (lambda: tools.get("ask", b="1"), "no such topic"),
            (lambda: tools.get("ask"), 'invalid arguments for prompt "ask":'),
            (lambda: tools.get("other"), "Prompt not found: other"),
        ):
            with pytest.raises(Exception, match=text) as found:
                use()
            assert "Error:" not in str(found.value) and "InvalidArguments" not in str(found.value)
    assert capfd.readouterr().err == ""


def test_a_long_chain_of_causes_is_cut(capfd: pytest.CaptureFixture[str]) -> None:
    @tool
    def fail() -> None:
        error = ValueError("cause 0")
        for number in range(1, 100_000):
            error, before = ValueError(f"cause {number}"), error
            error.__cause__ = before
        chains.append(error.__cause__)
        raise error

    chains: list[BaseException | None] = []
    with Harness() as tools:
        assert tools.call(fail).text == "ValueError: cause 99999"
    said = capfd.readouterr().err
    assert "99,989 earlier causes are left out" in said and said.count("ValueError: ") == 11
    assert "cause 99989\n" in said and "cause 99988\n" not in said
    (error,) = chains
    for _ in range(10):
        assert error is not None
        error = error.__cause__
    assert str(error) == "cause 99988", "the exceptions stay as they are"


def test_a_long_text_is_cut_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    @tool
    def fail() -> None:
        raise ValueError("x" * 100_000)

    with Harness() as tools:
        assert tools.call(fail).text == "ValueError: " + "x" * 100_000
    said = capfd.readouterr().err
    assert "more characters)" in said and len(said) < 30_000


def test_an_interrupt_has_no_way_through_the_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place in the handler has been reported."""

    def serve(stream: object) -> None:
        raise KeyboardInterrupt

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        monkeypatch.setenv("PROTOMCP_SOCKET", str(tmp_path / "s"))
        monkeypatch.setattr(runner, "serve", serve)
        with pytest.raises(KeyboardInterrupt) as caught:
            runner.run()
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "run"


def test_a_tool_error_takes_an_exception() -> None:
    @tool
    def fail() -> str:
        raise ToolError(ValueError("no disk"), code=None, suggestion=ValueError("buy one"))  # type: ignore[arg-type]

    with Harness() as tools:
        result = tools.call(fail)
        assert (result.is_error, result.text) == (True, "no disk")
        assert result.error is not None
        assert (result.error["error_code"], result.error["suggestion"]) == ("", "buy one")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="TaskGroup comes with Python 3.11")
def test_a_group_of_one_exception_is_that_exception() -> None:
    async def broken() -> None:
        raise ToolError("no disk", code="NO_DISK")

    @tool
    async def work() -> str:
        async with asyncio.TaskGroup() as outer:  # type: ignore[attr-defined,unused-ignore]
            async with asyncio.TaskGroup() as inner:  # type: ignore[attr-defined,unused-ignore]
                inner.create_task(broken())
            outer.create_task(broken())
        return ""

    with Harness() as tools:
        result = tools.call(work)
        assert result.error is not None
        assert (result.text, result.error["error_code"]) == ("no disk", "NO_DISK")
