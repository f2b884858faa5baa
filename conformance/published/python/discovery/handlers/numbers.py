"""Tools for numbers."""
from protomcp import tool


@tool("Adds a list of numbers.", read_only=True)
def total(numbers: list[int]) -> str:
    return str(sum(numbers))
