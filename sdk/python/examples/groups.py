"""Related tools in one group: pmcp dev groups.py.

`notes` is one tool with an argument `action`; the arguments of each action are checked by its own schema. `shapes`
becomes a tool for each action, such as `shapes_square`.
"""

import math
from enum import Enum

from protomcp import ToolError, action, tool_group


class Color(Enum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"


@tool_group("notes", "Keeps short notes.", strategy="union")
class Notes:
    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    @action("write", "Keeps a note.")
    def write(self, title: str, text: str = "", color: Color = Color.BLUE) -> str:
        self.kept[title] = text
        return f"kept {title} in {color.value}"

    @action("read", "Reads a note, or lists all of them.")
    def read(self, title: str | None = None, all: bool = False) -> str:
        if title is not None and all:
            raise ToolError("give a title or all, not both", code="CONTRADICTION")
        if all:
            return ", ".join(sorted(self.kept))
        if title is None:
            raise ToolError("which note?", suggestion="give a title, or all = true")
        if title not in self.kept:
            raise ToolError(f"no note {title!r}", suggestion="write it first")
        return self.kept[title]


@tool_group("shapes", "Areas of shapes.", separator="_", read_only=True)
class Shapes:
    @action("circle", "Area of a circle.")
    def circle(self, radius: float) -> str:
        return f"{math.pi * radius * radius:.2f}"

    @action("square", "Area of a square.")
    def square(self, side: float) -> str:
        return f"{side * side:.2f}"
