"""JSON text, and Python values as JSON.

The import of `json`, which brings `re` and `enum`, takes a sixth of the start of a small file. So this uses the
functions in C behind it, and `json` itself where they are not there, or take other arguments than those that are known.
"""

from __future__ import annotations

import sys
from collections import UserString
from collections.abc import Iterator, Mapping, Sequence, Set, ValuesView
from itertools import islice
from types import SimpleNamespace

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CONSTANTS = {"-Infinity": float("-inf"), "Infinity": float("inf"), "NaN": float("nan")}


def _scanner(**options: Any) -> Any:
    """`scan_once` of a `json.JSONDecoder` with these options."""
    try:
        from _json import make_scanner

        known = {"parse_float": float, "parse_int": int, "parse_constant": _CONSTANTS.__getitem__} | options
        settings: Any = SimpleNamespace(strict=True, object_hook=None, object_pairs_hook=None, **known)
        return make_scanner(settings)
    except (ImportError, AttributeError, TypeError):
        import json

        return json.JSONDecoder(**options).scan_once  # type: ignore[attr-defined]


_scan = _scanner()


def _decode(text: str) -> Any:
    import json

    return json.loads(text)


def _encoder() -> tuple[Callable[[str], str], Callable[[Any], str]]:
    """The functions for texts, and for any value."""
    try:
        from _json import encode_basestring, make_encoder

        def encode(value: Any) -> str:
            if isinstance(value, str):
                return encode_basestring(value)
            # As `json.JSONEncoder.encode`; the dict is for the values that are being written.
            write: Any = make_encoder({}, to_plain, encode_basestring, None, ":", ",", False, False, False)
            return "".join(write(value, 0))

        if encode({"a": [1, None]}) == '{"a":[1,null]}':
            return encode_basestring, encode
    except (ImportError, AttributeError, TypeError):
        pass
    import json.encoder

    encoder = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, default=lambda value: to_plain(value), separators=(",", ":")
    )
    return json.encoder.encode_basestring, encoder.encode


def quote(text: str) -> str:
    """A string of JSON, as `mended`."""
    return mended(_quote(text))


def mended(text: str) -> str:
    """A text that has a form in UTF-8: U+FFFD takes the place of halves of surrogate pairs.

    Names of files have such halves: `os.listdir` writes bytes that are not UTF-8 with them.
    """
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


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


_scan_finite = _scanner(parse_float=_finite, parse_constant=_finite)


def _decode_marked(text: str) -> Any:
    import json

    numbers = {"parse_float": _marked(_finite), "parse_constant": _marked(_finite), "parse_int": _marked(int)}
    return json.loads(text, **numbers)  # type: ignore[arg-type]


def dump(value: Any) -> str:
    """The JSON text of any value that has one, as `mended`; raises TypeError or ValueError."""
    text: str = _encode(value)
    _check_range(text)
    return mended(text)


def dump_exact(value: Any) -> str:
    """The same, but halves of surrogate pairs are a ValueError, too."""
    text = _encode(value)
    _check_range(text)
    text.encode()
    return text


def _check_range(text: str) -> None:
    """Raises ValueError if a number is beyond a double, which other readers refuse."""
    # A number with 309 digits, the shortest beyond a double, has one of these places.
    for at in range(308, len(text), 309):
        if text[at].isdigit() and _digits_around(text, at) > 308:
            import json

            json.loads(text, parse_int=_in_range)
            return


def _digits_around(text: str, at: int) -> int:
    before, after = text[max(at - 308, 0) : at], text[at : at + 309]
    digits = "0123456789"
    return len(before) - len(before.rstrip(digits)) + len(after) - len(after.lstrip(digits))


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


class Dumped(dict[str, "Any"]):
    """A model of pydantic as JSON has it. `kind` is its class."""

    __slots__ = ("kind",)

    def __init__(self, value: dict[str, Any], kind: type) -> None:
        super().__init__(value)
        self.kind = kind


def to_plain(value: Any) -> Any:
    """A value as JSON has it: dicts, lists and scalars."""
    kind = type(value)
    if kind in (str, int, float, bool) or value is None:
        return value
    if kind is dict or isinstance(value, dict):
        return {_key(name): to_plain(each) for name, each in value.items()}
    if hasattr(value, "model_dump"):
        found = value.model_dump(mode="json", by_alias=True)
        return Dumped(found, kind) if type(found) is dict else found
    if hasattr(kind, "__dataclass_fields__"):
        from dataclasses import fields

        return {each.name: to_plain(getattr(value, each.name)) for each in fields(value) if each.name[0] != "_"}
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
    if type(value).__name__ in ("UUID", "Decimal") or isinstance(value, UserString):
        return str(value)
    if isinstance(value, Mapping):
        return to_plain(dict(value))
    if isinstance(value, Iterator):
        value = taken(value)
    if isinstance(value, (Sequence, Set, ValuesView)):
        return [to_plain(each) for each in value]
    raise TypeError(f"a value of type {type(value).__qualname__} has no form in JSON")


MAX_TAKEN = 100_000
"""The most elements of an iterator, which may have no end."""


def taken(values: Iterator[Any]) -> list[Any]:
    """The elements of an iterator; raises ValueError if there are too many."""
    found = list(islice(values, MAX_TAKEN + 1))
    if len(found) > MAX_TAKEN:
        raise ValueError(f"an iterator has more than {MAX_TAKEN:,} elements: return a list")
    return found


def _key(name: Any) -> str:
    if type(name) is str:
        return name
    plain = to_plain(name)
    return plain if isinstance(plain, str) else _written(plain)


def _written(value: Any) -> str:
    import json

    return json.dumps(value)


_quote, _encode = _encoder()
