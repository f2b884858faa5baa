"""The parameters of a handler, without the module `inspect`: its import costs more than the rest of this package."""

from __future__ import annotations

import sys

from ._types import REQUIRED, Unresolved, resolve, resolve_loosely
from ._typing import TYPE_CHECKING
from .errors import DeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _Parameters = tuple[list[str], dict[str, Any], bool, list[str]]
    """The names, the defaults, true if any other name is taken, too, and the names that are positional-only."""

_KEYWORDS, _COROUTINE, _GENERATORS = 0x08, 0x80, 0x220


class Signature:
    """The parameters of a handler, with their types and defaults.

    `call` calls it with values by name. `unresolved` has the reasons for types of which a part is not known.
    """

    __slots__ = ("call", "defaults", "hints", "names", "returns", "scope", "takes_any", "unresolved")

    def __init__(self, function: Callable[..., Any]) -> None:
        inner = _function(function)
        self.names, self.defaults, self.takes_any, positional = _parameters(function)
        self.call = _by_place(function, positional, self.defaults) if positional else function
        self.scope: dict[str, Any] = getattr(inner, "__globals__", {})
        self.unresolved: dict[str, str] = {}
        self.hints = self._hints(inner)
        self.returns = self.hints.pop("return", REQUIRED)

    def _hints(self, function: Any) -> dict[str, Any]:
        try:
            # From Python 3.14 on this evaluates them.
            annotations = getattr(function, "__annotations__", None) or {}
            if not any(isinstance(each, str) for each in annotations.values()):
                # There is nothing to resolve at the top; names inside are resolved where they are met.
                return dict(annotations)
            import typing

            return typing.get_type_hints(function, include_extras=True)
        except Exception:
            return {name: self._resolved(name, each) for name, each in _annotations(function).items()}

    def _resolved(self, name: str, annotation: Any) -> Any:
        text = getattr(annotation, "__forward_arg__", annotation)
        if not isinstance(text, str):
            return annotation
        try:
            return resolve(text, self.scope)
        except Unresolved as error:
            self.unresolved[name] = str(error)
            return resolve_loosely(text, self.scope)


def code_of(function: Callable[..., Any]) -> Any:
    return getattr(_function(function), "__code__", None)


def is_async(function: Callable[..., Any]) -> bool:
    """True if calling the function returns a coroutine."""
    code = code_of(function)
    return code is not None and bool(code.co_flags & _COROUTINE)


def is_generator(function: Callable[..., Any]) -> bool:
    """True if calling the function returns a generator, plain or async."""
    code = code_of(function)
    return code is not None and bool(code.co_flags & _GENERATORS)


def place_of(function: Callable[..., Any]) -> str:
    """The file and the line of a function."""
    code = code_of(function)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)


def name_of(function: Callable[..., Any]) -> str:
    inner = function if callable(function) else _function(function)
    return getattr(inner, "__name__", None) or type(function).__name__


def doc_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__doc__", None) or ""


def _function(function: Any) -> Any:
    """The function behind methods, properties, partial objects, objects that can be called, and functools.wraps."""
    for _ in range(64):
        if hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "__func__"):
            function = function.__func__
        elif hasattr(function, "func") and hasattr(function, "keywords"):
            function = function.func
        elif not callable(function) and (inner := _getter(function)) is not None:
            function = inner
        elif not hasattr(function, "__code__") and hasattr(type(function).__call__, "__code__"):
            function = type(function).__call__
        else:
            break
    return function


def _getter(function: Any) -> Any:
    """The function of a property, plain or cached."""
    return getattr(function, "fget", None) or getattr(function, "func", None)


def set_mark(function: Any, name: str, value: Any) -> None:
    """Sets an attribute on the function of a static method, a class method or a property, where `marked` finds it."""
    inner = getattr(function, "__func__", None) or (None if callable(function) else _getter(function)) or function
    try:
        setattr(inner, name, value)
    except AttributeError:
        raise DeclarationError(f"{place_of(function)} takes no marks: wrap it in a function") from None


def marked(instance: Any, name: str) -> list[tuple[Any, Any]]:
    """The methods of an object that have this mark, with its value. Properties stand as they are, not evaluated."""
    found = []
    for attribute in dir(instance):
        own = next((vars(cls)[attribute] for cls in type(instance).__mro__ if attribute in vars(cls)), None)
        is_property = not callable(own) and not hasattr(own, "__func__") and _getter(own) is not None
        method = own if is_property else getattr(instance, attribute, None)
        if (mark := getattr(_getter(own) if is_property else method, name, None)) is not None:
            found.append((method, mark))
    return found


def key_of(function: Any) -> Any:
    """The key of a function in a dict: its identity if it has no hash."""
    try:
        hash(function)
    except TypeError:
        return id(function)
    return function


def _by_place(function: Callable[..., Any], positional: list[str], defaults: dict[str, Any]) -> Callable[..., Any]:
    """The function with its positional-only parameters by name."""

    def call(**values: Any) -> Any:
        given = [values.pop(each) if each in values else defaults[each] for each in positional]
        return function(*given, **values)

    return call


def _parameters(function: Any) -> _Parameters:
    while isinstance(function, staticmethod):
        function = function.__func__
    if not callable(function):
        kind = type(function).__name__
        raise DeclarationError(f"a {kind} cannot be called by itself: register a function, or a staticmethod")
    plain = getattr(function, "__func__", function)
    code = getattr(plain, "__code__", None)
    if code is None or hasattr(plain, "__wrapped__"):
        return _inspected(function)
    positional, first = code.co_argcount, int(plain is not function)
    names = list(code.co_varnames[: positional + code.co_kwonlyargcount])
    given = plain.__defaults__ or ()
    defaults = dict(zip(names[positional - len(given) : positional], given, strict=True))
    defaults.update(plain.__kwdefaults__ or {})
    return names[first:], defaults, bool(code.co_flags & _KEYWORDS), names[first : code.co_posonlyargcount]


def _inspected(function: Any) -> _Parameters:
    import inspect

    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise DeclarationError("its parameters are not known to Python: wrap it in a function") from None
    names, defaults, takes_any, positional = [], {}, False, []
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            names.append(name)
            if parameter.default is not parameter.empty:
                defaults[name] = parameter.default
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(name)
    return names, defaults, takes_any, positional


def _annotations(function: Any) -> dict[str, Any]:
    if sys.version_info < (3, 14):
        return getattr(function, "__annotations__", None) or {}
    import annotationlib  # type: ignore[import-not-found,unused-ignore]

    return annotationlib.get_annotations(function, format=annotationlib.Format.FORWARDREF)
