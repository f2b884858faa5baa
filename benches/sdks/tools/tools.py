"""The tools of the bench on `protomcp`: the one of this workspace, or the published one."""

from protomcp import ToolContext, tool


@tool("Adds two numbers.")
def add(a: int, b: int, ctx: ToolContext) -> str:
    return str(a + b)


@tool("Adds two numbers.")
async def add_later(a: int, b: int, ctx: ToolContext) -> str:
    return str(a + b)
