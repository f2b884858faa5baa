"""The number of changes to the registries of a file, from which values are derived, and the registries."""

from __future__ import annotations

import sys

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .group import GroupDef
    from .local_middleware import LocalMiddlewareDef
    from .middleware import MiddlewareDef
    from .prompt import PromptDef
    from .resource import ResourceDef, ResourceTemplateDef
    from .server_context import ContextDef
    from .sidecar import SidecarDef
    from .telemetry import ToolCallEvent

revision = 0

# Here, since each call looks at them.
sidecars: list[SidecarDef] = []
sinks: list[Callable[[ToolCallEvent], Any]] = []


def registered(module: str, function: str) -> list[Any]:
    """The result of a function of this module of the package. Without its import nothing has been registered."""
    found = sys.modules.get(f"{__package__}.{module}")
    return getattr(found, function)() if found else []


def groups() -> list[GroupDef]:
    return registered("group", "get_registered_groups")


def resources() -> list[ResourceDef]:
    return registered("resource", "get_registered_resources")


def templates() -> list[ResourceTemplateDef]:
    return registered("resource", "get_registered_resource_templates")


def prompts() -> list[PromptDef]:
    return registered("prompt", "get_registered_prompts")


def middleware() -> list[MiddlewareDef]:
    return registered("middleware", "get_registered_middleware")


def local_middleware() -> list[LocalMiddlewareDef]:
    return registered("local_middleware", "get_local_middleware")


def contexts() -> list[ContextDef]:
    return registered("server_context", "get_registered_contexts")


def completions() -> list[tuple[tuple[str, str, str], Callable[..., Any]]]:
    return registered("completion", "get_registered_completions")


def check_text(decorator: str, what: str, value: object) -> None:
    """A decorator that was written without its parentheses gets the function in place of the text."""
    if not isinstance(value, str):
        raise TypeError(f'@{decorator} is written with {what}: @{decorator}("…")')


def changed() -> None:
    """A decorator has added something, or a registry was cleared."""
    global revision
    revision += 1
