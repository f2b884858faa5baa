"""Requests other than calls: reading resources, getting prompts, completing arguments, intercepting calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._dependencies import Dependencies
from ._faults import Faults, InvalidArguments
from ._input import arguments_of, input_of
from ._json import dump, parse, parse_finite
from ._output import OutputMismatch, block, drained, text_of_error
from ._signature import is_async
from ._types import Types
from ._uris import encoded, match
from ._wire import (
    CompletionRequest,
    CompletionResponse,
    Envelope,
    GetPromptRequest,
    GetPromptResponse,
    MiddlewareInterceptRequest,
    MiddlewareInterceptResponse,
    ReadResourceResponse,
)
from ._wire import PromptMessage as WireMessage
from ._wire import ResourceContent as WireContent
from ._wire import (
    ToolError as WireError,
)
from .completion import CompletionResult, get_completion_handler
from .content import Content
from .context import context_as
from .errors import ToolError
from .prompt import PromptDef, PromptResult
from .resource import (
    ResourceContent,
    ResourceDef,
    ResourceResult,
    ResourceTemplateDef,
    get_registered_resource_templates,
    get_registered_resources,
)


class Handler:
    """A handler of such a request, with its arguments. `call` runs it."""

    __slots__ = ("_arguments", "_input", "is_async")

    def __init__(self, function: Callable[..., Any], arguments: dict[str, Any]) -> None:
        self._input = input_of(function)
        self._arguments = arguments
        self.is_async = is_async(function)

    @property
    def context_type(self) -> Any:
        return self._input.context_type

    def call(self, context: Any) -> Any:
        arguments = dict(self._arguments)
        if self._input.context_name:
            arguments[self._input.context_name] = context_as(context, self._input.context_type)
        if not self._input.dependencies:
            return self._input.call(**arguments)
        dependencies = Dependencies(self._input)
        if self.is_async:
            return dependencies.call_async(self._input.call, arguments, context)
        return dependencies.call(self._input.call, arguments, context)


def error_of(error: BaseException) -> WireError:
    if isinstance(error, ToolError):
        return WireError(error.code or "FAILED", error.message, error.suggestion, error.retryable)
    return WireError("INVALID_ARGUMENTS" if isinstance(error, InvalidArguments) else "FAILED", text_of_error(error))


# Resources


def reader_of(uri: str) -> tuple[Handler, str] | None:
    """The handler that reads a resource, and the media type of its definition."""
    resources, form = get_registered_resources(), encoded(uri)
    found = next((each for each in resources if each.uri == uri), None)
    if found is None:
        # Clients encode URIs.
        found = next((each for each in resources if encoded(each.uri) == form), None)
    if found is not None:
        return Handler(found.handler, _resource_arguments(found, uri)), found.mime_type
    for template in get_registered_resource_templates():
        values = match(template.uri_template, uri)
        if values is not None:
            return Handler(template.handler, _template_arguments(template, uri, values)), template.mime_type
    return None


def _resource_arguments(resource: ResourceDef, uri: str) -> dict[str, Any]:
    fields = input_of(resource.handler).fields
    return {fields[0].name: uri} if fields else {}


def _template_arguments(template: ResourceTemplateDef, uri: str, values: dict[str, str]) -> dict[str, Any]:
    """The URI for one parameter that is not in the template, or is named `uri`, and the values for the others."""
    found: dict[str, Any] = {}
    faults = Faults()
    inner = input_of(template.handler)
    for field in inner.fields:
        if field.name in values:
            value = _value_in(field.kind.schema, inner.types, values[field.name])
            found[field.name] = field.kind.load(value, field.step, faults)
        elif field.name == "uri" or field.is_required:
            found[field.name] = uri
    if inner.takes_any:
        found = values | found
    if faults:
        raise InvalidArguments(template.name, faults, "resource template")
    return found


_READ = {"integer", "number", "boolean", "array", "object"}


def _value_in(schema: dict[str, Any], types: Types, text: str) -> Any:
    """Arguments of prompts and values of templates are text: other values are read from it, unless text fits."""
    found = _types_of(schema, types)
    if found <= _READ | {"null"} and found & _READ:
        try:
            return parse_finite(text)
        except ValueError:
            return text
    return text


def _types_of(schema: dict[str, Any], types: Types) -> set[Any]:
    """The types of JSON that fit a schema; None among them stands for any."""
    if "$ref" in schema:
        return _types_of(types.definitions[schema["$ref"].rpartition("/")[2]], types)
    if "anyOf" in schema:
        return {each for one in schema["anyOf"] for each in _types_of(one, types)}
    found = schema.get("type")
    return set(found) if isinstance(found, list) else {found}


def contents(value: Any, uri: str, mime_type: str) -> Envelope:
    """The answer for what a handler of a resource has returned."""
    body, meta = (value.contents, value.meta) if isinstance(value, ResourceResult) else (value, None)
    if body is None:
        # The resource does not exist.
        body = []
    parts = body if isinstance(body, (list, tuple)) and _are_contents(body) else [body]
    found = [_content(each, uri, mime_type) for each in parts]
    return Envelope("read_resource_response", ReadResourceResponse(found, metadata_json=_meta(meta)))


def _meta(meta: dict[str, Any] | None) -> str:
    return dump(meta) if meta else ""


def _are_contents(value: Any) -> bool:
    return all(isinstance(each, (ResourceContent, str, bytes)) for each in value)


def _content(value: Any, uri: str, mime_type: str) -> WireContent:
    if isinstance(value, ResourceContent):
        found = WireContent(value.uri, value.mime_type, metadata_json=_meta(value.meta))
        if value.blob:
            found.blob = bytes(value.blob)
        else:
            found.text = value.text
        return found
    if isinstance(value, (bytes, bytearray, memoryview)):
        return WireContent(uri, mime_type, blob=bytes(value))
    if isinstance(value, str):
        return WireContent(uri, mime_type, text=value)
    return WireContent(uri, mime_type or "application/json", text=dump(value))


def unread(error: BaseException) -> Envelope:
    return Envelope("read_resource_response", ReadResourceResponse(error=error_of(error)))


# Prompts


def prompt_handler(prompt: PromptDef, request: GetPromptRequest) -> Handler:
    found = arguments_of(request.arguments_json, prompt.name, "prompt")
    inner = input_of(prompt.handler)
    for field in inner.fields:
        if isinstance(text := found.get(field.name), str):
            found[field.name] = _value_in(field.kind.schema, inner.types, text)
    return Handler(prompt.handler, inner.load(prompt.name, found, "prompt"))


def messages(value: Any) -> Envelope:
    """The answer for what a handler of a prompt has returned."""
    whole = value if isinstance(value, PromptResult) else PromptResult(value)
    found = drained(whole.messages)
    parts = found if isinstance(found, (list, tuple)) else [found]
    response = GetPromptResponse(whole.description, [_message(each) for each in parts], None, _meta(whole.meta))
    return Envelope("get_prompt_response", response)


def _message(value: Any) -> WireMessage:
    if isinstance(value, (str, Content)):
        return WireMessage("user", dump(block(value)))
    if isinstance(value, dict):
        role, content = value.get("role"), value.get("content")
    else:
        # Any object with a role and a content.
        role, content = getattr(value, "role", None), getattr(value, "content", None)
    if not isinstance(role, str):
        raise OutputMismatch(f"a prompt returns text, messages with a role, or a list of them, not {_named(value)}")
    is_block = isinstance(value, dict) and isinstance(content, dict)
    return WireMessage(role, dump(content if is_block else block(content)))


def _named(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def unprompted(error: BaseException) -> Envelope:
    return Envelope("get_prompt_response", GetPromptResponse(error=error_of(error)))


# Completion


def completer_of(request: CompletionRequest) -> Handler | None:
    function = get_completion_handler(request.ref_type, request.ref_name, request.argument_name)
    if function is None:
        return None
    fields = input_of(function).fields
    arguments: dict[str, Any] = {}
    if fields:
        arguments[fields[0].name] = request.argument_value
    if len(fields) > 1:
        arguments[fields[1].name] = parse(request.context_json) if request.context_json else {}
    return Handler(function, arguments)


def suggestions(value: Any) -> Envelope:
    if isinstance(value, CompletionResult):
        values = [str(each) for each in value.values]
        found = CompletionResponse(values, value.total, value.has_more, None, _meta(value.meta))
    elif value is None:
        found = CompletionResponse()
    else:
        values = [str(each) for each in ([value] if isinstance(value, str) else value)]
        found = CompletionResponse(values, len(values))
    return Envelope("completion_response", found)


def uncompleted(error: BaseException) -> Envelope:
    return Envelope("completion_response", CompletionResponse(error=error_of(error)))


# Middleware


def interceptor(function: Callable[..., Any], request: MiddlewareInterceptRequest) -> Handler:
    arguments = {
        "phase": request.phase,
        "tool_name": request.tool_name,
        "args_json": request.arguments_json,
        "result_json": request.result_json,
        "is_error": request.is_error,
    }
    return Handler(function, arguments)


def decision(value: Any, request: MiddlewareInterceptRequest) -> Envelope:
    found = value if isinstance(value, dict) else {}
    return Envelope(
        "middleware_intercept_response",
        MiddlewareInterceptResponse(
            found.get("arguments_json", request.arguments_json),
            found.get("result_json", request.result_json),
            bool(found.get("reject", False)),
            str(found.get("reject_reason", "")),
        ),
    )


def rejection(error: BaseException) -> Envelope:
    return Envelope(
        "middleware_intercept_response",
        MiddlewareInterceptResponse(reject=True, reject_reason=text_of_error(error)),
    )
