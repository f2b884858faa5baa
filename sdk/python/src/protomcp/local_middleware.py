"""Middleware inside the tool process: functions around every handler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

_F = TypeVar("_F", bound=Callable[..., Any])
_local_mw_registry: list[LocalMiddlewareDef] = []

Next = Callable[[Any, dict[str, Any]], Any]
"""The rest of the chain: takes the context and the arguments."""


class LocalMiddlewareDef:
    """A middleware `(ctx, tool_name, args, next_handler)`, and its place."""

    def __init__(self, priority: int, handler: Callable[..., Any]) -> None:
        self.priority = priority
        self.handler = handler


@overload
def local_middleware(priority: _F, /) -> _F: ...
@overload
def local_middleware(priority: int = 100) -> Callable[[_F], _F]: ...
def local_middleware(priority: Any = 100) -> Any:
    """Runs the function around every handler, the lowest priority outermost.

    It is called with the context, the name of the tool, the arguments and the rest of the chain, and returns the
    result. Around async handlers the rest of the chain returns an awaitable, and the function may be async itself.
    `@local_middleware` alone works, too.
    """
    if callable(priority):
        return local_middleware()(priority)

    def decorator(func: _F) -> _F:
        _local_mw_registry.append(LocalMiddlewareDef(priority, func))
        return func

    return decorator


def get_local_middleware() -> list[LocalMiddlewareDef]:
    """All middleware, the outermost first."""
    return sorted(_local_mw_registry, key=lambda each: each.priority)


def clear_local_middleware() -> None:
    _local_mw_registry.clear()


def build_middleware_chain(tool_name: str, handler: Callable[..., Any]) -> Next:
    """The chain around a handler, which is called with the arguments by name, and with `ctx` if there is one."""

    def innermost(ctx: Any, args: dict[str, Any]) -> Any:
        return handler(**args) if ctx is None else handler(ctx=ctx, **args)

    return wrap(tool_name, innermost)


def wrap(tool_name: str, innermost: Next) -> Next:
    """The chain around the function that takes the context and the arguments."""
    chain = innermost
    for each in reversed(get_local_middleware()):
        chain = _link(each.handler, tool_name, chain)
    return chain


def _link(handler: Callable[..., Any], tool_name: str, following: Next) -> Next:
    return lambda ctx, args: handler(ctx, tool_name, args, following)
