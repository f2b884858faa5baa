"""Python types as JSON Schema, and JSON as values of Python types.

`Types.of(hint)` returns a `Kind`: the schema, and a function that checks a JSON value and converts it. Named types
(dataclasses, TypedDicts, enums, models) stand in `$defs` if they are used by themselves, so that types may be
recursive.
"""

from __future__ import annotations

import builtins
import collections.abc
import sys

from ._faults import Faults, did_you_mean, names, quoted
from ._json import parse_finite
from ._scalars import SCALARS
from ._typing import TYPE_CHECKING, get_args, get_origin, is_special, is_union, is_variable
from .errors import DeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Load = Callable[[Any, str, Faults], Any]
    """Converts a JSON value at a place; faults are added, and the result is then not used."""

    Schema = dict[str, Any]


_ARRAYS: dict[Any, Callable[[list[Any]], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Set: frozenset,
    collections.abc.MutableSet: set,
}
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class Kind:
    """A type: its schema, and the function that converts JSON to its values."""

    __slots__ = ("constants", "keys", "load", "schema")

    def __init__(self, schema: Schema, load: Load) -> None:
        self.schema = schema
        self.load = load
        # The values of members that tell an object of this type from others.
        self.constants: dict[str, list[Any]] = {}
        # The names that an object of this type must have, and those that it can have; None if any object may fit.
        self.keys: tuple[frozenset[str], frozenset[str]] | None = None


class UnknownType(DeclarationError):
    """A type that has no form in JSON."""


class Unresolved(UnknownType):
    """An annotation that cannot be evaluated, such as one of a name that is imported for type checkers alone."""


def resolve(name: str, scope: dict[str, Any]) -> Any:
    """The type that is written as text; raises Unresolved."""
    try:
        return eval(name, _known(scope))
    except Exception as error:
        raise Unresolved(f"{name} cannot be resolved: {error}") from None


def resolve_loosely(name: str, scope: dict[str, Any]) -> Any:
    """The same, with `Any` for the names that are not known."""
    try:
        return eval(name, {}, _Loose(vars(builtins) | _known(scope)))
    except Exception:
        return object


class _Loose(dict[str, "Any"]):
    def __missing__(self, name: str) -> Any:
        return sys.modules["typing"].Any


def _known(scope: dict[str, Any]) -> dict[str, Any]:
    """The names in annotations. A context decides how its handler is called, also if only type checkers import it."""
    import typing

    from .context import AsyncContext, ToolContext

    own = {"protomcp": sys.modules[__package__], "AsyncContext": AsyncContext, "ToolContext": ToolContext}
    return {"typing": typing} | vars(typing) | own | scope


class _Text:
    """A type that is written as text. `kind` refers to it, if it holds itself."""

    __slots__ = ("kind", "made", "name")

    def __init__(self) -> None:
        self.kind: Kind | None = None
        self.made: Kind | None = None
        self.name = ""

    def load(self, value: Any, place: str, faults: Faults) -> Any:
        assert self.made is not None
        return self.made.load(value, place, faults)


class Types:
    """The types of one schema. `definitions` are its `$defs`; `scope` resolves names in annotations."""

    def __init__(self, scope: dict[str, Any] | None = None, *, is_output: bool = False) -> None:
        self._is_output = is_output
        self.definitions: dict[str, Schema] = {}
        # True if a model of pydantic is among them: it may convert values that its schema does not allow.
        self.has_models = False
        self._scope = scope or {}
        self._named: dict[Any, Kind] = {}
        self._names: dict[str, Any] = {}
        # The types that are written as text and are being read, or that are recursive.
        self._texts: dict[str, _Text] = {}

    def of(self, hint: Any) -> Kind:
        """The kind of a type; raises UnknownType."""
        try:
            return self._of(hint)
        except UnknownType:
            raise
        except Exception as error:
            # Of the code of a class, such as a model that cannot make its schema.
            reason = str(error).partition("\n")[0]
            raise UnknownType(f"{_name_of(hint)} has no form in JSON: {reason}") from None

    def _of(self, hint: Any) -> Kind:
        if isinstance(hint, str):
            import typing

            hint = typing.ForwardRef(hint)
        if hasattr(hint, "__forward_arg__"):
            return self._of_text(hint.__forward_arg__)
        if hint is object or is_special(hint, "Any") or is_variable(hint):
            return self._of_variable(hint)
        if hint is None or hint is type(None):
            return Kind({"type": "null"}, _load_null)
        # Before it is looked up: an `Annotated` may have no hash.
        origin = get_origin(hint)
        if origin is not None:
            return self._of_origin(hint, origin)
        if hint in _ARRAYS or hint in _OBJECTS or hint is tuple:
            return self._of_generic(hint, ())
        if supertype := getattr(hint, "__supertype__", None):
            return self.of(supertype)
        if hasattr(hint, "__value__") and hasattr(hint, "__type_params__"):
            return self._name(hint, hint.__name__, lambda: self.of(hint.__value__))
        if isinstance(hint, type):
            return self._of_class(hint)
        raise UnknownType(f"{_name_of(hint)} has no form in JSON")

    def _of_text(self, text: str) -> Kind:
        """A type that is written as text. One that holds itself, as `list[JSON]` in `JSON` does, has a definition."""
        found = self._texts.get(text)
        if found is not None:
            if found.kind is None:
                name = _identifier(text)
                while self._names.setdefault(name, found) is not found:
                    name += "_"
                found.name = name
                found.kind = Kind({"$ref": f"#/$defs/{name}"}, found.load)
            return found.kind
        found = self._texts[text] = _Text()
        try:
            found.made = self.of(resolve(text, self._scope))
        finally:
            if found.kind is None or found.made is None:
                del self._texts[text]
        if found.kind is None:
            return found.made
        self.definitions[found.name] = found.made.schema
        return found.kind

    def complete(self, schema: Schema) -> Schema:
        """A schema with the definitions that it refers to."""
        return schema | {"$defs": self.definitions} if self.definitions else schema

    def _of_variable(self, hint: Any) -> Kind:
        if is_variable(hint):
            if hint.__bound__ is not None:
                return self.of(hint.__bound__)
            if hint.__constraints__:
                return self._of_union(hint.__constraints__)
        return Kind({}, _load_any)

    def _of_origin(self, hint: Any, origin: Any) -> Kind:
        arguments = get_args(hint)
        if is_special(origin, "Annotated"):
            return annotated(self.of(arguments[0]), arguments[1:])
        if is_special(origin, "Literal"):
            return literal(arguments)
        if is_union(origin):
            return self._of_union(arguments)
        if origin in _ARRAYS or origin in _OBJECTS or origin is tuple:
            return self._of_generic(origin, arguments)
        if getattr(origin, "__name__", "") in ("Required", "NotRequired", "ReadOnly", "Final", "ClassVar"):
            return self.of(arguments[0])
        if hasattr(origin, "__value__"):
            return self.of(origin.__value__[arguments])
        if isinstance(origin, type) and origin is not collections.abc.Callable:
            return self._of_class(hint if hasattr(hint, "model_json_schema") else origin)
        raise UnknownType(f"{_name_of(hint)} has no form in JSON")

    def _of_generic(self, origin: Any, arguments: tuple[Any, ...]) -> Kind:
        if origin in _OBJECTS:
            key, value = (self.of(each) for each in (arguments or (str, object)))
            if name := key.schema.get("$ref", "").rpartition("/")[2]:
                # An error names the keys of an enum only where they are written.
                key = Kind(self.definitions[name], key.load)
            return mapping(key, value)
        if origin is tuple:
            if arguments and arguments[-1] is not Ellipsis:
                return fixed([self.of(each) for each in arguments if each != ()])
            return array(self.of(arguments[0] if arguments else object), tuple)
        return array(self.of(arguments[0] if arguments else object), _ARRAYS[origin])

    def _of_union(self, arguments: tuple[Any, ...]) -> Kind:
        return union([self.of(each) for each in arguments])

    def _of_class(self, cls: Any) -> Kind:
        if cls in SCALARS:
            return self._of_scalar(cls)
        if hasattr(cls, "model_json_schema"):
            return self._of_model(cls)
        if "enum" in sys.modules and issubclass(cls, sys.modules["enum"].Enum):
            return self._name(cls, cls.__name__, lambda: enumeration(cls))
        if "typing" in sys.modules and sys.modules["typing"].is_typeddict(cls):
            return self._name(cls, cls.__name__, lambda: self._of_typed_dict(cls))
        if hasattr(cls, "__dataclass_fields__"):
            return self._name(cls, cls.__name__, lambda: self._of_dataclass(cls))
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self._name(cls, cls.__name__, lambda: self._of_named_tuple(cls))
        for known in SCALARS:
            if known is not bool and issubclass(cls, known) and cls.__module__ in ("pathlib", "builtins"):
                return self._of_scalar(known)
        if cls.__module__ in ("builtins", "collections.abc", "typing"):
            raise UnknownType(f"{_name_of(cls)} has no form in JSON")
        raise UnknownType(f"{_name_of(cls)} has no form in JSON: a dataclass, a TypedDict or a pydantic model has one")

    def _of_scalar(self, cls: Any) -> Kind:
        schema, load = SCALARS[cls]
        # Values of Python may have no zone, which RFC 3339 wants: clients would refuse the result.
        is_local = self._is_output and schema.get("format") in ("date-time", "time")
        return Kind({name: each for name, each in schema.items() if not (is_local and name == "format")}, load)

    def _name(self, key: Any, name: str, make: Callable[[], Kind]) -> Kind:
        """A type with a name: defined once, and referred to by name from everywhere."""
        found = self._named.get(key)
        if found is None:
            while name in self.definitions or self._names.setdefault(name, key) is not key:
                name += "_"
            made: list[Kind] = []
            found = Kind({"$ref": f"#/$defs/{name}"}, lambda value, place, faults: made[0].load(value, place, faults))
            self._named[key] = found
            self.definitions[name] = {}
            made.append(make())
            self.definitions[name].update(made[0].schema)
            found.load, found.constants, found.keys = made[0].load, made[0].constants, made[0].keys
        return found

    def _hints(self, cls: Any) -> dict[str, Any]:
        try:
            import typing

            return typing.get_type_hints(cls, localns=self._scope, include_extras=True)
        except TypeError:
            # Python 3.10 resolves no `InitVar` that is written as text.
            return {
                name: resolve(each, vars(sys.modules[base.__module__]) | self._scope) if isinstance(each, str) else each
                for base in reversed(cls.__mro__)
                for name, each in vars(base).get("__annotations__", {}).items()
            }
        except Exception as error:
            raise Unresolved(f"{_name_of(cls)} cannot be resolved: {error}") from None

    def _of_typed_dict(self, cls: Any) -> Kind:
        fields = [
            Field(name, self.of(hint), is_required=_is_key_required(hint, name in cls.__required_keys__))
            for name, hint in self._hints(cls).items()
        ]
        return record(fields, dict, _doc(cls))

    def _of_dataclass(self, cls: Any) -> Kind:
        import dataclasses

        hints = self._hints(cls)
        fields = []
        # `fields` leaves out what only `__post_init__` gets.
        own = dataclasses.fields(cls) if self._is_output else cls.__dataclass_fields__.values()
        for each in own:
            hint = hints.get(each.name, object)
            is_argument = each.init and not is_special(get_origin(hint) or hint, "ClassVar")
            # A result has the fields that are made from others, too, and not the private ones.
            if each.name.startswith("_") if self._is_output else not is_argument:
                continue
            is_only_of_init = isinstance(hint, dataclasses.InitVar) or hint is dataclasses.InitVar
            if is_only_of_init:
                hint = hint.type if isinstance(hint, dataclasses.InitVar) else object
            try:
                kind = self.of(hint)
            except UnknownType:
                if is_only_of_init and each.default is not dataclasses.MISSING:
                    # Code gives it, if any does.
                    continue
                raise
            description = each.metadata.get("description")
            if description:
                kind = Kind(kind.schema | {"description": description}, kind.load)
            missing = dataclasses.MISSING
            is_required = each.init and each.default is missing and each.default_factory is missing
            default = each.default if each.default is not missing else REQUIRED
            fields.append(Field(each.name, kind, is_required=is_required, default=default))
        return record(fields, dict if self._is_output else lambda members: cls(**members), _doc(cls))

    def _of_named_tuple(self, cls: Any) -> Kind:
        hints, defaults = self._hints(cls), cls._field_defaults
        fields = [
            Field(
                name,
                self.of(hints.get(name, object)),
                is_required=name not in defaults,
                default=defaults.get(name, REQUIRED),
            )
            for name in cls._fields
        ]
        return record(fields, lambda members: cls(**members), _doc(cls))

    def _of_model(self, cls: Any) -> Kind:
        """A model of pydantic: its own schema, its own checks."""
        from ._models import load_model, load_result, model_schema

        self.has_models = True
        found = self._named.get(cls)
        if found is None:
            name = _identifier(cls.__name__)
            while True:
                if self._names.get(name, cls) is cls:
                    schema, inner = model_schema(cls, name, self.definitions, is_output=self._is_output)
                    if self.definitions.get(name, schema) == schema:
                        break
                name += "_"
            self._names[name] = cls
            self.definitions |= {name: schema} | inner
            load = load_result if self._is_output else load_model
            found = Kind({"$ref": f"#/$defs/{name}"}, lambda value, place, faults: load(cls, value, place, faults))
            self._named[cls] = found
        return found


def _identifier(text: str) -> str:
    """A name for a definition, which references can have."""
    return "".join(each if each.isascii() and each.isalnum() else "_" for each in text).strip("_") or "Type"


def _is_key_required(hint: Any, is_required: bool) -> bool:
    """The class does not know marks inside annotations that are text, as all are after `from __future__`."""
    origin = get_origin(hint)
    mark = getattr(origin, "__name__", None) or getattr(origin, "_name", None)
    if mark in ("Required", "NotRequired"):
        return bool(mark == "Required")
    if mark in ("ReadOnly", "Annotated"):
        return _is_key_required(get_args(hint)[0], is_required)
    return is_required


REQUIRED: Any = object()
"""The default of a field that has none."""


class Field:
    """A member of an object."""

    __slots__ = ("default", "is_required", "kind", "name", "step")

    def __init__(self, name: str, kind: Kind, *, is_required: bool, default: Any = REQUIRED) -> None:
        self.name = name
        self.step = "/" + name
        self.kind = kind
        self.is_required = is_required
        self.default = default


def record(fields: list[Field], make: Callable[[dict[str, Any]], Any], description: str = "") -> Kind:
    """An object with these members and no others."""
    properties: Schema = {}
    for each in fields:
        properties[each.name] = with_default(each.kind.schema, each.default)
    schema: Schema = {"type": "object", "properties": properties}
    if description:
        schema["description"] = description
    required = [each.name for each in fields if each.is_required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False

    def load(value: Any, place: str, faults: Faults) -> Any:
        if not isinstance(value, dict):
            return faults.expected(place, "object", value)
        before = faults.count()
        members = load_members(fields, value, place, faults)
        if faults.count() != before:
            return None
        try:
            return make(members)
        except (TypeError, ValueError) as error:
            return faults.add(place, str(error))

    kind = Kind(schema, load)
    kind.constants = {each.name: each.kind.schema["enum"] for each in fields if "enum" in each.kind.schema}
    kind.keys = frozenset(required), frozenset(properties)
    return kind


def load_members(fields: list[Field], value: dict[str, Any], place: str, faults: Faults) -> dict[str, Any]:
    """The converted members of an object. Missing and unknown ones are faults."""
    members: dict[str, Any] = {}
    found = 0
    for each in fields:
        if each.name in value:
            found += 1
            members[each.name] = each.kind.load(value[each.name], place + each.step, faults)
        elif each.is_required:
            faults.add(place, missing(each))
    if found != len(value):
        known = [each.name for each in fields]
        for name in value:
            if name not in members:
                hint = did_you_mean(name, known) or (f"; expected {names(known)}" if known else "; there are none")
                faults.add(place, f"unknown argument {names([name])}{hint}")
    return members


def missing(field: Field) -> str:
    about = [field.kind.schema.get("type"), field.kind.schema.get("description")]
    text = ": ".join(str(each) for each in about if each)
    return f"{names([field.name])} is missing{f' ({text})' if text else ''}"


def with_default(schema: Schema, default: Any) -> Schema:
    """The schema with the default of a parameter, if that has a form in JSON."""
    if default is REQUIRED or (default is None and not accepts_null(schema)):
        return schema
    from ._json import to_plain

    try:
        return schema | {"default": to_plain(default)}
    except Exception:
        # Any code of its type may have run. A default that holds itself is a RecursionError.
        return schema


def accepts_null(schema: Schema) -> bool:
    return not schema or schema.get("type") == "null" or any(map(accepts_null, schema.get("anyOf", ())))


def array(item: Kind, make: Callable[[list[Any]], Any]) -> Kind:
    load_item = item.load
    schema: Schema = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema
    if make in (set, frozenset):
        schema["uniqueItems"] = True

    def load(value: Any, place: str, faults: Faults) -> Any:
        if type(value) is not list:
            return faults.expected(place, "array", value)
        before = faults.count()
        found = [load_item(each, f"{place}/{at}", faults) for at, each in enumerate(value)]
        if faults.count() != before:
            return None
        try:
            return found if make is list else make(found)
        except TypeError as error:
            return faults.add(place, str(error))

    return Kind(schema, load)


def fixed(items: list[Kind]) -> Kind:
    """A tuple of this length."""
    size = len(items)
    schema: Schema = {"type": "array", "minItems": size, "maxItems": size}
    if items:
        schema["prefixItems"] = [each.schema for each in items]

    def load(value: Any, place: str, faults: Faults) -> Any:
        if type(value) is not list or len(value) != size:
            return faults.expected(place, f"an array of {size} elements", value)
        pairs = enumerate(zip(items, value, strict=True))
        return tuple([kind.load(each, f"{place}/{at}", faults) for at, (kind, each) in pairs])

    return Kind(schema, load)


def mapping(key: Kind, item: Kind) -> Kind:
    load_key, load_item = key.load, item.load
    schema: Schema = {"type": "object"}
    if item.schema:
        schema["additionalProperties"] = item.schema
    if names_ := {name: value for name, value in key.schema.items() if name != "type"}:
        schema["propertyNames"] = names_
    # The keys of JSON are text: numbers are converted from it.
    numeric = key.schema.get("type") in ("integer", "number")

    def load_name(name: str, place: str, faults: Faults) -> Any:
        try:
            return load_key(parse_finite(name) if numeric else name, place, faults)
        except ValueError:
            return faults.expected(place, "a number as the name", name)

    def load(value: Any, place: str, faults: Faults) -> Any:
        if not isinstance(value, dict):
            return faults.expected(place, "object", value)
        return {
            load_name(name, f"{place}/{name}", faults): load_item(each, f"{place}/{name}", faults)
            for name, each in value.items()
        }

    return Kind(schema, load)


def literal(values: tuple[Any, ...]) -> Kind:
    from ._json import to_plain

    plain = [to_plain(each) for each in values]
    schema: Schema = {"enum": plain}
    found = {type(each) for each in plain}
    if len(found) == 1 and (kind := SCALARS.get(found.pop())):
        schema = {"type": kind[0]["type"], "enum": plain}
    choices = [(type(each), each, value) for each, value in zip(plain, values, strict=True)]
    return Kind(schema, _load_choice(choices))


def enumeration(cls: Any) -> Kind:
    from ._json import to_plain

    members = list(cls)
    plain = [to_plain(each.value) for each in members]
    schema: Schema = {"enum": plain}
    found = {type(each) for each in plain}
    if len(found) == 1 and (kind := SCALARS.get(found.pop())):
        schema = {"type": kind[0]["type"], "enum": plain}
    if description := _doc(cls):
        schema["description"] = description
    return Kind(schema, _load_choice([(type(each), each, value) for each, value in zip(plain, members, strict=True)]))


def _load_choice(choices: list[tuple[type, Any, Any]]) -> Load:
    def load(value: Any, place: str, faults: Faults) -> Any:
        for kind, plain, meant in choices:
            # JSON has one type of numbers; True is not one of them.
            if plain == value and (kind is type(value) or {kind, type(value)} == {int, float}):
                return meant
        texts = [each for _, each, _ in choices if isinstance(each, str)]
        hint = did_you_mean(value, texts) if isinstance(value, str) else ""
        return faults.add(place, f"expected one of {names(each for _, each, _ in choices)}, got {quoted(value)}{hint}")

    return load


def union(kinds: list[Kind]) -> Kind:
    """The first type that the value fits."""
    if len(kinds) == 1:
        return kinds[0]
    schema: Schema = {"anyOf": [each.schema for each in kinds]}
    expected = " or ".join(map(_type_of, kinds))
    # A pattern may decide between the types.
    decides = sum(each.schema.get("type") != "null" for each in kinds) > 1

    def attempt(value: Any, place: str, faults: Faults) -> Any:
        candidates = _candidates(kinds, value)
        tried: dict[int, Faults] = {}
        # Types whose names do not fit are tried for their faults alone.
        for fits in (True, False):
            for at, each in enumerate(candidates):
                if _has_keys(each, value) is fits:
                    tried[at] = here = Faults(faults.tried, patterns=faults.patterns or decides)
                    found = each.load(value, place, here)
                    if not here:
                        return found
        # For an object, the faults of the type that it resembles most say more than a list of types.
        if close := [here for _, here in sorted(tried.items()) if not _is_other_type(*here.described[0], place)]:
            return faults.extend(min(close, key=Faults.count))
        return faults.expected(place, expected, value)

    def load(value: Any, place: str, faults: Faults) -> Any:
        if not isinstance(value, (dict, list)):
            return attempt(value, place, faults)
        key = id(kinds), id(value), faults.patterns
        if key not in faults.tried:
            here = Faults(faults.tried, patterns=faults.patterns)
            faults.tried[key] = attempt(value, place, here), here
        found, here = faults.tried[key]
        return faults.extend(here) if here else found

    return Kind(schema, load)


def _is_other_type(place: str, text: str, own: str) -> bool:
    return place == own and text.startswith("expected")


def _candidates(kinds: list[Kind], value: Any) -> list[Kind]:
    """The types whose constants an object has; all of them if there are none."""
    if not isinstance(value, dict):
        return kinds
    return [
        each
        for each in kinds
        if all(value[name] in choices for name, choices in each.constants.items() if name in value)
    ] or kinds


def _has_keys(kind: Kind, value: Any) -> bool:
    """False if an object has not the names of a type, so that it cannot fit."""
    if kind.keys is None or not isinstance(value, dict):
        return True
    required, known = kind.keys
    return value.keys() >= required and value.keys() <= known


def _type_of(kind: Kind) -> str:
    found = kind.schema.get("type") or kind.schema.get("$ref", "a value").rpartition("/")[2]
    return " or ".join(found) if isinstance(found, list) else str(found)


_BOUNDS = {
    "ge": ("minimum", "at least {}", lambda value, bound: value >= bound),
    "gt": ("exclusiveMinimum", "more than {}", lambda value, bound: value > bound),
    "le": ("maximum", "at most {}", lambda value, bound: value <= bound),
    "lt": ("exclusiveMaximum", "less than {}", lambda value, bound: value < bound),
    "multiple_of": ("multipleOf", "a multiple of {}", lambda value, bound: _is_multiple(value, bound)),
    "min_length": ("min", "{} {} at least", lambda value, bound: len(value) >= bound),
    "max_length": ("max", "{} {} at most", lambda value, bound: len(value) <= bound),
}
_LENGTHS = {"string": ("Length", "characters"), "array": ("Items", "elements"), "object": ("Properties", "members")}
_NOTES = {"description": "description", "documentation": "description", "title": "title", "examples": "examples"}


def annotated(kind: Kind, metadata: tuple[Any, ...]) -> Kind:
    """A type with a description, bounds and a pattern: from `Field`, annotated_types or pydantic."""
    schema = dict(kind.schema)
    checks: list[tuple[str, Callable[[Any], bool]]] = []
    patterns: list[Any] = []
    for each in _flattened(metadata):
        if isinstance(each, str):
            schema["description"] = each
            continue
        for attribute, keyword in _NOTES.items():
            if (value := getattr(each, attribute, None)) is not None and not callable(value):
                schema[keyword] = value
        schema.update(getattr(each, "json_schema", None) or {})
        for name, (keyword, text, holds) in _BOUNDS.items():
            bound = getattr(each, name, None)
            if bound is None or (name.endswith("length") and bound == 0):
                continue
            unit = ""
            if name.endswith("length"):
                bounds, unit = _length_bounds(schema, keyword, bound)
                schema.update(bounds)
            else:
                schema[keyword] = bound
            checks.append((text.format(bound, unit), lambda value, holds=holds, bound=bound: holds(value, bound)))  # type: ignore[misc]
        if pattern := getattr(each, "pattern", None):
            import re

            patterns.append(re.compile(pattern))
            schema["pattern"] = patterns[-1].pattern
    if not checks and not patterns:
        return Kind(schema, kind.load)
    load_inner = kind.load
    every = checks + [_pattern(each) for each in patterns]
    # The schema has one pattern, which the bridge compares.
    checks += [_pattern(each) for each in patterns if each.pattern != schema["pattern"]]

    def load(value: Any, place: str, faults: Faults) -> Any:
        before = faults.count()
        found = load_inner(value, place, faults)
        if faults.count() == before:
            for text, holds in every if faults.patterns else checks:
                try:
                    if not holds(found):
                        faults.expected(place, text, value)
                except TypeError:
                    pass
                except ArithmeticError:
                    # A remainder of an integer that does not fit a double.
                    faults.expected(place, text, value)
        return found

    return Kind(schema, load)


def _length_bounds(schema: Schema, keyword: str, bound: int) -> tuple[Schema, str]:
    """The bounds of a length for the types in a schema, and its unit. Bytes are longer as text."""
    found: Schema = {}
    units: list[str] = []
    for each in schema.get("anyOf", (schema,)):
        if each.get("type") == "null":
            continue
        suffix, unit = _LENGTHS.get(each.get("type", "array"), _LENGTHS["array"])
        is_bytes = "contentEncoding" in each
        units.append("bytes" if is_bytes else unit)
        found[keyword + suffix] = (bound + 2) // 3 * 4 if is_bytes else bound
    if {"bytes", "characters"} <= set(units):
        # One keyword cannot have both bounds.
        del found[keyword + "Length"]
    return found, " or ".join(dict.fromkeys(units))


def _is_multiple(value: Any, bound: Any) -> bool:
    """True for 0.3 and 0.1, too, which have no exact form."""
    if isinstance(value, int) and isinstance(bound, int):
        return value % bound == 0
    steps = value / bound
    if steps - steps != 0:
        return False
    # The error of a division grows with its result.
    return bool(abs(steps - round(steps)) <= max(1e-9, 1e-14 * abs(steps)))


def _pattern(matcher: Any) -> tuple[str, Callable[[Any], bool]]:
    return f"text that matches {matcher.pattern}", lambda value: matcher.search(value) is not None


def _flattened(metadata: tuple[Any, ...]) -> list[Any]:
    """pydantic's `Field` holds its bounds in its own list."""
    found = []
    for each in metadata:
        found.append(each)
        inner = getattr(each, "metadata", None)
        if isinstance(inner, list):
            found += inner
    return found


def _load_any(value: Any, place: str, faults: Faults) -> Any:
    return value


def _load_null(value: Any, place: str, faults: Faults) -> Any:
    return None if value is None else faults.expected(place, "null", value)


def _doc(cls: Any) -> str:
    """The first paragraph of the documentation that was written for a class."""
    text = cls.__dict__.get("__doc__") or ""
    if text.startswith(f"{cls.__name__}(") or text == "An enumeration.":
        return ""
    return " ".join(text.strip().split("\n\n")[0].split())


def _name_of(hint: Any) -> str:
    if get_origin(hint) is not None:
        return str(hint).replace("typing.", "").replace("collections.abc.", "")
    return getattr(hint, "__qualname__", None) or str(hint)
