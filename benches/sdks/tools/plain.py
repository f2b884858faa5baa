"""The plain tool of the bench alone: no event loop is needed."""

from protomcp import ToolContext, tool


@tool("Adds two numbers.")
def add(a: int, b: int, ctx: ToolContext) -> str:
    return str(a + b)
