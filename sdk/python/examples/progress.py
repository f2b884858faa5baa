"""Long work that reports progress and stops when it is cancelled: pmcp dev progress.py."""

import asyncio
import time

from protomcp import AsyncContext, ToolContext, tool


@tool("Counts slowly.")
def count(to: int, ctx: ToolContext, pause_ms: int = 20) -> str:
    for number in range(1, to + 1):
        # A plain function asks; this ends it when it is cancelled.
        ctx.check()
        time.sleep(pause_ms / 1000)
        ctx.report_progress(number, to, f"at {number}")
    return f"counted to {to}"


@tool("Waits, and tidies up when it is cancelled.")
async def wait(seconds: float, ctx: AsyncContext) -> str:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print("tidied up")
        raise
    return "waited"
