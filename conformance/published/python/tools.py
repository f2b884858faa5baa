"""Three tools on the published SDK: pip install protomcp, then pmcp dev tools.py."""
from protomcp import ToolContext, tool


@tool("Adds two numbers.", read_only=True)
def add(a: int, b: int) -> str:
    return str(a + b)


@tool("Greets someone.", read_only=True)
def greet(name: str) -> str:
    return f"Hello, {name}!"


@tool("Counts slowly, and says how far it is.")
def count(to: int, ctx: ToolContext) -> str:
    for step in range(to):
        if ctx.is_cancelled():
            return f"stopped at {step}"
        ctx.report_progress(step + 1, to, f"step {step + 1}")
    return f"counted to {to}"
