"""The input of a handler: the schema of its arguments, and their conversion to keyword arguments."""

from __future__ import annotations

import sys

from . import _docstring
from ._faults import Faults, InvalidArguments
from ._json import Beyond, parse_finite
from ._signature import Signature, doc_of, place_of
from ._types import (
    REQUIRED,
    Field,
    Kind,
    Types,
    UnknownType,
    Unresolved,
    accepts_null,
    load_members,
    missing,
    with_default,
)
from ._typing import TYPE_CHECKING, get_args, get_origin, is_special
from .depends import Dependency
from .errors import DeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._types import Schema

_EXACT = (str, bool)
"""Types whose JSON values need no conversion."""


class Input:
    """The parameters of one handler.

    `injected` are the names that `server_context` provides: the ones of hidden contexts are left out of the schema.
    """

    __slots__ = (
        "_exact",
        "_place",
        "call",
        "context_name",
        "context_type",
        "dependencies",
        "fields",
        "has_models",
        "injected",
        "names",
        "schema",
        "signature",
        "takes_any",
        "types",
    )

    def __init__(self, handler: Callable[..., Any], exposed: set[str], hidden: set[str]) -> None:
        self.signature = signature = Signature(handler)
        self.call = signature.call
        self._place = place_of(handler)
        self.types = Types(signature.scope)
        self.takes_any = signature.takes_any
        self.context_name = ""
        self.context_type: Any = None
        self.dependencies: list[tuple[str, Callable[..., Any]]] = []
        self.fields: list[Field] = []
        self.injected: list[str] = []
        notes = _docstring.parameters(doc_of(handler))
        for name in signature.names:
            hint, default = signature.hints.get(name, object), signature.defaults.get(name, REQUIRED)
            if name in ("self", "cls"):
                if default is REQUIRED:
                    raise DeclarationError(
                        f"nothing fills in {name}: register a function, a staticmethod, or the method of an object"
                    )
                continue
            if name in exposed or name in hidden:
                self.injected.append(name)
            if name in hidden:
                continue
            if context_type_of(hint) is not None or (name == "ctx" and not self._is_argument(name, hint)):
                self.context_name, self.context_type = name, context_type_of(hint)
            elif provider := provider_of(hint, default):
                self.dependencies.append((name, provider))
            else:
                is_required = default is REQUIRED and name not in exposed and not _is_optional(hint)
                kind = self._kind(name, hint, default, notes.get(name))
                if name in exposed:
                    # The value of the server is passed as it is.
                    kind = Kind(kind.schema, lambda value, place, faults: value)
                self.fields.append(Field(name, kind, is_required=is_required, default=default))
        self.names = {each.name for each in self.fields}
        self._exact = [(each, _exact_type(each.kind)) for each in self.fields]
        self.schema = self._schema()
        self.has_models = self.types.has_models

    def _is_argument(self, name: str, hint: Any) -> bool:
        """True if the annotation says what an argument looks like in JSON."""
        if name in self.signature.unresolved:
            return False
        try:
            schema = Types(self.signature.scope).of(hint).schema
        except UnknownType:
            return False
        return not schema.keys() <= {"description"} and {} not in schema.get("anyOf", ())

    def _kind(self, name: str, hint: Any, default: Any, note: str | None) -> Kind:
        try:
            kind = self.types.of(hint)
        except Unresolved as error:
            self.signature.unresolved[name] = str(error)
            kind = self.types.of(object)
        except UnknownType as error:
            raise UnknownType(f"the parameter {name}: {error}") from None
        if reason := self.signature.unresolved.get(name):
            _warn(f"{self._place}: the parameter {name} takes any value where its type is not known: {reason}")
        if default is None and not accepts_null(kind.schema):
            # `text: str = None` is written often, and means what it says.
            load = kind.load
            kind = Kind(kind.schema, lambda value, place, faults: None if value is None else load(value, place, faults))
        if note and "description" not in kind.schema:
            kind = Kind(kind.schema | {"description": note}, kind.load)
        return kind

    def _schema(self) -> Schema:
        properties = {each.name: with_default(each.kind.schema, each.default) for each in self.fields}
        schema: Schema = {"type": "object", "properties": properties}
        if required := [each.name for each in self.fields if each.is_required]:
            schema["required"] = required
        return self.types.complete(schema)

    def load(
        self, tool: str, arguments: dict[str, Any], kind: str = "tool", *, patterns: bool = True
    ) -> dict[str, Any]:
        """The keyword arguments of a call of this tool; raises InvalidArguments. See `Faults` for `patterns`."""
        found: dict[str, Any] = {}
        faults: Faults | None = None
        matched = 0
        for field, exact in self._exact:
            name = field.name
            if name in arguments:
                matched += 1
                value = arguments[name]
                if type(value) is exact:
                    found[name] = value
                else:
                    if faults is None:
                        faults = Faults(patterns=patterns)
                    found[name] = field.kind.load(value, field.step, faults)
            elif field.is_required:
                if faults is None:
                    faults = Faults(patterns=patterns)
                faults.add("", missing(field))
            elif field.default is REQUIRED and name not in self.injected:
                found[name] = None
        if matched != len(arguments):
            faults = faults or Faults(patterns=patterns)
            self._others(arguments, found, faults)
        if faults:
            raise InvalidArguments(tool, faults, kind)
        return found

    def _others(self, arguments: dict[str, Any], found: dict[str, Any], faults: Faults) -> None:
        """Arguments without a parameter: they are passed on, injected, or unknown."""
        for name, value in arguments.items():
            if name in self.names:
                continue
            if self.takes_any or name in self.injected:
                found[name] = value
            else:
                known = [Field(each.name, each.kind, is_required=False) for each in self.fields]
                load_members(known, {name: value}, "", faults)


def arguments_of(text: str, name: str, kind: str = "tool") -> dict[str, Any]:
    """The arguments of a call of this tool as JSON; raises InvalidArguments."""
    try:
        found = parse_finite(text) if text else {}
    except Beyond as error:
        faults = Faults()
        for each in error.places:
            faults.add(*each)
        raise InvalidArguments(name, faults, kind) from None
    if type(found) is not dict:
        raise ValueError("the arguments of a call are a JSON object")
    return found


_inputs: dict[int, tuple[Callable[..., Any], Input]] = {}
"""By the identities of the handlers, which are kept with them: some have no hash."""


def input_of(function: Callable[..., Any]) -> Input:
    """The input of a handler that is not a tool."""
    found = _inputs.get(id(function))
    if found is None:
        found = _inputs[id(function)] = function, Input(function, set(), set())
    return found[1]


_warnings: set[str] = set()


def _warn(text: str) -> None:
    """Writes a text to the log, once."""
    if text not in _warnings:
        _warnings.add(text)
        print(f"protomcp: {text}", file=sys.stderr, flush=True)


def context_type_of(hint: Any) -> Any:
    """The class of a context in an annotation: `ToolContext`, `ToolContext | None`."""
    if getattr(hint, "_is_protomcp_context", False):
        return hint
    for each in get_args(hint):
        if getattr(each, "_is_protomcp_context", False):
            return each
    return None


def provider_of(hint: Any, default: Any) -> Callable[..., Any] | None:
    if isinstance(default, Dependency):
        return default.provider
    if is_special(get_origin(hint), "Annotated"):
        for each in get_args(hint)[1:]:
            if isinstance(each, Dependency):
                return each.provider
    return None


def _is_optional(hint: Any) -> bool:
    """A parameter that may be None can be left out."""
    while is_special(get_origin(hint), "Annotated"):
        hint = get_args(hint)[0]
    return type(None) in get_args(hint)


def _exact_type(kind: Kind) -> type | None:
    from ._scalars import SCALARS

    return next((cls for cls in (*_EXACT, int) if SCALARS[cls][1] is kind.load), None)
