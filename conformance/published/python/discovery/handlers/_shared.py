"""Not loaded by itself: the name begins with an underscore."""
from protomcp import tool


@tool("Never listed.")
def unused() -> str:
    return "unused"
