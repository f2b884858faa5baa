"""Tools for AI agents: write a function, `pmcp` serves it over MCP.

    from protomcp import tool

    @tool("Adds two numbers.")
    def add(a: int, b: int) -> int:
        return a + b

`pmcp dev tools.py` serves this file and reloads it after each save.
"""

from __future__ import annotations

from . import _names
from ._typing import TYPE_CHECKING
from ._version import __version__
from .tool import tool

if TYPE_CHECKING:
    from . import manager as tool_manager
    from ._lifespan import lifespan
    from .app import App, AppOnly
    from .changes import prompts_changed, resource_changed, resources_changed, tools_changed
    from .completion import CompletionResult, completion
    from .content import Audio, Content, Embedded, File, Image, Link, Text
    from .context import AsyncContext, Caller, Principal, ToolContext
    from .depends import Depends
    from .discovery import configure, discover_handlers
    from .errors import AskError, Cancelled, TaskError, ToolError
    from .fields import Field
    from .group import action, clear_group_registry, get_registered_groups, tool_group
    from .handover import hand_over, take_over
    from .local_middleware import clear_local_middleware, get_local_middleware, local_middleware
    from .log import ServerLogger
    from .middleware import clear_middleware_registry, get_registered_middleware, middleware
    from .prompt import PromptArg, PromptMessage, PromptResult, prompt
    from .questions import Answer, Form, Page, Root, Roots, Sample
    from .resource import ResourceContent, ResourceResult, resource, resource_template
    from .result import ToolResult
    from .runner import log, run
    from .server_context import clear_context_registry, get_registered_contexts, server_context
    from .sidecar import clear_sidecar_registry, get_registered_sidecars, sidecar
    from .skills import skills
    from .telemetry import ToolCallEvent, clear_telemetry_sinks, emit_telemetry, telemetry_sink
    from .tool import clear_registry, get_registered_tools
    from .workflow import StepResult, clear_workflow_registry, get_registered_workflows, step, workflow
else:
    __getattr__, __dir__ = _names.load, _names.names

__all__ = [
    "Answer",
    "App",
    "AppOnly",
    "AskError",
    "AsyncContext",
    "Audio",
    "Caller",
    "Cancelled",
    "CompletionResult",
    "Content",
    "Depends",
    "Embedded",
    "Field",
    "File",
    "Form",
    "Image",
    "Link",
    "Page",
    "Principal",
    "PromptArg",
    "PromptMessage",
    "PromptResult",
    "ResourceContent",
    "ResourceResult",
    "Root",
    "Roots",
    "Sample",
    "ServerLogger",
    "StepResult",
    "TaskError",
    "Text",
    "ToolCallEvent",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "__version__",
    "action",
    "clear_context_registry",
    "clear_group_registry",
    "clear_local_middleware",
    "clear_middleware_registry",
    "clear_registry",
    "clear_sidecar_registry",
    "clear_telemetry_sinks",
    "clear_workflow_registry",
    "completion",
    "configure",
    "discover_handlers",
    "emit_telemetry",
    "get_local_middleware",
    "get_registered_contexts",
    "get_registered_groups",
    "get_registered_middleware",
    "get_registered_sidecars",
    "get_registered_tools",
    "get_registered_workflows",
    "hand_over",
    "lifespan",
    "local_middleware",
    "log",
    "middleware",
    "prompt",
    "prompts_changed",
    "resource",
    "resource_changed",
    "resource_template",
    "resources_changed",
    "run",
    "server_context",
    "sidecar",
    "skills",
    "step",
    "take_over",
    "telemetry_sink",
    "tool",
    "tool_group",
    "tool_manager",
    "tools_changed",
    "workflow",
]
