"""The parameters of a handler, without the module `inspect`: its import costs more than the rest of this package."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from typing import Any

from ._types import REQUIRED, UnknownType
from .errors import DeclarationError

_KEYWORDS, _COROUTINE, _GENERATORS = 0x08, 0x80, 0x220


class Signature:
    """The parameters that can be passed by name, with their types and defaults."""

    __slots__ = ("defaults", "hints", "names", "returns", "scope", "takes_any")

    def __init__(self, function: Callable[..., Any]) -> None:
        inner = _function(function)
        self.names, self.defaults, self.takes_any = _parameters(function)
        self.scope: dict[str, Any] = getattr(inner, "__globals__", {})
        self.hints = _hints(inner)
        self.returns = self.hints.pop("return", REQUIRED)


def is_async(function: Callable[..., Any]) -> bool:
    """True if calling the function returns a coroutine."""
    code = getattr(_function(function), "__code__", None)
    return code is not None and bool(code.co_flags & _COROUTINE)


def is_generator(function: Callable[..., Any]) -> bool:
    """True if calling the function returns a generator, plain or async."""
    code = getattr(_function(function), "__code__", None)
    return code is not None and bool(code.co_flags & _GENERATORS)


def place_of(function: Callable[..., Any]) -> str:
    """The file and the line of a function."""
    code = getattr(_function(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def doc_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__doc__", None) or ""


def _function(function: Any) -> Any:
    """The function behind methods, partial objects, objects that can be called, and decorators with functools.wraps."""
    for _ in range(64):
        if hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "__func__"):
            function = function.__func__
        elif hasattr(function, "func") and hasattr(function, "keywords"):
            function = function.func
        elif not hasattr(function, "__code__") and hasattr(type(function).__call__, "__code__"):
            function = type(function).__call__
        else:
            break
    return function


def _parameters(function: Any) -> tuple[list[str], dict[str, Any], bool]:
    """The names, the defaults, and whether any other name is taken, too."""
    plain = getattr(function, "__func__", function)
    code = getattr(plain, "__code__", None)
    if code is None or hasattr(plain, "__wrapped__"):
        return _inspected(function)
    if code.co_posonlyargcount > (plain is not function):
        raise DeclarationError(f"the arguments of {name_of(function)} are passed by name: leave out the `/`")
    positional = code.co_argcount
    names = list(code.co_varnames[: positional + code.co_kwonlyargcount])
    given = plain.__defaults__ or ()
    defaults = dict(zip(names[positional - len(given) : positional], given, strict=True))
    defaults.update(plain.__kwdefaults__ or {})
    return names[plain is not function :], defaults, bool(code.co_flags & _KEYWORDS)


def _inspected(function: Any) -> tuple[list[str], dict[str, Any], bool]:
    import inspect

    names, defaults, takes_any = [], {}, False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            names.append(name)
            if parameter.default is not parameter.empty:
                defaults[name] = parameter.default
    return names, defaults, takes_any


def _hints(function: Any) -> dict[str, Any]:
    if sys.version_info < (3, 14):
        annotations = getattr(function, "__annotations__", None) or {}
        if not any(isinstance(each, str) for each in annotations.values()):
            # There is nothing to resolve at the top; names inside are resolved where they are met.
            return dict(annotations)
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UnknownType(f"an annotation cannot be resolved: {error}") from None
