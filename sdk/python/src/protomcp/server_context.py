"""Values that the server passes to handlers by the names of their parameters, computed from the arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import _registry
from ._registry import check_text

_F = TypeVar("_F", bound=Callable[..., Any])
_context_registry: list[ContextDef] = []


class ContextDef:
    """A resolver, and the parameter that it fills. Without `expose` the parameter is not in schemas."""

    def __init__(self, param_name: str, resolver: Callable[[dict[str, Any]], Any], expose: bool) -> None:
        self.param_name = param_name
        self.resolver = resolver
        self.expose = expose


def server_context(param_name: str, expose: bool = True) -> Callable[[_F], _F]:
    """Passes the result of the function to every handler that has a parameter of this name.

    The function is called with the arguments of the call before the handler is, and may take some away. With `expose`
    the parameter stays in the schemas of tools, so that the function can use what the caller passes.
    """
    check_text("server_context", "the name of a parameter", param_name)

    def decorator(func: _F) -> _F:
        _context_registry.append(ContextDef(param_name, func, expose))
        _registry.changed()
        return func

    return decorator


def get_registered_contexts() -> list[ContextDef]:
    return list(_context_registry)


def clear_context_registry() -> None:
    _context_registry.clear()
    _registry.changed()


def resolve_contexts(args: dict[str, Any]) -> dict[str, Any]:
    """The values of all contexts for these arguments."""
    return {each.param_name: each.resolver(args) for each in _context_registry}


def get_hidden_context_params() -> set[str]:
    """The parameters that are not in schemas."""
    return {each.param_name for each in _context_registry if not each.expose}
