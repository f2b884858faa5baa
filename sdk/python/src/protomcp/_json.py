"""JSON text, and Python values as JSON."""

from __future__ import annotations

import json
import re
import sys

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

try:
    from json.encoder import c_encode_basestring as _quote  # type: ignore[attr-defined]
except ImportError:
    from json.encoder import encode_basestring as _quote

_decoder = json.JSONDecoder()
_decode = _decoder.decode
_scan: Any = _decoder.scan_once  # type: ignore[attr-defined]


def quote(text: str) -> str:
    """A string of JSON. Halves of surrogate pairs are escaped: they have no form in UTF-8."""
    quoted: str = _quote(text)
    try:
        if not quoted.isascii():
            quoted.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return quoted


def parse(text: str) -> Any:
    """The value of a JSON text; raises ValueError."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        # There are blanks in front of it, or it is none.
        return _decode(text)
    return value if end == len(text) else _decode(text)


_MAX_DIGITS = 4300
"""The most digits of an integer that Python reads by default."""


class Beyond(ValueError):
    """Numbers of a JSON text that cannot be read. `places` has their places and texts."""

    def __init__(self, places: list[tuple[str, str]]) -> None:
        self.places = [(place, not_within(text)) for place, text in places]
        super().__init__("; ".join(f"at {place}: {text}" for place, text in self.places))


def not_within(text: str) -> str:
    """The fault of a number in JSON that is too large for a double, or for an integer of Python."""
    shown = text if len(text) <= 60 else f"a number of {len(text)} characters"
    if text.lstrip("-").isdigit() and len(text) > _MAX_DIGITS:
        return f"expected an integer of at most {_MAX_DIGITS:,} digits, got {shown}"
    return f"expected a number within ±1.8e308, got {shown}"


def parse_finite(text: str) -> Any:
    """The value of a JSON text without infinite numbers; raises Beyond and ValueError."""
    try:
        value, end = _scan_finite(text, 0)
        if end == len(text):
            return value
    except (StopIteration, ValueError):
        # Blanks in front of it, a number, or no JSON.
        pass
    value = _decode_marked(text)
    if places := list(_marks(value, "")):
        raise Beyond(places)
    return value


class _Mark:
    """The place of a number that cannot be read."""

    def __init__(self, text: str) -> None:
        self.text = text


def _marks(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, _Mark):
        yield place, value.text
    elif isinstance(value, (dict, list)):
        for step, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _marks(each, f"{place}/{step}")


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(text)
    return value


def _marked(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            return _Mark(text)

    return number


_scan_finite: Any = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).scan_once  # type: ignore[attr-defined]
_decode_marked = json.JSONDecoder(
    parse_float=_marked(_finite), parse_constant=_marked(_finite), parse_int=_marked(int)
).decode


def _plain_value(value: Any) -> Any:
    return to_plain(value)


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain_value, separators=(",", ":")).encode


def dump(value: Any) -> str:
    """The JSON text of any value that has one; raises TypeError or ValueError."""
    text = _encode(value)
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, default=to_plain, separators=(",", ":"))
    return text


_LONG = re.compile(r"\d{309}")


def dump_exact(value: Any) -> str:
    """The same, for strict readers: halves of surrogate pairs, and numbers beyond a double, are a ValueError, too."""
    text = _encode(value)
    text.encode()
    if _LONG.search(text):
        json.loads(text, parse_int=_in_range)
    return text


def _in_range(digits: str) -> None:
    if float(digits) in (float("inf"), float("-inf")):
        raise ValueError("an integer is beyond the range of numbers in JSON")


def has_form(value: Any) -> bool:
    """True if a value has a form in JSON that every reader takes."""
    try:
        dump_exact(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def dump_schema(schema: Any) -> str:
    """The JSON text of a schema, without values and bounds that have no form in JSON, such as an infinite default."""
    return dump_exact(schema if has_form(schema) else _pruned(schema))


_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("default", "const", "enum", "examples")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def _pruned(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for name, each in schema.items():
        if name in _NAMES and isinstance(each, dict):
            kept[name] = {key: _pruned(value) for key, value in each.items()}
        elif name not in _DATA and isinstance(each, dict):
            kept[name] = _pruned(each)
        elif name not in _DATA and isinstance(each, list):
            kept[name] = [_pruned(one) for one in each]
        elif name not in _DATA + _BOUNDS or has_form(each):
            kept[name] = each
    return kept


def to_plain(value: Any) -> Any:
    """A value as JSON has it: dicts, lists and scalars."""
    kind = type(value)
    if kind in (str, int, float, bool) or value is None:
        return value
    if kind is dict or isinstance(value, dict):
        return {_key(name): to_plain(each) for name, each in value.items()}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if hasattr(kind, "__dataclass_fields__"):
        return {name: to_plain(getattr(value, name)) for name in kind.__dataclass_fields__ if not name.startswith("_")}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: to_plain(each) for name, each in value._asdict().items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(each) for each in value]
    if "enum" in sys.modules and isinstance(value, sys.modules["enum"].Enum):
        return to_plain(value.value)
    for scalar in (str, int, float):
        if isinstance(value, scalar):
            return scalar(value)
    return _to_text(value)


def _to_text(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        import base64

        return base64.b64encode(value).decode()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "total_seconds"):
        return value.total_seconds()
    if hasattr(value, "__fspath__"):
        return str(value)
    if type(value).__name__ in ("UUID", "Decimal"):
        return str(value)
    if isinstance(value, (range, type({}.keys()), type({}.values()))):
        return list(value)
    raise TypeError(f"a value of type {type(value).__qualname__} has no form in JSON")


def _key(name: Any) -> str:
    if type(name) is str:
        return name
    plain = to_plain(name)
    return plain if isinstance(plain, str) else json.dumps(plain)
