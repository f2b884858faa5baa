"""Long work that reports progress and stops when cancelled: pmcp dev progress.py."""
import asyncio
import time

from protomcp import ToolContext, tool


@tool("Counts slowly.")
def count(to: int, ctx: ToolContext, pause_ms: int = 20) -> str:
    for number in range(1, to + 1):
        if ctx.is_cancelled():
            return f"stopped before {number}"
        time.sleep(pause_ms / 1000)
        ctx.report_progress(number, to, f"at {number}")
    return f"counted to {to}"


@tool("Waits, and tidies up when it is cancelled.")
async def wait(seconds: float, ctx: ToolContext) -> str:
    try:
        await asyncio.sleep(seconds)
        return "waited"
    finally:
        print("tidied up", flush=True)
