"""Definitions of several schemas together: those whose name is taken by another one have a new name."""

from __future__ import annotations

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._types import Schema

PREFIX = "#/$defs/"
_NAMES = ("properties", "patternProperties", "$defs", "dependentSchemas")
_DATA = ("default", "const", "enum", "examples")


def conflicts(inner: dict[str, Schema], definitions: dict[str, Schema]) -> dict[str, str]:
    """New names for definitions that are not the ones with their names, and for those that refer to them."""
    names: dict[str, str] = {}
    while True:
        more = [
            name
            for name, definition in inner.items()
            if name not in names
            and name in definitions
            and (definitions[name] != definition or _refers(definition, names))
        ]
        if not more:
            return names
        for name in more:
            new = name
            while new in definitions or new in inner or new in names.values():
                new += "_"
            names[name] = new


def renamed(schema: Any, names: dict[str, str]) -> Any:
    """The schema whose references have the new names."""

    def target(reference: str) -> str:
        name = reference.removeprefix(PREFIX)
        return PREFIX + names[name] if name in names else reference

    def change(part: Schema) -> Schema:
        if isinstance(reference := part.get("$ref"), str):
            part = part | {"$ref": target(reference)}
        if isinstance(mapping := part.get("mapping"), dict) and "propertyName" in part:
            part = part | {"mapping": {key: target(value) for key, value in mapping.items()}}
        return part

    return walked(schema, change) if names else schema


def _refers(schema: Schema, names: dict[str, str]) -> bool:
    found = False

    def look(part: Schema) -> Schema:
        nonlocal found
        found = found or part.get("$ref", "").removeprefix(PREFIX) in names
        return part

    if names:
        walked(schema, look)
    return found


def walked(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """The schema with a change of each schema in it."""
    if isinstance(schema, list):
        return [walked(each, change) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {}
    for name, each in schema.items():
        if name in _NAMES and isinstance(each, dict):
            found[name] = {key: walked(value, change) for key, value in each.items()}
        else:
            found[name] = each if name in _DATA else walked(each, change)
    return change(found)
