"""Three tools: pmcp dev tools.py."""

from protomcp import ToolContext, tool


@tool("Adds two numbers.", read_only=True)
def add(a: int, b: int) -> str:
    return str(a + b)


@tool("Greets someone.", read_only=True)
def greet(name: str) -> str:
    return f"Hello, {name}!"


@tool("Counts, and says how far it is.")
def count(to: int, ctx: ToolContext) -> str:
    for step in range(1, to + 1):
        ctx.check()
        ctx.report_progress(step, to, f"step {step}")
    return f"counted to {to}"
