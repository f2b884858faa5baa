"""Instructions for the model (Agent Skills): pmcp dev refunds.py.

Each folder below `skills` with a `SKILL.md` is a skill, served next to the tools and read again after a save.
"""

from protomcp import skills, tool

skills("skills")


@tool("Finds an order.", read_only=True)
def find(number: int) -> str:
    return f"order {number}: two teapots, 12 days ago"
