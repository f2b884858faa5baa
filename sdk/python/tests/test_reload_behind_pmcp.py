"""A folder of handlers that is loaded again, as the client of `pmcp dev` sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridge import begin_visit

MAIN = """
from pathlib import Path
from typing import Any
from protomcp import ToolResult, configure, run, tool

configure(handlers_dir="handlers", hot_reload=True)

@tool
def save(shown: list[str], hidden: list[str] = []) -> str:
    tools = [f"@tool(hidden={each in hidden})\\ndef {each}() -> str: return 'new'\\n" for each in [*shown, *hidden]]
    (Path(__file__).parent / "handlers/new.py").write_text("from protomcp import tool\\n" + "".join(tools))
    return "saved"

@tool(hidden=True)
def secret() -> str:
    return "secret"

@tool
def login() -> ToolResult:
    return ToolResult("hello", enable_tools=["secret"])

if __name__ == "__main__":
    run()
"""

FLOW = """
from protomcp import step, workflow

@workflow("flow", allow_during=["save"])
class Flow:
    @step(initial=True, next=["end"])
    def begin(self) -> str:
        return "begun"

    @step(terminal=True)
    def end(self) -> str:
        return "over"
"""


@pytest.mark.parametrize("name", ["end", "cancel"])
def test_a_reload_hides_no_tool_that_a_session_sees(name: str, tmp_path: Path) -> None:
    """A step of a lost run is there to be refused, which shows the tools again; a tool that was shown stays."""
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers/flow.py").write_text(FLOW)
    (tmp_path / "main.py").write_text(MAIN)
    steps: list[dict[str, Any]] = [
        {"call": "login"},
        {"call": "flow.begin"},
        {"call": "save", "with": {"shown": ["new"]}},
        {"until": ["flow.cancel", "flow.end", "new", "save"]},
        {"call": f"flow.{name}"},
        {"until": ["flow.begin", "login", "new", "save", "secret"]},
        {"call": "save", "with": {"shown": ["newer"]}},
        {"until": ["flow.begin", "login", "newer", "save", "secret"]},
    ]
    given = begin_visit(tmp_path / "main.py", steps, tmp_path, command="dev").result().given
    way = "continue" if name == "end" else name
    assert given[4]["content"][0]["text"] == f"No active workflow 'flow' to {way}"


OWN = """
from protomcp import step, workflow

@workflow("own", allow_during=["*"])
class Own:
    @step(initial=True, next=["mid"])
    def begin(self) -> str:
        return "begun"

    @step(next=["end"])
    def mid(self) -> str:
        return "in between"

    @step(terminal=True)
    def end(self) -> str:
        return "over"
"""


def test_a_run_knows_what_a_reload_hides_and_adds(tmp_path: Path) -> None:
    (tmp_path / "handlers").mkdir()
    (tmp_path / "main.py").write_text(OWN + MAIN)
    steps: list[dict[str, Any]] = [
        {"call": "save", "with": {"shown": ["admin"]}},
        {"until": ["admin", "login", "own.begin", "save"]},
        {"call": "own.begin"},
        {"call": "save", "with": {"shown": ["new"], "hidden": ["admin"]}},
        {"until": ["login", "new", "own.cancel", "own.mid", "save"]},
        {"call": "own.mid"},
        {"until": ["login", "new", "own.cancel", "own.end", "save"]},
        {"call": "save", "with": {"shown": ["newer", "admin"]}},
        {"until": ["admin", "login", "newer", "own.cancel", "own.end", "save"]},
        {"call": "own.end"},
        {"until": ["admin", "login", "newer", "save"]},
    ]
    begin_visit(tmp_path / "main.py", steps, tmp_path, command="dev").result()


GROWING = """
from pathlib import Path
from protomcp import ToolResult, run, tool

@tool
def grow(name: str, hidden: bool = False) -> str:
    tool(name=name, hidden=hidden)(lambda: "grown")
    with Path(__file__).open("a") as file:
        file.write("# saved\\n")
    return "saved"

@tool(hidden=True)
def secret() -> str:
    return "secret"

@tool
def login() -> ToolResult:
    return ToolResult("hello", enable_tools=["secret"])

if __name__ == "__main__":
    run()
"""


def test_a_reload_for_tools_of_a_handler_hides_the_new_ones(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(GROWING)
    steps: list[dict[str, Any]] = [
        {"call": "login"},
        {"until": ["grow", "login", "secret"]},
        {"call": "grow", "with": {"name": "hid", "hidden": True}},
        {"call": "grow", "with": {"name": "new"}},
        {"until": ["grow", "login", "new", "secret"]},
        {"call": "hid"},
    ]
    given = begin_visit(tmp_path / "main.py", steps, tmp_path, command="dev").result().given
    assert "unknown tool" in str(given[-1]).lower(), given[-1]
