"""The part of `typing` that the package needs while it runs, without an import, which takes a tenth of a short start.

If no module has imported `typing`, no annotation is from it.
"""

from __future__ import annotations

import sys
from types import GenericAlias, UnionType

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any
    from typing import overload as overload
else:

    def overload(function):
        return function


def is_special(value: Any, name: str) -> bool:
    """True for this form of `typing`, such as `Any`."""
    return (typing := sys.modules.get("typing")) is not None and value is getattr(typing, name)


def is_variable(hint: Any) -> bool:
    """True for a TypeVar."""
    return hasattr(hint, "__constraints__")


def is_union(origin: Any) -> bool:
    return origin is UnionType or is_special(origin, "Union")


def get_origin(hint: Any) -> Any:
    """As `typing.get_origin`."""
    if typing := sys.modules.get("typing"):
        return typing.get_origin(hint)
    if isinstance(hint, GenericAlias):
        return hint.__origin__
    return UnionType if isinstance(hint, UnionType) else None


def get_args(hint: Any) -> tuple[Any, ...]:
    """As `typing.get_args`."""
    if typing := sys.modules.get("typing"):
        found: tuple[Any, ...] = typing.get_args(hint)
        return found
    return hint.__args__ if isinstance(hint, (GenericAlias, UnionType)) else ()
