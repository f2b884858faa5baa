"""Tools for texts."""
from protomcp import tool


@tool("Counts the words of a text.", read_only=True)
def words(text: str) -> str:
    return str(len(text.split()))
