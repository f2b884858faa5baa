"""The tools in Python that are attacked."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from protomcp import resource_template, tool


@dataclass
class And:
    op: Literal["and"]
    kids: list["Node"]


@dataclass
class Or:
    op: Literal["or"]
    kids: list["Node"]


@dataclass
class Not:
    op: Literal["not"]
    kids: list["Node"]


Node = And | Or | Not


class Unsayable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("there is no text")


class Last(BaseException):
    pass


@tool("Takes a condition.")
async def condition(node: Node) -> str:
    return node.op


@tool("Answers immediately.")
async def beat() -> str:
    return "beat"


@tool("Answers after three seconds.")
async def slow() -> str:
    await asyncio.sleep(3)
    return "slow"


@tool("Takes a number.")
async def number(x: float) -> str:
    return repr(x)


@tool("Takes an integer.")
async def integer(n: int) -> str:
    return f"an integer of {n.bit_length()} bits"


@tool("Raises an error without a text.")
def unsayable() -> str:
    raise Unsayable


@tool("Raises what is not an Exception.")
def last() -> str:
    raise Last("the last error")


@resource_template("doc://{+a}/{+b}/{+c}/x", "A document.")
async def document(a: str, b: str, c: str) -> str:
    return a


# The program passes a URI on that one template fits, and the SDK matches it again.
@resource_template("doc://{+rest}", "The other documents.")
async def other(rest: str) -> str:
    return "rest"
