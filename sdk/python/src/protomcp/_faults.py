"""The faults of a value that does not fit its type, in words that a model can act on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

MAX_FAULTS = 8
"""The faults that are described; the rest is counted."""
MAX_NAMES = 256
"""The names that are compared with a wrong one: some of them come from the caller."""
LONGEST_NAME = 64
"""Longer names are not compared: that takes time in proportion to the square of the length."""


class Faults:
    """Collects the faults of one value. A place is the path to them, such as `/items/0`."""

    __slots__ = ("described", "more")

    def __init__(self) -> None:
        self.described: list[str] = []
        self.more = 0

    def __bool__(self) -> bool:
        return bool(self.described)

    def add(self, place: str, text: str) -> None:
        if len(self.described) < MAX_FAULTS:
            text = f"at {place}: {text}" if place else text
            self.described.append(text if len(text) <= 300 else text[:300] + "…")
        else:
            self.more += 1

    def expected(self, place: str, what: str, value: object) -> None:
        self.add(place, f"expected {what}, got {quoted(value)}")

    def count(self) -> int:
        return len(self.described) + self.more

    def extend(self, others: Faults) -> None:
        for text in others.described:
            self.add("", text)
        self.more += others.more

    def list(self) -> str:
        rest = [f"- and {self.more} more"] if self.more else []
        return "\n".join([f"- {fault}" for fault in self.described] + rest)


class InvalidArguments(Exception):
    """The arguments of a call, or of a prompt, do not fit. The text is for the model."""

    def __init__(self, name: str, faults: Faults, kind: str = "tool") -> None:
        super().__init__(f"invalid arguments for {kind} {json.dumps(name, ensure_ascii=False)}:\n{faults.list()}")


def quoted(value: object) -> str:
    """A short value as JSON, and the kind of a long one."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError):
        text = repr(value)
    if len(text) <= 60:
        return text
    if isinstance(value, str):
        return f"a string of {len(value)} characters"
    if isinstance(value, list):
        return f"an array of {len(value)} elements"
    if isinstance(value, dict):
        return f"an object of {len(value)} members"
    return text[:60]


def names(known: Iterable[Any]) -> str:
    return ", ".join(json.dumps(name, ensure_ascii=False, default=str) for name in list(known)[:32])


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean "…"?`, or nothing."""
    near = nearest(wrong, known)
    return f"; did you mean {json.dumps(near, ensure_ascii=False)}?" if near is not None else ""


def nearest(wrong: str, known: Iterable[str]) -> str | None:
    """The name that a misspelt one most likely stands for. Case, `_`, `-` and blanks do not count."""
    if len(wrong) > LONGEST_NAME:
        return None
    folded = _fold(wrong)
    best: str | None = None
    allowed = max(len(folded) // 3, 1)
    for name in list(known)[:MAX_NAMES]:
        if len(name) <= LONGEST_NAME and (distance := _distance(folded, _fold(name))) <= allowed:
            best, allowed = name, distance - 1
    return best


def _fold(name: str) -> str:
    return "".join(char for char in name.lower() if char not in "_- ")


def _distance(a: str, b: str) -> int:
    """The edits between two names; two swapped letters are one edit."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, char in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (char != other))
            if i > 1 and j > 1 and char == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
