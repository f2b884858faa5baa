"""The public names of the package. A file uses few of them: each is imported when it is first asked for."""

from __future__ import annotations

import sys
from types import ModuleType

# First: the next one needs Python 3.10.
from . import _supported as _supported
from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_NAMES: dict[str, tuple[str, ...]] = {
    "_lifespan": ("lifespan",),
    "app": ("App", "AppOnly"),
    "changes": ("prompts_changed", "resource_changed", "resources_changed", "tools_changed"),
    "completion": ("CompletionResult", "completion"),
    "content": ("Audio", "Content", "Embedded", "File", "Image", "Link", "Text"),
    "context": ("AsyncContext", "Caller", "Principal", "ToolContext"),
    "depends": ("Depends",),
    "discovery": ("configure", "discover_handlers"),
    "errors": ("AskError", "Cancelled", "TaskError", "ToolError"),
    "fields": ("Field",),
    "group": ("action", "clear_group_registry", "get_registered_groups", "tool_group"),
    "handover": ("hand_over", "take_over"),
    "local_middleware": ("clear_local_middleware", "get_local_middleware", "local_middleware"),
    "log": ("ServerLogger",),
    "manager": (),
    "middleware": ("clear_middleware_registry", "get_registered_middleware", "middleware"),
    "prompt": ("PromptArg", "PromptMessage", "PromptResult", "prompt"),
    "questions": ("Answer", "Form", "Page", "Root", "Roots", "Sample"),
    "resource": ("ResourceContent", "ResourceResult", "resource", "resource_template"),
    "result": ("ToolResult",),
    "runner": ("log", "run"),
    "server_context": ("clear_context_registry", "get_registered_contexts", "server_context"),
    "sidecar": ("clear_sidecar_registry", "get_registered_sidecars", "sidecar"),
    "skills": ("skills",),
    "telemetry": ("ToolCallEvent", "clear_telemetry_sinks", "emit_telemetry", "telemetry_sink"),
    "tool": ("clear_registry", "get_registered_tools", "tool"),
    "workflow": ("StepResult", "clear_workflow_registry", "get_registered_workflows", "step", "workflow"),
}
"""By the module that has them, and the modules that are public as such."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names} | {"tool_manager": "manager"}
_package: Any = sys.modules[__package__]


class _Package(ModuleType):
    """Keeps the import of a module, such as `prompt`, from hiding the public name that is the same word."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, ModuleType) or name not in _MODULES or name == "tool_manager":
            super().__setattr__(name, value)


_package.__class__ = _Package


def load(name: str) -> Any:
    """The value of a public name; raises AttributeError."""
    module = _MODULES.get(name, name)
    if module not in _NAMES:
        raise AttributeError(f"module {__package__!r} has no attribute {name!r}")
    __import__(f"{__package__}.{module}")
    value: Any = sys.modules[f"{__package__}.{module}"]
    if name in _NAMES.get(module, ()):
        value = getattr(value, name)
    _package.__dict__[name] = value
    return value


def names() -> list[str]:
    """The names of the package, for `dir`."""
    return sorted({*vars(_package), *_MODULES, *(each for each in _NAMES if not each.startswith("_"))})
