"""Resolves the values of `Depends` for one call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ._input import Input
from ._signature import _function, key_of, name_of
from .context import context_as
from .errors import DeclarationError

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200


class Provider:
    """A function that provides a value, and what it depends on itself."""

    __slots__ = ("flags", "input", "needs")

    def __init__(self, function: Callable[..., Any], known: dict[Any, Provider]) -> None:
        known[key_of(function)] = self
        self.flags = getattr(getattr(_function(function), "__code__", None), "co_flags", 0)
        self.input = Input(function, set(), set())
        missing = [each.name for each in self.input.fields if each.is_required]
        if missing:
            names = ", ".join(missing)
            raise DeclarationError(
                f"{name_of(function)} provides a value, but nothing fills in {names}: give it a default, or `Depends`"
            )
        self.needs = [
            (name, known.get(key_of(each)) or Provider(each, known)) for name, each in self.input.dependencies
        ]

    @property
    def is_async(self) -> bool:
        """True if its value has to be awaited, or one that it depends on."""
        return bool(self.flags & (_COROUTINE | _ASYNC_GENERATOR)) or any(each.is_async for _, each in self.needs)


def _needs(input: Input, known: dict[Any, Provider]) -> list[tuple[str, Provider]]:
    return [(name, known.get(key_of(each)) or Provider(each, known)) for name, each in input.dependencies]


class Dependencies:
    """All values of `Depends` of one handler."""

    __slots__ = ("is_async", "needs")

    def __init__(self, input: Input) -> None:
        self.needs = _needs(input, {})
        self.is_async = any(each.is_async for _, each in self.needs)

    def call(self, handler: Callable[..., Any], arguments: dict[str, Any], ctx: Any) -> Any:
        """Calls a plain handler with its values; generators are closed afterwards."""
        with contextlib.ExitStack() as stack:
            values: dict[Provider, Any] = {}
            for name, provider in self.needs:
                arguments[name] = _solve(provider, ctx, values, stack)
            result = handler(**arguments)
            # An async function around a plain one: it has not begun.
            return _awaited(result, stack.pop_all()) if hasattr(result, "__await__") else result

    async def call_async(self, handler: Callable[..., Any], arguments: dict[str, Any], ctx: Any) -> Any:
        """The same for an async handler."""
        async with contextlib.AsyncExitStack() as stack:
            values: dict[Provider, Any] = {}
            for name, provider in self.needs:
                arguments[name] = await _solve_async(provider, ctx, values, stack)
            return await handler(**arguments)


async def _awaited(result: Any, stack: contextlib.ExitStack) -> Any:
    with stack:
        return await result


def _arguments(provider: Provider, ctx: Any) -> dict[str, Any]:
    if not provider.input.context_name:
        return {}
    return {provider.input.context_name: context_as(ctx, provider.input.context_type)}


def _solve(provider: Provider, ctx: Any, values: dict[Provider, Any], stack: contextlib.ExitStack) -> Any:
    if provider in values:
        return values[provider]
    arguments = _arguments(provider, ctx)
    for name, each in provider.needs:
        arguments[name] = _solve(each, ctx, values, stack)
    if provider.flags & _GENERATOR:
        value = stack.enter_context(contextlib.contextmanager(provider.input.call)(**arguments))
    else:
        value = provider.input.call(**arguments)
    values[provider] = value
    return value


async def _solve_async(
    provider: Provider, ctx: Any, values: dict[Provider, Any], stack: contextlib.AsyncExitStack
) -> Any:
    if provider in values:
        return values[provider]
    arguments = _arguments(provider, ctx)
    for name, each in provider.needs:
        arguments[name] = await _solve_async(each, ctx, values, stack)
    if provider.flags & _ASYNC_GENERATOR:
        value = await stack.enter_async_context(contextlib.asynccontextmanager(provider.input.call)(**arguments))
    elif provider.flags & _GENERATOR:
        value = stack.enter_context(contextlib.contextmanager(provider.input.call)(**arguments))
    else:
        value = provider.input.call(**arguments)
        if hasattr(value, "__await__"):
            value = await value
    values[provider] = value
    return value
