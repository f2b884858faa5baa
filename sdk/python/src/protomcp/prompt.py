"""Prompts: texts that a user picks and fills in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from . import _docstring
from ._signature import doc_of, name_of

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

    `messages` is the value that a handler returns otherwise. `description` replaces the description of the prompt.
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
        self._arguments = [] if arguments is None else arguments
        # True until the arguments are read from the handler.
        self._is_open = False
        self.title = title
        self.icons = icons
        self.meta = meta

    @property
    def arguments(self) -> list[PromptArg]:
        """The arguments that a client fills in."""
        if self._is_open:
            self._arguments, self._is_open = _arguments(self.handler), False
        return self._arguments

    @arguments.setter
    def arguments(self, arguments: list[PromptArg]) -> None:
        self._arguments, self._is_open = arguments, False


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
    """Registers a prompt. The function is called with the arguments by name; without `arguments` they are the arguments
    of the function. It returns text, a PromptMessage, a list of both, or a PromptResult. `@prompt` alone works, too.
    """
    if callable(description) or hasattr(type(description), "__get__"):
        return prompt()(description)

    def decorator(func: _F) -> _F:
        text = description or _docstring.summary(doc_of(func))
        found = PromptDef(name or name_of(func), text, func, arguments, title, icons, meta)
        found._is_open = arguments is None
        _prompt_registry.append(found)
        return func

    return decorator


def _arguments(func: Callable[..., Any]) -> list[PromptArg]:
    from ._input import input_of

    found, notes = input_of(func), _docstring.parameters(doc_of(func))
    defaults = found.signature.defaults
    return [PromptArg(each.name, notes.get(each.name, ""), each.name not in defaults) for each in found.fields]


def get_registered_prompts() -> list[PromptDef]:
    return list(_prompt_registry)


def clear_prompt_registry() -> None:
    _prompt_registry.clear()
