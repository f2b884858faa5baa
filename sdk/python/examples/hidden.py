"""Tools that appear when they make sense: pmcp dev hidden.py.

A result shows and hides tools by name. The client is notified, in this session only. Clients of MCP 2026-07-28 have no
session, and a list that does not change: for them, see workflow.py.
"""

from protomcp import ToolError, ToolResult, tool

INSIDE = ["look_inside", "close_vault"]


@tool("Opens the vault.")
def open_vault(code: str) -> ToolResult:
    if code != "1234":
        raise ToolError("wrong code", code="WRONG_CODE", suggestion="ask the owner", retryable=True)
    return ToolResult("open", enable_tools=INSIDE, disable_tools=["open_vault"])


@tool("Looks inside.", read_only=True, hidden=True)
def look_inside() -> str:
    return "three gold coins"


@tool("Closes the vault.", hidden=True)
def close_vault() -> ToolResult:
    return ToolResult("closed", enable_tools=["open_vault"], disable_tools=INSIDE)
