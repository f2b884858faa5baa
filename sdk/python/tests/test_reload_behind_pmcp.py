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
def save(name: str) -> str:
    folder = Path(__file__).parent / "handlers"
    (folder / "new.py").write_text(f"from protomcp import tool\\n@tool\\ndef {name}() -> str: return 'new'\\n")
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
        {"call": "save", "with": {"name": "new"}},
        {"until": ["flow.cancel", "flow.end", "new", "save"]},
        {"call": f"flow.{name}"},
        {"until": ["flow.begin", "login", "new", "save", "secret"]},
        {"call": "save", "with": {"name": "newer"}},
        {"until": ["flow.begin", "login", "newer", "save", "secret"]},
    ]
    given = begin_visit(tmp_path / "main.py", steps, tmp_path, command="dev").result().given
    way = "continue" if name == "end" else name
    assert given[4]["content"][0]["text"] == f"No active workflow 'flow' to {way}"
