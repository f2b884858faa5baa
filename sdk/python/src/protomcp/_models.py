"""Models of pydantic: their schemas with the names of this one, and values by their checks."""

from __future__ import annotations

from ._faults import Faults, quoted
from ._json import Dumped, dump
from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._types import Schema

_NAMES = ("properties", "patternProperties", "$defs", "dependentSchemas")
_DATA = ("default", "const", "enum", "examples")
_PREFIX = "#/$defs/"


def model_schema(
    cls: Any, name: str, definitions: dict[str, Schema], *, is_output: bool
) -> tuple[Schema, dict[str, Schema]]:
    """The schema of a model that is defined by this name, and the definitions of the models in it."""
    mode = "serialization" if is_output else "validation"
    schema = _fitting(cls.model_json_schema(ref_template=_PREFIX + "{model}", mode=mode), is_output=is_output)
    inner: dict[str, Schema] = schema.pop("$defs", {})
    renamed = {}
    if "$ref" in schema:
        # The model refers to itself.
        own = schema["$ref"].rpartition("/")[2]
        renamed[own] = name
        schema = inner.pop(own)
    renamed |= _conflicts(inner, definitions)

    def change(part: Schema) -> Schema:
        if isinstance(reference := part.get("$ref"), str):
            part = part | {"$ref": _renamed(reference, renamed)}
        if isinstance(mapping := part.get("mapping"), dict) and "propertyName" in part:
            part = part | {"mapping": {key: _renamed(value, renamed) for key, value in mapping.items()}}
        return part

    defined = {renamed.get(each, each): _walked(definition, change) for each, definition in inner.items()}
    return _walked(schema, change), defined


_UNFIT = (("path",), ("path", "date-time", "time"))


def _fitting(schema: Schema, *, is_output: bool) -> Any:
    """The schema without formats that its values do not have.

    JSON Schema has no format for paths. Times of Python may have no zone, and clients refuse a result with such a one.
    """
    unfit = _UNFIT[is_output]
    return _walked(
        schema, lambda part: {key: each for key, each in part.items() if key != "format" or each not in unfit}
    )


def _conflicts(inner: dict[str, Schema], definitions: dict[str, Schema]) -> dict[str, str]:
    """New names for models that are not the ones with their names, and for those that refer to them."""
    renamed: dict[str, str] = {}
    while True:
        more = [
            name
            for name, definition in inner.items()
            if name not in renamed
            and name in definitions
            and (definitions[name] != definition or _refers(definition, renamed))
        ]
        if not more:
            return renamed
        for name in more:
            new = name
            while new in definitions or new in inner or new in renamed.values():
                new += "_"
            renamed[name] = new


def _refers(schema: Schema, names: dict[str, str]) -> bool:
    found = False

    def look(part: Schema) -> Schema:
        nonlocal found
        found = found or part.get("$ref", "").removeprefix(_PREFIX) in names
        return part

    if names:
        _walked(schema, look)
    return found


def _renamed(reference: str, names: dict[str, str]) -> str:
    name = reference.removeprefix(_PREFIX)
    return _PREFIX + names[name] if name in names else reference


def _walked(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """The schema with a change of each schema in it."""
    if isinstance(schema, list):
        return [_walked(each, change) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {}
    for name, each in schema.items():
        if name in _NAMES and isinstance(each, dict):
            found[name] = {key: _walked(value, change) for key, value in each.items()}
        else:
            found[name] = each if name in _DATA else _walked(each, change)
    return change(found)


def load_model(cls: Any, value: Any, place: str, faults: Faults) -> Any:
    """The value of a model for JSON; its complaints are added to the faults."""
    try:
        return cls.model_validate(value)
    except ValueError as error:
        failure: Any = error
    if cls.model_config.get("strict"):
        try:
            # A strict model takes a date as text from JSON alone.
            return cls.model_validate_json(dump(value))
        except ValueError as error:
            failure = error if hasattr(error, "errors") else failure
    for each in failure.errors():
        inner = "".join(f"/{part}" for part in each["loc"])
        got = "" if each["type"] == "missing" else f", got {quoted(each['input'])}"
        faults.add(place + inner, f"{each['msg']}{got}")
    return None


def load_result(cls: Any, value: Any, place: str, faults: Faults) -> Any:
    """The same for a result, which often has been a value of the model already."""
    if type(value) is Dumped and issubclass(value.kind, cls):
        return value
    return load_model(cls, value, place, faults)
