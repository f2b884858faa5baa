"""Code that runs before the first request and after the last one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
_lifespans: list[Callable[[], Any]] = []
_GENERATOR, _ASYNC_GENERATOR = 0x20, 0x200


def lifespan(func: _F) -> _F:
    """Enters a context manager before the first request and leaves it after the last.

    The function is a generator with one `yield`, plain or async, or returns a context manager. Several are entered in
    the order of registration, and left in reverse.
    """
    _lifespans.append(func)
    return func


def registered() -> list[Callable[[], Any]]:
    return list(_lifespans)


def clear_lifespans() -> None:
    _lifespans.clear()


def is_async() -> bool:
    return any(_flags(each) & _ASYNC_GENERATOR or hasattr(each, "__aenter__") for each in _lifespans)


def entered(functions: list[Callable[[], Any]]) -> contextlib.ExitStack:
    """All of them, entered."""
    stack = contextlib.ExitStack()
    with stack:
        for each in functions:
            stack.enter_context(_manager(each))
        return stack.pop_all()


@contextlib.asynccontextmanager
async def entered_async(functions: list[Callable[[], Any]]) -> Any:
    """The same for plain and async ones."""
    async with contextlib.AsyncExitStack() as stack:
        for each in functions:
            manager = _manager(each)
            if hasattr(manager, "__aenter__"):
                await stack.enter_async_context(manager)
            else:
                stack.enter_context(manager)
        yield


def _flags(function: Any) -> int:
    return getattr(getattr(function, "__code__", None), "co_flags", 0)


def _manager(function: Any) -> Any:
    if _flags(function) & _ASYNC_GENERATOR:
        return contextlib.asynccontextmanager(function)()
    if _flags(function) & _GENERATOR:
        return contextlib.contextmanager(function)()
    return function()
