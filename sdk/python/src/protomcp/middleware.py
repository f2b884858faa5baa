"""Middleware that the bridge runs around every call of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._registry import check_text

_F = TypeVar("_F", bound=Callable[..., Any])
_middleware_registry: list[MiddlewareDef] = []


class MiddlewareDef:
    """A middleware `(phase, tool_name, args_json, result_json, is_error)`, its name and its place."""

    def __init__(self, name: str, priority: int, handler: Callable[..., Any]) -> None:
        self.name = name
        self.priority = priority
        self.handler = handler


def middleware(name: str, priority: int = 100) -> Callable[[_F], _F]:
    """Shows the function every call before and after its tool; lower priorities see a call earlier.

    It is called with `phase` (before or after), `tool_name`, `args_json`, `result_json` and `is_error`, and may return
    a dict: `arguments_json` or `result_json` replace what there is, and `reject` with `reject_reason` ends the call.
    """
    check_text("middleware", "a name", name)

    def decorator(func: _F) -> _F:
        _middleware_registry.append(MiddlewareDef(name, priority, func))
        return func

    return decorator


def get_registered_middleware() -> list[MiddlewareDef]:
    return list(_middleware_registry)


def clear_middleware_registry() -> None:
    _middleware_registry.clear()
