"""Related tools in one class: pmcp dev groups.py.

`notes` is one tool with an `action` argument (strategy "union"), so its rules are checked before the method runs.
`shapes` becomes a tool for each action, named shapes.circle and shapes.square; some hosts refuse names with dots.
"""
from protomcp import action, tool_group


@tool_group("notes", "Keeps short notes.", strategy="union")
class Notes:
    def __init__(self):
        self.kept = {}

    @action("write", "Keeps a note.", requires=["title"], enum_fields={"color": ["red", "green", "blue"]})
    def write(self, title: str = "", text: str = "", color: str = "blue") -> str:
        self.kept[title] = (text, color)
        return f"kept {title} in {color}"

    @action(
        "read",
        "Reads a note, or lists all of them.",
        cross_rules=[(lambda args: args.get("title") and args.get("all"), "Give a title or all, not both")],
        hints={"nothing": {"condition": lambda args: not args, "message": "Give a title, or all=true."}},
    )
    def read(self, title: str = "", all: bool = False) -> str:
        if all:
            return ", ".join(sorted(self.kept)) or "no notes"
        return self.kept.get(title, ("no such note", ""))[0]


@tool_group("shapes", "Areas of shapes.", read_only=True)
class Shapes:
    @action("circle", "Area of a circle.")
    def circle(self, radius: float) -> str:
        return f"{3.14159 * radius * radius:.2f}"

    @action("square", "Area of a square.")
    def square(self, side: float) -> str:
        return f"{side * side:.2f}"
