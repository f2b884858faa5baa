"""Suggestions for the arguments of prompts and resource templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._registry import check_text

_F = TypeVar("_F", bound=Callable[..., Any])
_completion_registry: dict[tuple[str, str, str], Callable[..., Any]] = {}


class CompletionResult:
    """Suggestions, the best first. `total` is the number of all of them, 0 if unknown; `meta` is the `_meta`."""

    def __init__(
        self, values: list[str], total: int = 0, has_more: bool = False, meta: dict[str, Any] | None = None
    ) -> None:
        self.values = values
        self.total = total
        self.has_more = has_more
        self.meta = meta


def completion(ref_type: str, ref_name: str, argument_name: str) -> Callable[[_F], _F]:
    """Asks the function for the values of an argument.

    `ref_type` is ref/prompt or ref/resource, `ref_name` the name of the prompt or the template. The function is called
    with the text that was typed so far, and with the settled arguments as a dict if it has a second parameter. It
    returns a list of texts or a CompletionResult.
    """
    check_text("completion", "a reference", ref_type)

    def decorator(func: _F) -> _F:
        _completion_registry[(ref_type, ref_name, argument_name)] = func
        return func

    return decorator


def get_completion_handler(ref_type: str, ref_name: str, argument_name: str) -> Callable[..., Any] | None:
    return _completion_registry.get((ref_type, ref_name, argument_name))


def get_registered_completions() -> list[tuple[tuple[str, str, str], Callable[..., Any]]]:
    return list(_completion_registry.items())


def clear_completion_registry() -> None:
    _completion_registry.clear()
