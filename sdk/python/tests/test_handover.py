"""State that survives a reload."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from protomcp import AsyncContext, ToolContext, hand_over, take_over, tool
from protomcp.errors import Cancelled
from protomcp.handover import STATE_MAX, clear_handover
from protomcp.testing import Harness


@dataclass
class Basket:
    owner: str
    items: list[str]


@pytest.mark.parametrize("has_loop", [False, True])
def test_the_state_goes_from_one_process_to_the_next(has_loop: bool) -> None:
    basket = Basket("ann", [])
    threads = set()

    @tool
    def put(item: str) -> int:
        threads.add(threading.get_ident())
        basket.items.append(item)
        return len(basket.items)

    if has_loop:

        @tool
        async def other() -> str:
            return "done"

    @hand_over
    def give() -> Basket:
        threads.add(threading.get_ident())
        return basket

    @take_over
    def take(state: Basket) -> None:
        nonlocal basket
        basket = state

    with Harness() as tools:
        assert tools.call(put, item="tea").text == "1"
        state = tools.hand_over()
        assert tools.call(put, item="cake").text == "2", "it serves on"
    assert state == {"owner": "ann", "items": ["tea"]}
    assert len(threads) == 1
    with Harness() as tools:
        tools.take_over(state)
        assert tools.call(put, item="jam").text == "2"
        with pytest.raises(RuntimeError, match="the state does not fit"):
            tools.take_over({"owner": 1})
        assert tools.call(put, item="bun").text == "3", "it serves without the state"


def test_async_functions_hand_over_too() -> None:
    seen: list[Any] = []

    @hand_over
    async def give() -> int:
        await asyncio.sleep(0)
        return 7

    @take_over
    async def take(state: int) -> None:
        await asyncio.sleep(0)
        seen.append(state)

    with Harness() as tools:
        tools.take_over(tools.hand_over())
    assert seen == [7]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_cancelled_call_ends_before_the_state_is_read(is_async: bool) -> None:
    begun, state = threading.Event(), ["begun"]

    if is_async:

        @tool(name="work")
        async def awaits(ctx: AsyncContext) -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.05)
                state.append("ended")
            return "never"
    else:

        @tool(name="work")
        def spins(ctx: ToolContext) -> str:
            begun.set()
            try:
                while True:
                    ctx.check()
            except Cancelled:
                state.append("ended")
                raise

    @hand_over
    def give() -> list[str]:
        return state

    with Harness() as tools:
        call = tools.start("work")
        assert begun.wait(30)
        call.cancel()
        assert tools.hand_over() == ["begun", "ended"]


def test_a_state_that_cannot_be_handed_over_has_a_reason() -> None:
    def refuses(give: Any, reason: str) -> None:
        hand_over(give)
        with Harness() as tools, pytest.raises(RuntimeError, match=reason):
            tools.hand_over()

    refuses(lambda: 1 / 0, "ZeroDivisionError")
    refuses(lambda: object(), "has no form in JSON")
    # A text in JSON has two quotes.
    refuses(lambda: "x" * (STATE_MAX - 1), "the state has 1048577 bytes, more than the limit of 1048576")
    hand_over(lambda: "x" * (STATE_MAX - 2))
    with Harness() as tools:
        assert len(tools.hand_over()) == STATE_MAX - 2
    clear_handover()
    with Harness() as tools:
        assert tools.hand_over() is None
        with pytest.raises(RuntimeError, match="no function"):
            tools.take_over(1)


def test_only_a_file_with_a_state_announces_it() -> None:
    def features() -> list[str]:
        with Harness() as tools:
            return list(next(each.message.features for each in tools.sent if each.kind == "sdk_info"))

    assert "hand-over" not in features()
    hand_over(lambda: 1)
    assert "hand-over" in features()
