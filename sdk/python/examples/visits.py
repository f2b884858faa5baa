"""A counter that survives a save: pmcp dev visits.py."""

import asyncio
from dataclasses import dataclass

from protomcp import hand_over, take_over, tool


@dataclass
class Visits:
    """Goes from one version of this file to the next. One that adds a field can still read the state of one without."""

    count: int = 0
    last: str = ""


visits = Visits()


@hand_over
def state() -> Visits:
    return visits


@take_over
def resume(before: Visits) -> None:
    global visits
    visits = before


@tool("Counts a visit.")
async def visit(name: str, stay: int = 0) -> str:
    await asyncio.sleep(stay / 1000)
    visits.count += 1
    visits.last = name
    return str(visits.count)
