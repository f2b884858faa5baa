"""The faults of a value that does not fit its type, in words that a model can act on."""

from __future__ import annotations

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MAX_FAULTS = 8
"""The faults that are described; the rest is counted."""
MAX_NAMES = 256
"""The names that are compared with a wrong one: some of them come from the caller."""
LONGEST_NAME = 64
"""Longer names are not compared: that takes time in proportion to the square of the length."""
LONGEST_PLACE = 100
"""The characters of a place that are shown."""


class Faults:
    """Collects the faults of one value. A place is the path to them, such as `/items/0`.

    Without `patterns`, texts are not compared with the patterns of the schema: the bridge has done that, in linear
    time, where `re` backtracks.
    """

    __slots__ = ("described", "more", "patterns", "tried")

    def __init__(
        self, tried: dict[tuple[int, int, bool], tuple[Any, Faults]] | None = None, *, patterns: bool = True
    ) -> None:
        self.patterns = patterns
        # Their places and texts.
        self.described: list[tuple[str, str]] = []
        self.more = 0
        # The outcomes of unions, by the identities of union and value: a value is tried once, however often it is met.
        self.tried = {} if tried is None else tried

    def __bool__(self) -> bool:
        return bool(self.described)

    def add(self, place: str, text: str) -> None:
        if len(self.described) < MAX_FAULTS:
            self.described.append((place, text if len(text) <= 300 else text[:300] + "…"))
        else:
            self.more += 1

    def expected(self, place: str, what: str, value: object) -> None:
        self.add(place, f"expected {what}, got {quoted(value)}")

    def count(self) -> int:
        return len(self.described) + self.more

    def extend(self, others: Faults) -> None:
        for each in others.described:
            self.add(*each)
        self.more += others.more

    def list(self) -> str:
        rest = [f"- and {self.more} more"] if self.more else []
        return "\n".join([f"- {_at(*each)}" for each in self.described] + rest)


def _at(place: str, text: str) -> str:
    """A text with its place. The end of a long place says more than its beginning."""
    if len(place) > LONGEST_PLACE:
        place = "…" + place[-LONGEST_PLACE:]
    return f"at {place}: {text}" if place else text


class InvalidArguments(Exception):
    """The arguments of a call, or of a prompt, do not fit. The text is for the model."""

    def __init__(self, name: str, faults: Faults, kind: str = "tool") -> None:
        super().__init__(f"invalid arguments for {kind} {_text(name)}:\n{faults.list()}")


def _text(value: Any) -> str:
    # Its import takes a part of each start, and few calls have faults.
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def quoted(value: object) -> str:
    """A short value as JSON, and the kind of a long one, of which only the beginning is written."""
    import json

    text = ""
    try:
        for part in json.JSONEncoder(ensure_ascii=False, default=repr).iterencode(value):
            text += part
            if len(text) > 60:
                break
    except (TypeError, ValueError):
        # Such as an integer with too many digits for a text.
        return f"a value of type {type(value).__name__}"
    if len(text) <= 60:
        return text
    if isinstance(value, str):
        return f"a string of {len(value)} characters"
    if isinstance(value, list):
        return f"an array of {len(value)} elements"
    if isinstance(value, dict):
        return f"an object of {len(value)} members"
    if isinstance(value, int):
        return f"a number of {len(text)} digits"
    return text[:60]


def names(known: Iterable[Any]) -> str:
    return ", ".join(_text(name) for name in list(known)[:32])


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean "…"?`, or nothing."""
    near = nearest(wrong, known)
    return f"; did you mean {_text(near)}?" if near is not None else ""


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
