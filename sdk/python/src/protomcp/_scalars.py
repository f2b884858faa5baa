"""The types whose values are one JSON scalar: text, numbers, dates, identifiers."""

from __future__ import annotations

import sys

from ._faults import Faults, quoted
from ._json import not_within
from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Scalar = tuple[dict[str, Any], Callable[[Any, str, Faults], Any]]


def _text(value: Any, place: str, faults: Faults) -> Any:
    return value if type(value) is str else faults.expected(place, "string", value)


def _integer(value: Any, place: str, faults: Faults) -> Any:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return faults.expected(place, "integer", value)


def _number(value: Any, place: str, faults: Faults) -> Any:
    if type(value) is float:
        return value
    if type(value) is not int:
        return faults.expected(place, "number", value)
    try:
        return float(value)
    except OverflowError:
        return faults.add(place, not_within(str(value)))


def _boolean(value: Any, place: str, faults: Faults) -> Any:
    return value if type(value) is bool else faults.expected(place, "boolean", value)


def _bytes(value: Any, place: str, faults: Faults) -> Any:
    import base64

    try:
        if type(value) is str:
            return base64.b64decode(value, validate=True)
    except ValueError:
        pass
    return faults.expected(place, "bytes in base64", value)


def _parsed(make: Callable[[str], Any], what: str) -> Callable[[Any, str, Faults], Any]:
    """A value that is written as text."""

    def load(value: Any, place: str, faults: Faults) -> Any:
        try:
            if type(value) is str:
                return make(value)
        except (ValueError, ArithmeticError):
            pass
        return faults.expected(place, what, value)

    return load


def _utc(text: str) -> str:
    """Python 3.10 does not read the `Z` of RFC 3339."""
    return text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text


def _date_types() -> dict[type, Scalar]:
    from datetime import date, datetime, time, timedelta

    def seconds(value: Any, place: str, faults: Faults) -> Any:
        try:
            if type(value) in (int, float):
                return timedelta(seconds=value)
        except OverflowError:
            # Not as a wrong type, which a union does not describe.
            return faults.add(place, f"{quoted(value)} is not within ±{timedelta.max.days} days, in seconds")
        return faults.expected(place, "a number of seconds", value)

    text = {"type": "string"}
    return {
        datetime: (
            text | {"format": "date-time"},
            _parsed(lambda value: datetime.fromisoformat(_utc(value)), "a date and time such as 2026-07-28T09:30:00Z"),
        ),
        date: (text | {"format": "date"}, _parsed(date.fromisoformat, "a date such as 2026-07-28")),
        time: (
            text | {"format": "time"},
            _parsed(lambda value: time.fromisoformat(_utc(value)), "a time such as 09:30:00"),
        ),
        timedelta: (
            {"type": "number", "description": "seconds"},
            seconds,
        ),
    }


def _path_types() -> dict[type, Scalar]:
    from pathlib import Path, PurePath

    # JSON Schema has no format for paths.
    text = {"type": "string"}
    return {Path: (text, _parsed(Path, "a path")), PurePath: (text, _parsed(PurePath, "a path"))}


def _uuid_types() -> dict[type, Scalar]:
    from uuid import UUID

    return {UUID: ({"type": "string", "format": "uuid"}, _parsed(UUID, "a UUID"))}


def _decimal_types() -> dict[type, Scalar]:
    from decimal import Decimal

    def load(value: Any, place: str, faults: Faults) -> Any:
        try:
            if type(value) in (int, float, str):
                found = Decimal(str(value))
                if found.is_finite():
                    return found
        except ArithmeticError:
            pass
        return faults.expected(place, "a number, or a number as text", value)

    return {Decimal: ({"type": ["number", "string"]}, load)}


# Types of modules that only some files import: a type cannot be asked for before its module is there.
_LATER = {
    "datetime": _date_types,
    "pathlib": _path_types,
    "uuid": _uuid_types,
    "decimal": _decimal_types,
}


class _Scalars(dict["Any", "Scalar"]):
    """The known types. The types of a module are added when the module has been imported."""

    def _complete(self) -> None:
        for module in [name for name in _LATER if name in sys.modules]:
            self.update(_LATER.pop(module)())

    def __contains__(self, key: object) -> bool:
        self._complete()
        return super().__contains__(key)

    def __iter__(self) -> Iterator[Any]:
        self._complete()
        return super().__iter__()

    def get(self, key: Any, default: Any = None) -> Any:
        self._complete()
        return super().get(key, default)


SCALARS = _Scalars(
    {
        str: ({"type": "string"}, _text),
        int: ({"type": "integer"}, _integer),
        float: ({"type": "number"}, _number),
        bool: ({"type": "boolean"}, _boolean),
        bytes: ({"type": "string", "contentEncoding": "base64"}, _bytes),
    }
)
