"""Values that functions provide to handlers. They never reach the schema."""

from __future__ import annotations

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Dependency:
    """Marks a parameter whose value comes from a function."""

    __slots__ = ("provider",)

    def __init__(self, provider: Callable[..., Any]) -> None:
        self.provider = provider


def Depends(provider: Callable[..., Any]) -> Any:
    """The default of a parameter, or a part of its `Annotated` type: the value is what `provider` returns.

    A provider may be async, may take a context, and may depend on other providers. One that several parameters of a
    call depend on runs once in this call. A generator is resumed after the call: what follows `yield` closes what was
    opened.
    """
    return Dependency(provider)
