"""Calls that are cancelled or fail in unusual ways, and the end of the connection: nothing hangs, nothing is left."""

from __future__ import annotations

import asyncio
import gc
import io
import itertools
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from protomcp import (
    ToolContext,
    _tasks,
    configure,
    discover_handlers,
    lifespan,
    sidecar,
    telemetry_sink,
    tool,
    tool_manager,
)
from protomcp._wire import (
    CallToolRequest,
    CallToolResponse,
    Envelope,
    RawHeader,
)
from protomcp.sidecar import _running_processes, stop_all_sidecars
from protomcp.testing import Harness

NO_FORM = {"type": "object", "properties": {}}


class Patience:
    """A user who answers when the test says so."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.end = threading.Event()

    def __call__(self, message: str, form: Any) -> dict[str, Any] | None:
        self.asked.set()
        return {} if self.end.wait(30) else None


@pytest.fixture
def user() -> Iterator[Patience]:
    patience = Patience()
    yield patience
    patience.end.set()


@pytest.fixture
def sidecars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder with the numbers of their processes."""
    monkeypatch.setenv("HOME", str(tmp_path))
    yield tmp_path / ".protomcp/sidecars"
    stop_all_sidecars()


@pytest.mark.parametrize("is_concurrent", [False, True])
def test_a_call_that_is_cancelled_in_the_queue_never_runs(is_concurrent: bool) -> None:
    end, ran = threading.Event(), []
    if is_concurrent:
        configure(concurrency=2)

    @tool
    def slow() -> bool:
        return end.wait(30)

    @tool
    def other() -> None:
        ran.append("other")

    with Harness() as tools:
        first = [tools.start(slow) for _ in range(2)]
        tools.ping()
        queued = tools.start(other)
        tools.ping()
        queued.cancel()
        tools.ping()
        end.set()
        assert [each.result().structured for each in first] == [{"result": True}] * 2
        assert queued.result().is_error
    assert ran == []


@pytest.mark.parametrize("has_loop", [False, True])
@pytest.mark.parametrize("is_concurrent", [False, True])
def test_the_end_of_the_connection_reaches_plain_handlers(has_loop: bool, is_concurrent: bool) -> None:
    seen: list[bool] = []
    began = threading.Event()

    @tool(concurrent=is_concurrent)
    def work(ctx: ToolContext) -> None:
        began.set()
        for _ in range(6000):
            if ctx.is_cancelled():
                break
            time.sleep(0.005)
        seen.append(ctx.is_cancelled())

    if has_loop:

        @tool
        async def other() -> None: ...

    @lifespan
    def connection() -> Iterator[None]:
        yield
        seen.append(False)

    with Harness() as tools:
        tools.start(work)
        assert began.wait(30)
    assert seen == [True, False], "the handler first, what it uses afterwards"


def test_the_end_of_the_connection_reaches_handlers_that_ask(user: Patience) -> None:
    seen = []

    @tool
    def ask(ctx: ToolContext) -> None:
        try:
            ctx.ask("Go on?", NO_FORM)
        finally:
            seen.append("ended")

    with Harness(ask=user) as tools:
        tools.start(ask)
        assert user.asked.wait(120)
    assert seen == ["ended"]


def test_a_cancelled_handler_stops_asking(user: Patience) -> None:
    @tool
    def ask(ctx: ToolContext) -> str:
        return ctx.ask("Go on?", NO_FORM).action

    @tool
    def other() -> str:
        return "other"

    with Harness(ask=user) as tools:
        call = tools.start(ask)
        assert user.asked.wait(120)
        call.cancel()
        assert call.result().text == "the call was cancelled"
        assert tools.call(other).text == "other"


def test_async_handlers_may_use_what_waits() -> None:
    """A plain context, and `tool_manager`, wait in the loop; another thread reads the answers."""

    @tool
    async def ask(ctx: ToolContext) -> str:
        return ctx.ask("Go on?", NO_FORM).action

    @tool
    async def other() -> str:
        return "other"

    with Harness(ask=lambda *_: {}) as tools:
        for _ in range(10):
            calls = [tools.start(ask), tools.start(other), tools.start(ask)]
            assert [each.result().text for each in calls] == ["accept", "other", "accept"]


def test_a_manager_that_gets_no_answer_holds_up_no_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_manager, "TIMEOUT", 0.2)

    @tool
    async def enable() -> list[str]:
        return tool_manager.enable(["a"])

    with Harness() as tools:
        call = tools.start(enable)
        tools.ping()
        assert "has not answered enable_tools" in call.result().text


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("there is no text")


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Unnamed(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("there is no name")


class Nameless(Exception, metaclass=Unnamed):
    pass


@pytest.mark.parametrize(
    "error",
    [
        Silent(),
        Leaving(),
        Nameless(),
        SystemExit(3),
        KeyboardInterrupt("stop"),
        GeneratorExit(),
        asyncio.CancelledError(),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "concurrent", "async"])
def test_any_exception_is_an_answer(error: BaseException, kind: str) -> None:
    @tool(concurrent=kind == "concurrent")
    def fail() -> None:
        raise error

    @tool
    async def fail_later() -> None:
        raise error

    with Harness() as tools:
        assert tools.call(fail_later if kind == "async" else fail).is_error
        assert tools.call(fail_later if kind == "async" else fail).is_error


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_an_error_is_an_answer_where_the_log_is_closed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def fail() -> None:
        raise ValueError("no disk")

    @tool
    async def fail_later() -> None:
        raise ValueError("no disk")

    log = io.StringIO()
    log.close()
    monkeypatch.setattr(sys, "stderr", log)
    with Harness() as tools:
        assert tools.call(fail_later if kind == "async" else fail).text == "ValueError: no disk"


def test_an_unexpected_error_is_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    @tool
    def price(item: str) -> float:
        return {"tea": 2.5}[item]

    with Harness() as tools:
        assert tools.call(price, item="cake").text == "KeyError: 'cake'"
        said = capfd.readouterr().err
        assert "tool 'price' has failed" in said and 'return {"tea": 2.5}[item]' in said
        assert "_work.py" not in said, "the author's code alone"
        assert tools.call(price, cake=1).is_error
        assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("value", "promise", "message"),
    [
        ({"now": object()}, dict, "a value of type object has no form in JSON"),
        (float("nan"), float, "Out of range float values"),
        ([1, object()], list[int], "a value of type object has no form in JSON"),
    ],
)
def test_a_result_without_a_form_is_one_line(
    value: Any, promise: Any, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def work() -> Any:
        return value

    work.__annotations__["return"] = promise
    tool(work)
    with Harness() as tools:
        failed = tools.call(work)
    assert failed.is_error and failed.text.startswith(f"the result has no form in JSON: {message}")
    assert capfd.readouterr().err.startswith(f"protomcp: tool 'work': the result has no form in JSON: {message}")


@pytest.mark.parametrize("has_loop", [False, True])
def test_a_plain_handler_may_return_an_awaitable(has_loop: bool) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def later(seconds: float) -> str:
        begun.set()
        try:
            await asyncio.sleep(seconds)
        finally:
            ended.set()
        return "later"

    @tool
    def work(seconds: float) -> Any:
        return later(seconds)

    if has_loop:

        @tool
        async def other() -> None: ...

    with Harness() as tools:
        assert tools.call(work, seconds=0).text == "later"
        begun.clear()
        ended.clear()
        call = tools.start(work, seconds=600)
        assert begun.wait(30)
        call.cancel()
        assert ended.wait(30) and call.result().is_error
        tools.ping()


def test_a_request_that_cannot_be_read_is_answered(capfd: pytest.CaptureFixture[str]) -> None:
    @tool
    def size(text: str) -> int:
        return len(text)

    with Harness() as tools:
        large = CallToolRequest("size", '{"text": "' + "x" * (64 << 20) + '"}')
        tools._send(Envelope("call_tool", large, "req-large"))
        assert "too large: call_tool" in tools._answer("req-large", 30.0).result_json
        assert tools.call(size, text="abc").structured == {"result": 3}
    assert "too large: call_tool" in capfd.readouterr().err


def test_unreadable_bytes_end_the_process() -> None:
    @tool
    def work() -> None: ...

    with pytest.raises(ConnectionError, match="cannot be read"), Harness() as tools:
        tools._send(Envelope("raw_header", RawHeader("req", "result_json", 1 << 40)))


def test_nothing_is_left_of_a_process() -> None:
    @tool
    def slow() -> None:
        time.sleep(0.005)

    @tool(concurrent=True)
    def overlapping() -> None:
        time.sleep(0.005)

    def once() -> None:
        with Harness() as tools:
            for call in [tools.start(each) for each in (slow, overlapping) for _ in range(4)]:
                call.result()

    # Sockets of other tests are closed at any time.
    gc.collect()
    once()
    before = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        once()
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == before


def test_a_tool_with_a_wrong_type_fails_alone() -> None:
    @tool
    def register() -> None:
        @tool
        def wrong(value: type) -> None: ...

    with Harness() as tools:
        tools.call(register)
        assert "type has no form in JSON" in tools.call("wrong").text
        assert not tools.call(register).is_error


def test_the_task_that_ended_first_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(1.0)
    monkeypatch.setattr(_tasks, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(_tasks, "MAX_ENDED", 3)
    tasks = _tasks.Tasks(lambda envelope: None)

    def begin(id: str) -> _tasks.Task:
        task = _tasks.Task(id, ToolContext("", lambda envelope: None))
        assert tasks.offer(task)()
        return task

    long, failed, cancelled, *short = map(begin, ("long", "failed", "cancelled", "a", "b", "c"))
    tasks.end(short[0], CallToolResponse())
    tasks.end(short[1], CallToolResponse())
    tasks.end(failed, CallToolResponse(), "no disk")
    tasks.cancel(cancelled.id)
    tasks.end(long, CallToolResponse())
    begin("new")
    assert [tasks.status(each.id).state for each in (long, *short[:2])] == ["completed"] * 3
    assert {tasks.status(each.id).message for each in (failed, cancelled)} == {"there is no such task"}
    tasks.end(short[2], CallToolResponse())
    begin("newer")
    assert [tasks.take(each.id) is not None for each in (long, *short)] == [True, False, True, True]


def test_a_telemetry_sink_that_fails_is_named_once(capfd: pytest.CaptureFixture[str]) -> None:
    @telemetry_sink
    def broken(event: object) -> None:
        raise RuntimeError("no disk")

    @tool
    def work() -> str:
        return "done"

    with Harness() as tools:
        assert [tools.call(work).text for _ in range(3)] == ["done"] * 3
    said = capfd.readouterr().err
    assert said.count("the telemetry sink broken has failed\nTraceback") == 1
    assert said.endswith('    raise RuntimeError("no disk")\nRuntimeError: no disk\n')


def test_a_folder_of_handlers_that_is_missing_ends_the_start() -> None:
    configure(handlers_dir="no/such/folder")
    with pytest.raises(NotADirectoryError, match="no/such/folder is not a folder"):
        discover_handlers()


def test_a_sidecar_of_a_handler_starts_with_the_server(tmp_path: Path, sidecars: Path) -> None:
    folder = tmp_path / "handlers"
    folder.mkdir()
    line = "sidecar('protomcp-test-early', ['sleep', '600'], start_on='server_start')(print)\n"
    (folder / "early.py").write_text("from protomcp import sidecar\n" + line)
    configure(handlers_dir=str(folder))
    with Harness():
        assert [each.name for each in sidecars.iterdir()] == ["protomcp-test-early.pid"]


@pytest.mark.usefixtures("sidecars")
def test_a_sidecar_that_cannot_start_fails_the_call(capfd: pytest.CaptureFixture[str]) -> None:
    @sidecar("protomcp-test-missing", ["/no/such/program"])
    @tool
    def work() -> str:
        return "done"

    with Harness() as tools:
        for _ in range(2):
            assert "'protomcp-test-missing' cannot be started" in tools.call(work).text
    assert "cannot be started" in capfd.readouterr().err


@pytest.mark.usefixtures("sidecars")
def test_an_async_call_waits_for_a_sidecar_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """Lists and pings are answered while it starts."""
    has_started = threading.Event()
    command = [sys.executable, "-c", "import time; time.sleep(600)"]

    @sidecar("protomcp-test-slow", command, health_check="http://127.0.0.1:9/", health_timeout=0.5)
    @tool
    async def work() -> str:
        has_started.set()
        return "done"

    with Harness() as tools:
        calls = [tools.start(work) for _ in range(2)]
        tools.ping()
        assert not has_started.is_set()
        assert [each.result().text for each in calls] == ["done"] * 2
    assert "does not answer http://127.0.0.1:9/: waited 0.5 s" in capfd.readouterr().err


@pytest.mark.usefixtures("sidecars")
def test_a_sidecar_is_started_once(capfd: pytest.CaptureFixture[str]) -> None:
    """One that is not healthy in time is not started next to itself while another one cannot start."""
    command = ["sleep", "600"]
    sidecar("protomcp-test-slow", command, health_check="http://127.0.0.1:9/", health_timeout=0.5)(print)
    sidecar("protomcp-test-missing", ["/no/such/program"])(print)
    tool(name="work")(lambda: "done")
    started = set()
    with Harness() as tools:
        for _ in range(3):
            assert "cannot be started" in tools.call("work").text
            started.add(_running_processes["protomcp-test-slow"])
    assert len(started) == 1
    assert capfd.readouterr().err.count("does not answer") == 1


def test_a_sidecar_that_ends_with_an_error_is_started_again(sidecars: Path) -> None:
    """By the next call: here the first ones find the port in use, as after a save."""
    port = sidecars.parents[1] / "port"
    command = ["sh", "-c", 'test ! -e "$HOME/port" && exec sleep 600']
    sidecar("protomcp-test-port", command, start_on="server_start")(print)
    tool(name="work")(lambda: "done")
    port.touch()
    with Harness() as tools:
        first = _running_processes["protomcp-test-port"]
        assert first.wait(30) == 1
        port.unlink()
        assert tools.call("work").text == "done"
        second = _running_processes["protomcp-test-port"]
        assert second is not first
        assert tools.call("work").text == "done"
        assert _running_processes["protomcp-test-port"] is second
        assert second.poll() is None


@pytest.mark.usefixtures("sidecars")
def test_a_sidecar_that_ends_without_an_error_is_not_started_again() -> None:
    sidecar("protomcp-test-launcher", ["true"])(print)
    tool(name="work")(lambda: "done")
    with Harness() as tools:
        tools.call("work")
        launcher = _running_processes["protomcp-test-launcher"]
        assert launcher.wait(30) == 0
        tools.call("work")
        assert _running_processes["protomcp-test-launcher"] is launcher


def test_a_sidecar_that_is_registered_during_a_call_starts_before_the_next(sidecars: Path) -> None:
    sidecar("protomcp-test-first", ["sleep", "600"])(print)
    tool(name="late")(lambda: sidecar("protomcp-test-late", ["sleep", "600"])(str)("registered"))
    tool(name="names")(lambda: sorted(each.name for each in sidecars.iterdir()))
    with Harness() as tools:
        assert "late" not in tools.call("names").text
        tools.call("late")
        assert "protomcp-test-late.pid" in tools.call("names").text


def _leave(way: str) -> None:
    if way == "exits":
        sys.exit(3)
    if way == "raises":
        raise ValueError("in the child")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("way", "status"), [("returns", 0), ("exits", 3), ("raises", 1)])
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_forked_process_ends_when_it_leaves_the_handler(is_async: bool, way: str, status: int) -> None:
    """Otherwise it would answer the call, and those after it, in the place of its parent."""

    def fork() -> int:
        if child := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        _leave(way)
        return -1

    async def fork_later() -> int:
        if child := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        await asyncio.sleep(0)
        _leave(way)
        return -1

    tool(name="fork")(fork_later if is_async else fork)
    with Harness() as tools:
        assert tools.call("fork").text == str(status)
        assert tools.call("fork").text == str(status)
