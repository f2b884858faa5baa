"""Models of pydantic: their schemas with the names of this one, and values by their checks."""

from __future__ import annotations

from ._faults import Faults, quoted
from ._json import Dumped, dump
from ._references import PREFIX, conflicts, renamed, walked
from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ._types import Schema


def model_schema(
    cls: Any, name: str, definitions: dict[str, Schema], *, is_output: bool
) -> tuple[Schema, dict[str, Schema]]:
    """The schema of a model that is defined by this name, and the definitions of the models in it."""
    mode = "serialization" if is_output else "validation"
    schema = _fitting(cls.model_json_schema(ref_template=PREFIX + "{model}", mode=mode), is_output=is_output)
    inner: dict[str, Schema] = schema.pop("$defs", {})
    names = {}
    if "$ref" in schema:
        # The model refers to itself.
        own = schema["$ref"].rpartition("/")[2]
        names[own] = name
        schema = inner.pop(own)
    names |= conflicts(inner, definitions)
    defined = {names.get(each, each): renamed(definition, names) for each, definition in inner.items()}
    return renamed(schema, names), defined


_UNFIT = (("path",), ("path", "date-time", "time"))


def _fitting(schema: Schema, *, is_output: bool) -> Any:
    """The schema without formats that its values do not have.

    JSON Schema has no format for paths. Times of Python may have no zone, and clients refuse a result with such a one.
    """
    unfit = _UNFIT[is_output]
    return walked(
        schema, lambda part: {key: each for key, each in part.items() if key != "format" or each not in unfit}
    )


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
