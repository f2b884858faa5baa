"""Tools for AI hosts. Serve them with: pmcp dev tools.py"""

from typing import Annotated

from protomcp import Field, tool


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool(read_only=True)
def greet(
    name: Annotated[str, Field("The person to greet")],
    times: Annotated[int, Field("The number of greetings", ge=1, le=3)] = 1,
) -> str:
    """Greets a person."""
    return " ".join([f"Hello, {name}!"] * times)
