"""Tools that appear when they make sense: pmcp dev hidden.py.

A result can show and hide tools by name. The client is notified, in this session only.
"""
from protomcp import ToolResult, tool


@tool("Opens the vault.")
def open_vault(code: str) -> ToolResult:
    if code != "1234":
        return ToolResult(
            result="wrong code", is_error=True, error_code="WRONG_CODE", message="wrong code", suggestion="Ask the owner.",
            retryable=True,
        )
    return ToolResult(result="open", enable_tools=["look_inside", "close_vault"], disable_tools=["open_vault"])


@tool("Looks inside.", read_only=True, hidden=True)
def look_inside() -> str:
    return "three gold coins"


@tool("Closes the vault.", hidden=True)
def close_vault() -> ToolResult:
    return ToolResult(result="closed", enable_tools=["open_vault"], disable_tools=["look_inside", "close_vault"])
