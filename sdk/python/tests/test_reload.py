"""A folder of handlers that is loaded again in the running process."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from protomcp import (
    ToolContext,
    _requests,
    completion,
    configure,
    discover_handlers,
    hand_over,
    resource,
    step,
    tool,
    tool_manager,
    workflow,
)
from protomcp._wire import (
    ActiveToolsResponse,
    CompletionRequest,
    Envelope,
    GetPromptRequest,
    ListPromptsRequest,
    ListResourcesRequest,
    ReadResourceRequest,
    ReloadRequest,
)
from protomcp.context import current
from reloading import TOOL, Reloading


def test_a_reload_keeps_what_the_tool_file_has_registered(folder: Path) -> None:
    (folder / "a.py").write_text(TOOL.format(name="add", answer="1"))

    @tool
    def in_main() -> str:
        return "main"

    @completion("ref/prompt", "tea", "kind")
    def kinds(value: str) -> list[str]:
        return ["green"]

    class State:
        count = 5

        def __call__(self) -> int:
            return self.count

    state = hand_over(State())

    with Reloading() as tools:
        for answer in ("22", "333"):
            (folder / "a.py").write_text(TOOL.format(name="add", answer=answer))
            assert tools.reload() == ""
            assert tools.names() == ["add", "in_main"]
            assert [tools.call(name).text for name in ("in_main", "add")] == ["main", answer]
            assert tools.complete("ref/prompt", "tea", "kind", "") == ["green"]
            state.count += 1
            assert tools.hand_over() == state.count
        (folder / "a.py").unlink()
        assert tools.reload() == ""
        assert tools.names() == ["in_main"]
        assert tools.call("add").text == "Tool not found: add"


def test_a_reload_keeps_what_follows_a_discovery(folder: Path) -> None:
    """A tool file may discover its folder itself, before it declares more."""
    (folder / "a.py").write_text(TOOL.format(name="add", answer="1"))
    completion("ref/prompt", "tea", "kind")(lambda value: ["green"])
    tool(name="first")(len)
    discover_handlers()
    tool(name="last")(len)
    hand_over(lambda: 5)
    completion("ref/prompt", "tea", "size")(lambda value: ["large"])
    with Reloading() as tools:
        assert sorted(tools.tools) == ["add", "first", "last"]
        for _ in range(2):
            assert tools.reload() == ""
            assert tools.names() == ["add", "first", "last"]
            assert [tools.complete("ref/prompt", "tea", each, "") for each in ("kind", "size")] == [
                ["green"],
                ["large"],
            ]
            assert tools.hand_over() == 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("from protomcp import tool\n@tool\ndef add( -> str:\n", "SyntaxError: "),
        (TOOL.format(name="other", answer="") + "exit()", "SystemExit: "),
        ("from protomcp import group, hand_over\nhand_over(len)\nimport nothing_of_this_name", "ModuleNotFoundError: "),
        (TOOL.format(name="in_main", answer=""), "DeclarationError: "),
        ("class Silent(Exception):\n    def __str__(self): raise ValueError\nraise Silent", "Silent, which cannot be "),
    ],
    ids=["syntax", "exit", "import", "name", "text"],
)
def test_a_reload_that_fails_changes_nothing(text: str, reason: str, folder: Path) -> None:
    (folder / "a.py").write_text(TOOL.format(name="first", answer="1"))
    (folder / "b.py").write_text(TOOL.format(name="add", answer="2"))

    @tool
    def in_main() -> str:
        return "main"

    @workflow("flow")
    class Flow:
        @step(initial=True, next=["end"])
        def begin(self) -> str:
            return "begun"

        @step(terminal=True)
        def end(self, ctx: ToolContext) -> str:
            return "over"

    with Reloading() as tools:
        modules = [sys.modules[f"_protomcp_handler_{each}"] for each in ("a", "b")]
        assert tools.call("flow.begin").text == "begun"
        (folder / "b.py").write_text(text)
        (folder / "c.py").write_text("")
        assert tools.reload().startswith(reason)
        assert [each.kind for each in tools.sent if each.kind == "tool_list"] == []
        assert [tools.call(name).text for name in ("in_main", "first", "add")] == ["main", "1", "2"]
        assert tools.call("flow.end").text == "over"
        assert [sys.modules.get(f"_protomcp_handler_{each}") for each in ("a", "b", "c")] == [*modules, None]
        (folder / "b.py").write_text(TOOL.format(name="add", answer="mended"))
        assert tools.reload() == ""
        assert tools.call("add").text == "mended"


FLOW = """
from protomcp import step, workflow

@workflow("{name}", allow_during=[], handles={handles})
class Flow:
    @step(initial=True, next=["end"])
    def begin(self) -> str:
        return "begun"

    @step(terminal=True)
    def end(self) -> str:
        return "over"

"""


WAITING = """async def {name}(self) -> str:
        import asyncio, signals_of_the_test
        await asyncio.to_thread(signals_of_the_test.go.wait, 30)"""


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What a step of WAITING waits for."""
    go = threading.Event()
    monkeypatch.setitem(sys.modules, "signals_of_the_test", SimpleNamespace(go=go))
    return go


@pytest.mark.parametrize("handles", [False, True], ids=["session", "handles"])
def test_a_run_of_the_tool_file_outlives_a_reload(handles: bool, folder: Path) -> None:
    (folder / "a.py").write_text(FLOW.format(name="other", handles=handles))
    exec(FLOW.format(name="flow", handles=handles), {"__name__": "main"})
    with Reloading() as tools:
        begun = {name: tools.call(f"{name}.begin").structured or {} for name in ("other", "flow")}
        (folder / "b.py").write_text(TOOL.format(name="add", answer="1"))
        assert tools.reload() == ""
        handle = {name: {"handle": each["handle"]} if handles else {} for name, each in begun.items()}
        over = tools.call("flow.end", **handle["flow"])
        assert (over.is_error, over.text) == (False, "over")
        assert ("add" in over.enable_tools) == (not handles)
        refused = tools.call("other.end", **handle["other"])
        assert (refused.is_error, refused.text) == (True, "No active workflow 'other' to continue")


@pytest.mark.parametrize("name", ["begin", "end"])
def test_a_step_may_run_across_the_reload_of_its_workflow(name: str, folder: Path, signals: threading.Event) -> None:
    """The end of a run shows the other tools again, and a first step ends no run that is newer than the reload."""
    text = FLOW.format(name="flow", handles=False) + TOOL.format(name="add", answer="1")
    (folder / "a.py").write_text(text.replace(f"def {name}(self) -> str:", WAITING.format(name=name)))
    with Reloading() as tools:
        if name == "end":
            assert "add" in tools.call("flow.begin").disable_tools
        running = tools.start(f"flow.{name}")
        tools.ping()
        (folder / "a.py").write_text(text)
        assert tools.reload() == ""
        assert tools.call("flow.begin").text == "begun"
        signals.set()
        assert ("add" in running.result().enable_tools) == (name == "end")
        assert tools.call("flow.end").text == "over"


def test_a_lost_run_in_front_of_another_shows_its_tools(folder: Path) -> None:
    (folder / "a.py").write_text(FLOW.format(name="inner", handles=False))
    exec(FLOW.format(name="flow", handles=False).replace("[]", "['inner.begin']"), {"__name__": "main"})
    exec(FLOW.format(name="other", handles=True), {"__name__": "main"})
    with Reloading() as tools:
        tools.call("flow.begin")
        tools.call("inner.begin")
        assert tools.reload() == ""
        refused = tools.call("inner.end")
        assert (refused.is_error, refused.enable_tools) == (True, ["flow.cancel", "flow.end", "inner.begin"])
        assert tools.call("flow.end").text == "over"
        # A run with handles limits other tools, too.
        tools.call("other.begin")
        tools.call("inner.begin")
        assert tools.reload() == ""
        assert tools.call("inner.end").enable_tools == ["other.begin", "other.cancel", "other.end"]


@pytest.mark.parametrize("handles", [False, True], ids=["session", "handles"])
def test_a_run_that_a_reload_ends_limits_no_tools(handles: bool, folder: Path) -> None:
    (folder / "a.py").write_text(FLOW.format(name="flow", handles=handles) + TOOL.format(name="add", answer="1"))

    @tool(hidden=True)
    def secret() -> str:
        return ""

    with Reloading() as tools:
        for name in ("cancel", "end"):
            begun = tools.call("flow.begin")
            assert "add" in begun.disable_tools
            arguments = {"handle": begun.structured["handle"]} if begun.structured else {}
            if handles:
                # The run still limits them.
                assert tools.call(f"flow.{name}", handle="other").enable_tools == []
            assert tools.reload() == ""
            refused = tools.call(f"flow.{name}", **arguments)
            assert (refused.is_error, refused.text[:26]) == (True, "No active workflow 'flow' ")
            steps = ["flow.cancel", "flow.end"]
            assert refused.enable_tools == ["add", "flow.begin", *(steps if handles else ())]
            assert refused.disable_tools == [*(() if handles else steps), "secret"]


ASKING = """
import asyncio
from protomcp import tool_manager

asyncio.run(asyncio.sleep(0))
shown = tool_manager.get_active_tools()
"""


@pytest.mark.parametrize("is_hot", [False, True], ids=["kept", "hot"])
def test_a_reload_waits_for_no_handler(is_hot: bool, folder: Path) -> None:
    """The bridge replaces a process that answers late."""
    configure(handlers_dir=str(folder), hot_reload=is_hot)
    go = threading.Event()
    (folder / "a.py").write_text(TOOL.format(name="add", answer="1"))

    @tool
    def slow() -> bool:
        return go.wait(30)

    with Reloading() as tools:
        call = tools.start(slow)
        # The second thread reads now.
        tools.ping()
        (folder / "a.py").write_text(TOOL.format(name="other", answer="2"))
        assert tools.reload() == ""
        assert tools.names() == (["other", "slow"] if is_hot else ["add", "slow"])
        go.set()
        assert call.result().structured == {"result": True}


SLOW = """
from protomcp import completion, prompt, resource, tool
{begin}

@tool
def add() -> str:
    return {answer!r}

@resource("tea://kinds", "Kinds")
def kinds() -> str:
    return {answer!r}

@prompt("Brews.")
def brew() -> str:
    return {answer!r}

completion("ref/prompt", "brew", "kind")(lambda value: [{answer!r}])
{end}
"""


@pytest.mark.parametrize("end", ["", "exit()"], ids=["works", "fails"])
@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "busy"])
@pytest.mark.parametrize("has_async", [False, True], ids=["plain", "async"])
def test_requests_wait_for_the_reload(has_async: bool, is_busy: bool, end: str, folder: Path) -> None:
    """A file asks the bridge, and the registries are empty until all files have been loaded."""
    go = threading.Event()
    (folder / "a.py").write_text(SLOW.format(begin="", answer="old", end=""))

    @tool
    def slow() -> bool:
        return go.wait(30)

    if has_async:

        @tool
        async def other() -> str:
            return "other"

    with Reloading() as tools:
        if is_busy:
            running = tools.start(slow)
            # The second thread reads now.
            tools.ping()
        (folder / "a.py").write_text(SLOW.format(begin=ASKING, answer="newer", end=end))
        tools.ask_to_reload()
        tools._wait(lambda: "py-1" in tools._answers, 30.0, "the question for the tools")
        requests: dict[str, Any] = {
            "read": ("read_resource_request", ReadResourceRequest("tea://kinds")),
            "prompt": ("get_prompt_request", GetPromptRequest("brew", "{}")),
            "completion": ("completion_request", CompletionRequest("ref/prompt", "brew", "kind", "")),
            "prompts": ("list_prompts_request", ListPromptsRequest()),
        }
        for id, (kind, message) in requests.items():
            tools._send(Envelope(kind, message, id, context=tools._context))
        call = tools.start("add")
        tools._send(Envelope("active_tools", ActiveToolsResponse(["slow"]), "py-1"))
        tools._wait(lambda: bool(tools.errors), 30.0, "the end of the reload")
        # The list has waited for nothing else.
        found = {"prompts": tools._answer("prompts", 30.0)}
        go.set()
        if is_busy:
            assert running.result().structured == {"result": True}
        found |= {id: tools._answer(id, 30.0) for id in requests if id not in found}
        answer = "old" if end else "newer"
        assert call.result().text == answer
        assert [each.text for each in found["read"].contents] == [answer]
        assert [answer in each.content_json for each in found["prompt"].messages] == [True]
        assert found["completion"].values == [answer]
        assert [each.name for each in found["prompts"].prompts] == ["brew"]
        assert sys.modules["_protomcp_handler_a"].__dict__.get("shown") == (None if end else ["slow"])


def test_one_thread_loads_files_and_looks_requests_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that is looked up when a reload comes finds all resources."""
    go, threads = threading.Event(), []

    def reader_of(uri: str) -> Any:
        threads.append(threading.get_ident())
        return None

    @tool
    def slow() -> bool:
        return go.wait(30)

    monkeypatch.setattr(_requests, "reader_of", reader_of)
    (folder / "a.py").write_text("import threading\nthread = threading.get_ident()\n")
    with Reloading() as tools:
        call = tools.start(slow)
        # The second thread reads now.
        tools.ping()
        with pytest.raises(LookupError):
            tools.read("tea://kinds")
        assert tools.reload() == ""
        assert threads == [sys.modules["_protomcp_handler_a"].thread]
        go.set()
        call.result()


def test_a_request_that_fails_after_a_reload_fails_alone(folder: Path) -> None:
    big: Any = "a size that is not a number"
    resource("tea://kinds", "Kinds", size=big)(lambda: "green")

    @tool
    async def other() -> str:
        return "other"

    with Reloading() as tools:
        (folder / "a.py").write_text(ASKING + TOOL.format(name="add", answer="1"))
        tools.ask_to_reload()
        tools._wait(lambda: "py-1" in tools._answers, 30.0, "the question for the tools")
        tools._send(Envelope("list_resources_request", ListResourcesRequest(), "list"))
        call = tools.start("add")
        tools._send(Envelope("active_tools", ActiveToolsResponse(["other"]), "py-1"))
        assert call.result().text == "1"
        assert tools.errors == [""]


def test_a_reload_belongs_to_no_call(folder: Path) -> None:
    """The loop may read it in the context of an async handler that has waited for the bridge."""
    text = "from protomcp.context import current\nfound = current.get()\n"
    (folder / "a.py").write_text(text + TOOL.format(name="add", answer="1"))

    @tool
    async def ask() -> bool:
        tool_manager._server.process.receive(Envelope("reload", ReloadRequest(), "reload"))
        return current.get() is not None

    with Reloading() as tools:
        assert tools.call(ask).structured == {"result": True}
        assert tools.errors == [""]
        assert sys.modules["_protomcp_handler_a"].found is None
