"""The output of a handler: its schema, and the result of a call in the form of the envelope."""

from __future__ import annotations

import os
from collections import UserString
from collections.abc import Iterator, Mapping

from ._faults import Faults, InvalidArguments
from ._json import dump, quote, taken, to_plain
from ._types import REQUIRED, Kind, Types, UnknownType
from ._typing import TYPE_CHECKING, get_args, get_origin, is_special, is_union
from ._wire import CallToolResponse
from ._wire import ToolError as WireError
from .content import Content, Text
from .errors import Cancelled, DeclarationError, ToolError
from .result import ToolResult

if TYPE_CHECKING:
    from typing import Any

    from ._types import Schema

_HEAD, _TAIL = '[{"type":"text","text":', "}]"


class OutputMismatch(TypeError):
    """A handler has returned something else than it has promised."""


class Output:
    """The promise of a handler: `kind` is the type of its structured content, or None.

    Structured content is an object. A type with another form is wrapped: `{"result": ...}`. Without `is_kept`, the type
    was only described (`output_type`), and a handler may return text.
    """

    __slots__ = ("is_kept", "is_wrapped", "kind", "schema")

    def __init__(self, hint: Any, types: Types, *, is_kept: bool = True) -> None:
        self.kind: Kind | None = None
        self.is_kept = is_kept
        self.is_wrapped = False
        self.schema: Schema = {}
        if not _is_structured(hint):
            return
        try:
            kind = types.of(hint)
        except UnknownType:
            # The type says nothing to a client; the result is converted as it comes.
            return
        self.kind = kind
        self.is_wrapped = not _is_object(kind.schema, types)
        if self.is_wrapped:
            schema: Schema = {"type": "object", "properties": {"result": kind.schema}, "required": ["result"]}
        else:
            schema = kind.schema
            if "$ref" in schema:
                schema = types.definitions[schema["$ref"].rpartition("/")[2]]
        self.schema = types.complete(schema)

    def respond(self, value: Any) -> CallToolResponse:
        """The response for what the handler has returned; raises OutputMismatch."""
        texts = self.texts(value)
        if texts is not None:
            return CallToolResponse(result_json=texts[0], structured_content_json=texts[1])
        try:
            return self._of_result(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise _mismatch(error) from None

    def texts(self, value: Any) -> tuple[str, str] | None:
        """The content and the structured content of what the handler has returned; None for a ToolResult.

        Raises OutputMismatch.
        """
        if type(value) is str and self.kind is None:
            return _HEAD + quote(value) + _TAIL, ""
        if isinstance(value, ToolResult):
            return None
        try:
            return self._texts(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise _mismatch(error) from None

    def _texts(self, value: Any) -> tuple[str, str]:
        value = drained(value)
        if has_content(value):
            return content_json(value), ""
        try:
            structured = self._structured(value)
        except OutputMismatch:
            if self.is_kept or type(value) is not str:
                raise
            structured = None
        if structured is None:
            return content_json(value), ""
        if self.is_wrapped:
            inner = structured["result"]
            text = dump(inner)
            shown = inner if type(inner) is str else text
            text = f'{{"result":{text}}}'
        else:
            text = dump(structured)
            shown = value if type(value) is str else text
        return _HEAD + quote(shown) + _TAIL, text

    def _structured(self, value: Any) -> dict[str, Any] | None:
        """The structured content: what the type promises, or an object that was returned without a promise."""
        kind = self.kind
        if kind is None:
            plain = _plain_object(value)
            return plain if isinstance(plain, dict) else None
        if type(value) is str and not self.is_wrapped:
            # A promise that is kept as text.
            value = _parsed(value)
        plain = to_plain(value)
        faults = Faults()
        kind.load(plain, "", faults)
        if faults:
            raise OutputMismatch(f"the result does not match its type:\n{faults.list()}")
        return {"result": plain} if self.is_wrapped else plain

    def _of_result(self, result: ToolResult) -> CallToolResponse:
        plain = structured_of(result)
        structured = "" if plain is None else dump(plain)
        given = drained(result.result)
        response = CallToolResponse(
            is_error=result.is_error,
            result_json=content_json(structured if structured and is_empty(given) else given),
            structured_content_json=structured,
            enable_tools=list(result.enable_tools or ()),
            disable_tools=list(result.disable_tools or ()),
        )
        if result.is_error and result.error_code:
            response.error = WireError(
                error_code=result.error_code,
                message=result.message or "",
                suggestion=result.suggestion or "",
                retryable=result.retryable,
            )
        if result.meta:
            response.metadata_json = dump(result.meta)
        return response


def structured_of(result: ToolResult) -> dict[str, Any] | None:
    """The structured content of a result as JSON has it; raises OutputMismatch."""
    if result.structured_content is None:
        return None
    try:
        plain = to_plain(result.structured_content)
    except (TypeError, ValueError, RecursionError) as error:
        raise _mismatch(error) from None
    if not isinstance(plain, dict):
        raise OutputMismatch("structured_content must be a JSON object")
    return plain


def is_empty(value: Any) -> bool:
    """True for None and for empty values of Python's own. A table of numbers cannot be asked."""
    return value is None or (isinstance(value, (str, int, float, list, tuple, dict)) and not value)


def _mismatch(error: Exception) -> OutputMismatch:
    if isinstance(error, OutputMismatch):
        return error
    reason = _CYCLIC if isinstance(error, RecursionError) or is_cyclic(error) else error
    return OutputMismatch(f"the result has no form in JSON: {reason}")


_CYCLIC = "it is cyclic, or nested too deeply"


def is_cyclic(error: Exception) -> bool:
    """True for the error of the encoder about a value that holds itself."""
    return isinstance(error, ValueError) and str(error).startswith("Circular reference")


def content_json(value: Any) -> str:
    """The content of a result as a JSON array."""
    if type(value) is str:
        return _HEAD + quote(value) + _TAIL
    if value is None:
        return "[]"
    if isinstance(value, Content):
        return dump([value.block()])
    if has_content(value):
        return dump([block(each) for each in value])
    return _HEAD + quote(text_of(value)) + _TAIL


def has_content(value: Any) -> bool:
    """True for a content, and for a list with one."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(each, Content) for each in value)
    return isinstance(value, Content)


def block(value: Any) -> dict[str, Any]:
    """One content block: a content as it is, anything else as text."""
    return value.block() if isinstance(value, Content) else {"type": "text", "text": text_of(value)}


def text_of(value: Any) -> str:
    """The text of a value: text as it is, anything else as JSON, or else as its own text; raises OutputMismatch."""
    if isinstance(value, str):
        return value
    if isinstance(value, UserString):
        return str(value)
    try:
        return dump(value)
    except (TypeError, ValueError, RecursionError) as error:
        text = _own_text(value)
        if text is None:
            raise _mismatch(error) from None
        return text


def _own_text(value: Any) -> str | None:
    """The text of a number, and of a type that defines one; the `repr` of Python is not meant for clients."""
    kind: Any = type(value)
    if isinstance(value, Mapping) or (kind.__str__ is object.__str__ and not isinstance(value, (int, float, complex))):
        return None
    try:
        return str(value)
    except Exception:
        return None


def content_of(value: Any) -> Any:
    """Contents as they are, anything else as text; raises OutputMismatch."""
    value = drained(value)
    return value if has_content(value) else text_of(value)


def with_note(value: Any, note: str) -> Any:
    """The content of a result with a text behind it, which is a separate block behind other blocks."""
    content = content_of(value)
    if isinstance(content, str):
        return content + note
    return [*(content if isinstance(content, (list, tuple)) else [content]), Text(note.lstrip("\n"))]


def texts_of(content: Any) -> str:
    """The texts of contents, line by line."""
    blocks = map(block, content if isinstance(content, (list, tuple)) else [content])
    return "\n".join(each["text"] for each in blocks if each["type"] == "text")


def drained(value: Any) -> Any:
    """The elements of an iterator as a list; any other value as it is. Raises OutputMismatch."""
    if not isinstance(value, Iterator):
        return value
    try:
        return taken(value)
    except ValueError as error:
        raise _mismatch(error) from None


def failed(error: BaseException) -> CallToolResponse:
    """The response for an exception."""
    if isinstance(error, ToolError):
        details = WireError(
            error_code=error.code, message=error.message, suggestion=error.suggestion, retryable=error.retryable
        )
        has_details = error.code or error.suggestion or error.retryable
        return refused(error.message, details if has_details else None)
    if isinstance(error, InvalidArguments):
        text = str(error)
        return refused(text, WireError("INVALID_ARGUMENTS", text))
    if isinstance(error, SystemExit):
        return refused(f"the tool has called sys.exit({error.code!r})")
    return refused(text_of_error(error))


def text_of_error(error: BaseException) -> str:
    """The text of an exception, with its type if it is not meant for the caller."""
    text, name = str(error), type(error).__name__
    if text and isinstance(error, (ToolError, InvalidArguments, OutputMismatch, DeclarationError)):
        return text
    return f"{name}: {text}" if text else name


def without_text(error: BaseException) -> RuntimeError:
    """In place of an exception whose text cannot be made: that has raised something else, perhaps an exit."""
    name = type.__dict__["__name__"].__get__(type(error))
    return RuntimeError(f"{name}, which cannot be written as text")


def report(error: BaseException, about: str) -> None:
    """Writes an exception to standard error, which is the log of `pmcp`: its author looks for the place.

    Errors that are meant for the caller are left out.
    """
    if isinstance(error, (ToolError, InvalidArguments, Cancelled, SystemExit)):
        return
    import sys

    if isinstance(error, (OutputMismatch, DeclarationError)):
        print(f"protomcp: {about}: {error}", file=sys.stderr, flush=True)
        return
    at = error.__traceback__
    way = (os.path.dirname(__file__), f"{os.sep}asyncio")
    while at is not None and at.tb_next is not None and os.path.dirname(at.tb_frame.f_code.co_filename).endswith(way):
        at = at.tb_next
    print(f"protomcp: {about} has failed\n{_traceback(error, at)}", end="", file=sys.stderr, flush=True)


_CAUSES = 10
"""The most causes of an exception in the log: each takes time, in which no other handler runs."""
_TEXT = 20_000
"""The most characters of a text in a traceback."""


def _traceback(error: BaseException, at: Any) -> str:
    """The traceback of an exception and of its nearest causes."""
    import traceback

    last, omitted = _last_cause(error)
    if not omitted:
        return "".join(map(_shortened, traceback.format_exception(type(error), error, at)))
    before = {name: getattr(last, name) for name in ("__cause__", "__context__", "__suppress_context__")}
    try:
        # The library visits all causes, whether or not it writes them.
        for name in ("__cause__", "__context__"):
            object.__setattr__(last, name, None)
        lines = traceback.format_exception(type(error), error, at)
    finally:
        for name, value in before.items():
            object.__setattr__(last, name, value)
    return "".join([f"{omitted:,} earlier causes are left out\n\n", *map(_shortened, lines)])


def _last_cause(error: BaseException) -> tuple[BaseException, int]:
    """The last exception to write, and the number of causes that it has."""
    last, each, count, seen = error, _cause(error), 0, {id(error)}
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        count += 1
        if count <= _CAUSES:
            last = each
        each = _cause(each)
    return last, max(0, count - _CAUSES)


def _cause(error: BaseException) -> BaseException | None:
    if error.__cause__ is not None or error.__suppress_context__:
        return error.__cause__
    return error.__context__


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}… ({len(text) - _TEXT:,} more characters)\n"


def refused(text: str, details: WireError | None = None) -> CallToolResponse:
    return CallToolResponse(is_error=True, result_json=_HEAD + quote(text) + _TAIL, error=details)


def _is_structured(hint: Any) -> bool:
    """True for types that promise more than text."""
    parts = [each for each in _parts(hint) if each is not type(None) and each is not None]
    return bool(parts) and any(each is not str for each in parts) and not any(map(_is_open, parts))


def _parts(hint: Any) -> list[Any]:
    """The members of a union; any other type by itself."""
    if is_union(get_origin(hint)):
        return [part for each in get_args(hint) for part in _parts(each)]
    if is_special(get_origin(hint), "Annotated"):
        return _parts(get_args(hint)[0])
    return [hint]


def _is_open(hint: Any) -> bool:
    """True if the values may be contents, or anything."""
    if hint is REQUIRED or hint in (object, list, tuple) or is_special(hint, "Any") or isinstance(hint, str):
        return True
    if isinstance(hint, type) and issubclass(hint, (ToolResult, Content)):
        return True
    return not is_special(get_origin(hint), "Literal") and any(map(_is_open, get_args(hint)))


def _is_object(schema: Schema, types: Types) -> bool:
    if "$ref" in schema:
        return _is_object(types.definitions[schema["$ref"].rpartition("/")[2]], types)
    return schema.get("type") == "object"


def _plain_object(value: Any) -> Any:
    """An object without a promise: a dict, a dataclass, a model."""
    if isinstance(value, dict) or hasattr(type(value), "__dataclass_fields__") or hasattr(value, "model_dump"):
        try:
            return to_plain(value)
        except (TypeError, ValueError):
            return None
    return None


def _parsed(text: str) -> Any:
    from ._json import parse

    try:
        return parse(text)
    except ValueError:
        return text
