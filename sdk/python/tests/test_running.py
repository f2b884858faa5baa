"""The threads of handlers: overlapping calls, answers during a call, cancellations."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from protomcp import AsyncContext, Depends, ToolContext, configure, lifespan, tool, tool_manager
from protomcp._wire import CallToolRequest, Envelope, write_envelope
from protomcp.errors import Cancelled
from protomcp.testing import Harness

MANY = 64


def test_async_handlers_wait_together() -> None:
    """None of them ends before all have begun."""
    begun = 0
    all_begun = asyncio.Event()

    @tool
    async def wait() -> str:
        nonlocal begun
        begun += 1
        if begun == MANY:
            all_begun.set()
        await all_begun.wait()
        return "done"

    with Harness() as tools:
        calls = [tools.start(wait) for _ in range(MANY)]
        assert {each.result().text for each in calls} == {"done"}


def test_plain_handlers_run_one_at_a_time_on_one_thread() -> None:
    running, most, threads = 0, 0, set()

    @tool
    def work() -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        threads.add(threading.get_ident())
        time.sleep(0.003)
        running -= 1
        return "done"

    with Harness() as tools:
        calls = [tools.start(work) for _ in range(20)]
        assert {each.result().text for each in calls} == {"done"}
    assert most == 1 and len(threads) == 1


@pytest.mark.parametrize("by", ["tool", "configure"])
def test_plain_handlers_overlap_if_they_say_so(by: str) -> None:
    barrier = threading.Barrier(MANY)
    if by == "configure":
        configure(concurrency=MANY)

    @tool(concurrent=True if by == "tool" else None)
    def wait() -> str:
        barrier.wait(30)
        return "done"

    with Harness() as tools:
        calls = [tools.start(wait) for _ in range(MANY)]
        assert {each.result().text for each in calls} == {"done"}


@pytest.mark.parametrize("has_loop", [False, True])
def test_lists_are_answered_and_calls_kept_while_a_plain_handler_works(has_loop: bool) -> None:
    ends = threading.Event()
    order = []

    @tool
    def slow() -> str:
        assert ends.wait(30)
        order.append("slow")
        return "slow"

    @tool
    def fast() -> str:
        order.append("fast")
        return "fast"

    if has_loop:

        @tool
        async def other() -> str:
            return "other"

    with Harness() as tools:
        first = tools.start(slow)
        assert tools.prompts() == []
        second = tools.start(fast)
        assert tools.resources() == []
        assert order == []
        ends.set()
        assert (first.result().text, second.result().text) == ("slow", "fast")
        assert order == ["slow", "fast"]
        # The main thread reads again.
        assert [tools.call(fast).text for _ in range(200)] == ["fast"] * 200


def test_plain_handlers_are_quick_and_stuck_in_turns() -> None:
    """The two threads hand the reading over and back, again and again."""

    @tool
    def nap(ms: int) -> int:
        time.sleep(ms / 1000)
        return ms

    with Harness() as tools:
        for round in range(12):
            calls = [tools.start(nap, ms=(5 if (round + at) % 4 == 0 else 0)) for at in range(12)]
            assert [each.result().text for each in calls] == ["5" if (round + at) % 4 == 0 else "0" for at in range(12)]


def test_a_cancelled_async_handler_stops() -> None:
    ended = threading.Event()
    begun = threading.Event()

    @tool
    async def wait() -> None:
        try:
            begun.set()
            await asyncio.sleep(600)
        finally:
            ended.set()

    with Harness() as tools:
        call = tools.start(wait)
        assert begun.wait(30)
        call.cancel()
        assert ended.wait(30)
        assert call.result().is_error


def test_a_plain_handler_can_ask_for_its_cancellation() -> None:
    seen = []
    begun = threading.Event()

    @tool
    def spin(ctx: ToolContext) -> None:
        try:
            begun.set()
            while True:
                ctx.check()
                time.sleep(0.001)
        except Cancelled:
            seen.append("cancelled")
            raise

    with Harness() as tools:
        call = tools.start(spin)
        assert begun.wait(30)
        call.cancel()
        assert call.result().is_error
    assert seen == ["cancelled"]


def test_the_end_of_the_connection_cancels_handlers() -> None:
    seen = []
    begun = threading.Event()

    @tool
    async def wait() -> None:
        try:
            begun.set()
            await asyncio.sleep(600)
        finally:
            seen.append("ended")

    with Harness() as tools:
        tools.start(wait)
        assert begun.wait(30)
        assert tools.prompts() == []
    assert seen == ["ended"]


def test_handlers_of_both_kinds_see_their_own_context() -> None:
    @tool
    async def waits(ctx: AsyncContext) -> str:
        await asyncio.sleep(0.001)
        ctx.log.info("from async")
        return ctx.request_id

    @tool
    def plain(ctx: ToolContext) -> str:
        ctx.log.info("from plain")
        return ctx.request_id

    with Harness() as tools:
        calls = [tools.start(waits if at % 2 else plain) for at in range(20)]
        assert [each.result().text for each in calls] == [each.id for each in calls]
        assert len(tools.logs) == 20


def test_a_lifespan_surrounds_the_calls() -> None:
    steps = []

    @lifespan
    def connection() -> Iterator[None]:
        steps.append("open")
        yield
        steps.append("close")

    @tool
    def use() -> None:
        steps.append("use")

    with Harness() as tools:
        tools.call(use)
    assert steps == ["open", "use", "close"]


def test_an_error_of_a_handler_is_an_error_of_its_call() -> None:
    @tool
    def fail(how: str) -> None:
        if how == "exit":
            raise SystemExit(3)
        raise LookupError(how)

    with Harness() as tools:
        assert tools.call(fail, how="exit").text == "the tool has called sys.exit(3)"
        assert tools.call(fail, how="not here").text == "LookupError: not here"
        assert tools.call("missing").text == "Tool not found: missing"


def test_large_results_arrive_whole() -> None:
    @tool
    def large(size: int, fails: bool = False) -> str:
        if fails:
            raise ValueError("x" * size)
        return "é" * size

    with Harness() as tools:
        for size in (10, 20_000, 40_000, 70_000, 3_000_000):
            assert tools.call(large, size=size).text == "é" * size
            failed = tools.call(large, size=size, fails=True)
            assert failed.is_error and failed.text == "ValueError: " + "x" * size


def test_the_manager_needs_a_connection() -> None:
    with pytest.raises(RuntimeError, match="not connected"):
        tool_manager.enable(["a"])


@pytest.mark.parametrize("is_concurrent", [False, True])
def test_a_ping_is_answered_while_a_plain_handler_runs(is_concurrent: bool) -> None:
    end = threading.Event()

    @tool(concurrent=is_concurrent)
    def wait() -> str:
        return "done" if end.wait(30) else "nothing"

    with Harness() as tools:
        call = tools.start(wait)
        tools.ping()
        end.set()
        assert call.result().text == "done"


def test_a_ping_is_answered_while_a_handler_asks() -> None:
    end = threading.Event()

    @tool
    def ask(ctx: ToolContext) -> str:
        return str(ctx.ask("Go on?", {"type": "object", "properties": {}}).action)

    def answer(message: str, form: object) -> dict[str, object] | None:
        return {} if end.wait(30) else None

    with Harness(ask=answer) as tools:
        call = tools.start(ask)
        tools.ping()
        end.set()
        assert call.result().text == "accept"


def test_the_log_names_the_plain_handler_that_many_calls_wait_for(capfd: pytest.CaptureFixture[str]) -> None:
    release = threading.Event()

    @tool
    def slow() -> str:
        return "slow" if release.wait(30) else "never"

    @tool
    def fast() -> str:
        return "fast"

    @tool
    async def wait() -> None:
        """Where no handler overlaps another one, calls wait in the bridge."""

    def hint() -> list[str]:
        return [line for line in capfd.readouterr().err.splitlines() if line.startswith("protomcp: ")]

    with Harness() as tools:
        for waiting in (7, 8, 20):
            release.clear()
            calls = [tools.start(slow), *(tools.start(fast) for _ in range(waiting))]
            # It is answered after those calls have been read.
            tools.ping()
            release.set()
            assert [each.result().text for each in calls] == ["slow", *["fast"] * waiting]
            told = hint()
            assert len(told) == (waiting == 8)
            assert not told or told[0].startswith("protomcp: 8 calls wait for tool 'slow', a plain handler. ")


def send_together(tools: Harness, *names: str) -> list[str]:
    """Calls that arrive in one piece; returns their ids."""
    ids = [f"together-{at}" for at in range(len(names))]
    frames = [
        write_envelope(Envelope("call_tool", CallToolRequest(name, "{}", id), id))
        for name, id in zip(names, ids, strict=True)
    ]
    tools._stream.sendall(b"".join(frames))
    return ids


@pytest.mark.parametrize("has_loop", [False, True])
@pytest.mark.parametrize("slow", ["sleeps", "asks", "reports"])
def test_an_answer_does_not_wait_for_a_slow_handler(has_loop: bool, slow: str) -> None:
    """Answers that are ready together go out together, and none waits for a handler behind it."""
    end = threading.Event()

    @tool
    def fast() -> str:
        return "fast"

    @tool
    def sleeps() -> str:
        return "slow" if end.wait(30) else "never"

    @tool
    def asks(ctx: ToolContext) -> str:
        return "slow" if ctx.ask("Go on?") else "never"

    @tool
    def reports(ctx: ToolContext) -> str:
        ctx.report_progress(1)
        return "slow" if end.wait(30) else "never"

    if has_loop:

        @tool
        async def other() -> None: ...

    def answer(message: str, form: object) -> dict[str, object] | None:
        return {} if end.wait(30) else None

    with Harness(ask=answer) as tools:
        first, second, third, last = send_together(tools, "fast", "fast", slow, "fast")
        for id in (first, second):
            assert "fast" in tools._answer(id, 30.0).result_json
        tools.ping()
        end.set()
        assert "slow" in tools._answer(third, 30.0).result_json
        assert "fast" in tools._answer(last, 30.0).result_json


@pytest.mark.parametrize("is_async", [False, True])
def test_many_calls_in_one_piece_are_answered(is_async: bool) -> None:
    @tool(name="work")
    def work() -> str:
        return "x" * 2000

    @tool(name="later")
    async def later() -> str:
        await asyncio.sleep(0)
        return "y" * 2000

    with Harness() as tools:
        for _ in range(3):
            for id in send_together(tools, *["later" if is_async else "work"] * 200):
                assert len(tools._answer(id, 30.0).result_json) > 2000


def test_a_plain_handler_has_its_own_loop_next_to_async_ones() -> None:
    async def inner() -> str:
        await asyncio.sleep(0)
        return "done"

    @tool
    def plain() -> str:
        return asyncio.run(inner())

    @tool
    def slow() -> str:
        time.sleep(0.01)
        return asyncio.run(inner())

    @tool
    def returned() -> Any:
        return inner()

    @tool
    async def later() -> str:
        task = asyncio.get_running_loop().create_task(inner())
        return await task

    with Harness() as tools:
        calls = [tools.start(each) for _ in range(5) for each in (plain, slow, later, returned, plain, later)]
        assert {each.result().text for each in calls} == {"done"}


def test_a_loop_of_a_plain_handler_leaves_the_other_one() -> None:
    async def inner() -> str:
        await asyncio.sleep(0)
        return "done"

    @tool
    def gathered() -> Any:
        return asyncio.gather(inner(), inner())

    @tool
    def looked() -> bool:
        return not asyncio.get_event_loop().is_closed()

    @tool
    def plain() -> str:
        return asyncio.run(inner())

    @tool
    async def later() -> str:
        return await inner()

    with Harness() as tools:
        for _ in range(2):
            assert tools.call(gathered).text == '["done","done"]'
            assert tools.call(looked).structured == {"result": True}
            assert tools.call(plain).text == tools.call(later).text == "done"


def test_values_last_until_an_async_wrapper_has_ended() -> None:
    order = []

    def provide() -> Iterator[str]:
        order.append("open")
        yield "value"
        order.append("close")

    def wrap(function: Any) -> Any:
        @functools.wraps(function)
        async def call(*arguments: Any, **named: Any) -> Any:
            await asyncio.sleep(0)
            order.append("call")
            return function(*arguments, **named)

        return call

    @tool
    @wrap
    def use(value: str = Depends(provide)) -> str:
        return value

    with Harness() as tools:
        assert tools.call(use).text == "value"
    assert order == ["open", "call", "close"]
