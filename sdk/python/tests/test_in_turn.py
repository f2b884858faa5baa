"""Handlers that run one at a time: their announcement, and the order of answers."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable

import pytest

from protomcp import configure, lifespan, resource, tool
from protomcp.testing import Harness


def concurrent() -> None:
    @tool(concurrent=True)
    def overlap() -> str:
        return "overlapped"


def asynchronous() -> None:
    @tool
    async def wait() -> str:
        return "waited"


def asynchronous_resource() -> None:
    @resource("notes://all")
    async def notes() -> str:
        return "notes"


def asynchronous_lifespan() -> None:
    @lifespan
    async def around() -> AsyncIterator[None]:
        yield


def several_threads() -> None:
    configure(concurrency=2)


def features() -> list[str]:
    with Harness() as tools:
        [info] = [each.message for each in tools.sent if each.kind == "sdk_info"]
    return list(info.features)


@pytest.mark.parametrize(
    "other", [None, concurrent, asynchronous, asynchronous_resource, asynchronous_lifespan, several_threads]
)
def test_only_a_file_whose_handlers_cannot_overlap_announces_it(other: Callable[[], None] | None) -> None:
    if other is not None:
        other()

    @tool
    def plain() -> str:
        return "plain"

    assert ("in-turn" in features()) == (other is None)


def test_a_file_without_a_tool_says_nothing_of_those_that_come() -> None:
    assert "in-turn" not in features()


def test_a_call_of_an_unknown_tool_is_refused_in_its_turn() -> None:
    """The bridge so learns when the handler of a cancelled call has ended."""
    release = threading.Event()

    @tool
    def slow() -> str:
        return "slow" if release.wait(30) else "never"

    with Harness() as tools:
        first, second = tools.start(slow), tools.start("missing")
        # It is answered after those calls have been read.
        tools.ping()
        with pytest.raises(TimeoutError):
            second.result(0)
        release.set()
        assert first.result().text == "slow"
        assert second.result().text == "Tool not found: missing"


def test_a_call_of_an_unknown_tool_waits_for_a_thread_as_well() -> None:
    configure(concurrency=2)
    begun, release = threading.Semaphore(0), threading.Event()

    @tool
    def slow() -> str:
        begun.release()
        return "slow" if release.wait(30) else "never"

    with Harness() as tools:
        running = [tools.start(slow), tools.start(slow)]
        waiting = tools.start(slow)
        assert begun.acquire(timeout=30) and begun.acquire(timeout=30)
        running[0].cancel()
        assert tools.call("missing").text == "Tool not found: missing", "the other one has its time"
        running[1].cancel()
        refused = tools.start("missing")
        tools.ping()
        with pytest.raises(TimeoutError):
            refused.result(0)
        release.set()
        assert refused.result().text == "Tool not found: missing"
        assert waiting.result().text == "slow"


def test_it_waits_for_no_call_that_comes_later() -> None:
    configure(concurrency=2)
    first, later = threading.Event(), threading.Event()

    @tool(concurrent=False)
    def alone() -> str:
        return "alone" if first.wait(30) else "never"

    @tool
    def slow() -> str:
        return "slow" if later.wait(30) else "never"

    with Harness() as tools:
        running = tools.start(alone)
        refused = tools.start("missing")
        others = [tools.start(slow), tools.start(slow)]
        tools.ping()
        first.set()
        assert running.result().text == "alone"
        assert refused.result().text == "Tool not found: missing"
        later.set()
        assert [each.result().text for each in others] == ["slow", "slow"]
