"""Questions for the client of a call: forms and pages for its user, messages for its model, its folders."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from ._faults import Faults
from ._json import Beyond, dump, dump_schema, parse, parse_finite, to_plain
from ._types import Kind, Types
from ._wire import ElicitationRequest, Envelope, ListRootsRequest, SamplingRequest
from .errors import AskError

T = TypeVar("T")


class Answer(Generic[T]):
    """The user's answer. It is true if the user has accepted; `content` is then the filled form.

    `action` is accept, decline or cancel.
    """

    __slots__ = ("action", "content")

    def __init__(self, action: str, content: T) -> None:
        self.action = action
        self.content = content

    @property
    def accepted(self) -> bool:
        """True if the user has accepted, like the answer itself."""
        return self.action == "accept"

    def __bool__(self) -> bool:
        return self.accepted

    def __repr__(self) -> str:
        return f"Answer({self.action!r}, {self.content!r})"


class Root:
    """A folder that the client works in."""

    __slots__ = ("name", "uri")

    def __init__(self, uri: str, name: str = "") -> None:
        self.uri = uri
        self.name = name

    def __repr__(self) -> str:
        return f"Root({self.uri!r}, {self.name!r})"


class Question:
    """One question. `key` is its name for clients of MCP 2026-07-28."""

    __slots__ = ("key",)
    _kind = ""

    def __init__(self, key: str = "") -> None:
        self.key = key

    def envelope(self) -> Envelope:
        return Envelope(self._kind, self._message(), question_key=self.key)

    def answer(self, envelope: Envelope | None) -> Any:
        """The answer in an envelope; raises AskError."""
        if envelope is None:
            raise AskError("the bridge has closed the connection")
        error = envelope.message.error
        if error:
            raise AskError(error if isinstance(error, str) else error.message)
        return self._read(envelope.message)

    def _message(self) -> Any:
        raise NotImplementedError

    def _read(self, message: Any) -> Any:
        raise NotImplementedError


class Form(Question):
    """Asks the user to fill in a form: a dataclass, a TypedDict or a model with simple fields, or a JSON Schema.

    Without a form the user is asked to confirm.
    """

    __slots__ = ("_form", "_loads", "message")
    _kind = "elicitation_request"

    def __init__(self, message: str, form: Any = None, *, key: str = "") -> None:
        super().__init__(key)
        self.message = message
        self._loads: Kind | None = None
        if form is None:
            self._form: dict[str, Any] = {"type": "object", "properties": {}}
        elif isinstance(form, dict):
            self._form = form
        else:
            self._loads, self._form = _flat(form)

    def _message(self) -> ElicitationRequest:
        return ElicitationRequest("form", self.message, dump_schema(self._form))

    def _read(self, message: Any) -> Answer[Any]:
        if message.action != "accept":
            return Answer(message.action, None)
        try:
            value = parse_finite(message.content_json) if message.content_json else {}
        except Beyond as error:
            raise AskError(f"the form was not filled in as asked:\n- {error}") from None
        if self._loads is None:
            return Answer("accept", value)
        faults = Faults()
        # A client may add its own members.
        value = {name: each for name, each in value.items() if name in self._form["properties"]}
        loaded = self._loads.load(value, "", faults)
        if faults:
            raise AskError(f"the form was not filled in as asked:\n{faults.list()}")
        return Answer("accept", loaded)


class Page(Question):
    """Asks the user to visit a page. `id` names the visit in `page_completed`."""

    __slots__ = ("id", "message", "url")
    _kind = "elicitation_request"

    def __init__(self, message: str, url: str, *, id: str = "", key: str = "") -> None:
        super().__init__(key)
        self.message = message
        self.url = url
        self.id = id or _new_id()

    def _message(self) -> ElicitationRequest:
        return ElicitationRequest("url", self.message, url=self.url, elicitation_id=self.id)

    def _read(self, message: Any) -> Answer[None]:
        return Answer(message.action, None)


class Sample(Question):
    """Asks the model of the client for a message. The answer is a dict with role, content, model and stop_reason.

    `content` is the text if the model answers with text, and the content block or blocks otherwise. `more` are further
    members of the request of MCP: temperature, stopSequences, tools, toolChoice, includeContext, metadata.

    MCP 2026-07-28 deprecates sampling: it stays for a year at least, and few clients have it.
    """

    __slots__ = ("max_tokens", "messages", "model_preferences", "more", "system_prompt")
    _kind = "sampling_request"

    def __init__(
        self,
        messages: str | list[dict[str, Any]],
        *,
        system_prompt: str = "",
        max_tokens: int = 1000,
        model_preferences: dict[str, Any] | None = None,
        key: str = "",
        **more: Any,
    ) -> None:
        super().__init__(key)
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": messages}]
        if not isinstance(messages, str):
            self.messages = messages
        self.system_prompt = system_prompt
        self.max_tokens = max_tokens
        self.model_preferences = model_preferences
        self.more = more

    def _message(self) -> SamplingRequest:
        from .content import Content

        messages = [
            each | {"content": each["content"].block()} if isinstance(each.get("content"), Content) else each
            for each in self.messages
        ]
        return SamplingRequest(
            messages_json=dump(messages),
            model_preferences_json=dump(self.model_preferences) if self.model_preferences else "",
            system_prompt=self.system_prompt,
            max_tokens=self.max_tokens,
            params_json=dump(self.more) if self.more else "",
        )

    def _read(self, message: Any) -> dict[str, Any]:
        content: Any = message.content_json
        try:
            found = parse(content)
        except ValueError:
            found = content
        if isinstance(found, dict) and isinstance(found.get("text"), str):
            content = found["text"]
        elif not isinstance(found, str):
            content = found
        return {
            "role": message.role,
            "content": content,
            "model": message.model,
            "stop_reason": message.stop_reason,
        }


class Roots(Question):
    """Asks the client for the folders that it works in.

    MCP 2026-07-28 deprecates roots: they stay for a year at least. Take folders as arguments of tools instead.
    """

    __slots__ = ()
    _kind = "list_roots_request"

    def _message(self) -> ListRootsRequest:
        return ListRootsRequest()

    def _read(self, message: Any) -> list[Root]:
        return [Root(each.uri, each.name) for each in message.roots]


def _flat(form: Any) -> tuple[Kind, dict[str, Any]]:
    """The schema of a form: an object of scalars, without references, as clients can show it."""
    import sys

    module = sys.modules.get(getattr(form, "__module__", ""))
    types = Types(vars(module) if module else None)
    kind = types.of(form)
    schema = _inlined(kind.schema, types)
    if schema.get("type") != "object" or "properties" not in schema:
        raise TypeError(f"{form!r} is not a form: a form is a dataclass, a TypedDict or a model")
    properties = {}
    for name, each in schema["properties"].items():
        each = _inlined(each, types)
        parts = [part for part in each.get("anyOf", ()) if part.get("type") != "null"]
        if len(parts) == 1:
            each = {key: value for key, value in each.items() if key != "anyOf"} | _inlined(parts[0], types)
        if each.get("default", "") is None:
            del each["default"]
        if each.get("type") == "object" or "anyOf" in each:
            raise TypeError(f"the field {name} of the form is not a text, a number, a boolean or a choice")
        properties[name] = to_plain(each)
    found = {"type": "object", "properties": properties}
    if "required" in schema:
        found["required"] = schema["required"]
    return kind, found


def _inlined(schema: dict[str, Any], types: Types) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return types.definitions[schema["$ref"].rpartition("/")[2]] | rest


def _new_id() -> str:
    import os

    return os.urandom(12).hex()
