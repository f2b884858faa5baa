"""Prompts: texts that a user picks and fills in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from . import _docstring
from ._signature import Signature, doc_of, name_of

_F = TypeVar("_F", bound=Callable[..., Any])
_prompt_registry: list[PromptDef] = []


class PromptArg:
    """An argument of a prompt: a text."""

    def __init__(self, name: str, description: str = "", required: bool = False, title: str = "") -> None:
        self.name = name
        self.description = description
        self.required = required
        self.title = title


class PromptMessage:
    """A message of a prompt. `role` is user or assistant; `content` is text, or a content such as an Image."""

    def __init__(self, role: str, content: Any, content_type: str = "text") -> None:
        self.role = role
        self.content = content
        self.content_type = content_type


class PromptResult:
    """The answer to a prompt, with more than its messages.

    `messages` is the value that a handler returns otherwise. `description` takes the place of that of the prompt.
    `meta` is the `_meta` of the answer.
    """

    def __init__(self, messages: Any, description: str = "", meta: dict[str, Any] | None = None) -> None:
        self.messages = messages
        self.description = description
        self.meta = meta


class PromptDef:
    """A prompt as it was registered."""

    def __init__(
        self,
        name: str,
        description: str,
        handler: Callable[..., Any],
        arguments: list[PromptArg] | None = None,
        title: str = "",
        icons: list[dict[str, Any]] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.handler = handler
        self.arguments = [] if arguments is None else arguments
        self.title = title
        self.icons = icons
        self.meta = meta


@overload
def prompt(description: _F, /) -> _F: ...
@overload
def prompt(
    description: str = "",
    arguments: list[PromptArg] | None = None,
    *,
    name: str = "",
    title: str = "",
    icons: list[dict[str, Any]] | None = None,
    meta: dict[str, Any] | None = None,
) -> Callable[[_F], _F]: ...
def prompt(
    description: Any = "",
    arguments: list[PromptArg] | None = None,
    *,
    name: str = "",
    title: str = "",
    icons: list[dict[str, Any]] | None = None,
    meta: dict[str, Any] | None = None,
) -> Any:
    """Registers a prompt. The function is called with the arguments by name; without `arguments` they are those of the
    function. It returns text, a PromptMessage, a list of both, or a PromptResult. `@prompt` alone works, too.
    """
    if callable(description):
        return prompt()(description)

    def decorator(func: _F) -> _F:
        text = description or _docstring.summary(doc_of(func))
        found = _arguments(func) if arguments is None else arguments
        _prompt_registry.append(PromptDef(name or name_of(func), text, func, found, title, icons, meta))
        return func

    return decorator


def _arguments(func: Callable[..., Any]) -> list[PromptArg]:
    from ._input import context_type_of, provider_of

    signature, notes = Signature(func), _docstring.parameters(doc_of(func))
    names = [
        each
        for each in signature.names
        if each not in ("ctx", "self")
        and context_type_of(signature.hints.get(each)) is None
        and provider_of(signature.hints.get(each), signature.defaults.get(each)) is None
    ]
    return [PromptArg(each, notes.get(each, ""), each not in signature.defaults) for each in names]


def get_registered_prompts() -> list[PromptDef]:
    return list(_prompt_registry)


def clear_prompt_registry() -> None:
    _prompt_registry.clear()
