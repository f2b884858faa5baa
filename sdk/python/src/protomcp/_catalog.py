"""All that the process offers, in the form of the envelope."""

from __future__ import annotations

import sys
from typing import Any

from . import _registry
from ._json import dump
from ._plan import Plan
from ._signature import place_of
from ._wire import (
    PromptArgument,
    PromptDefinition,
    PromptListResponse,
    ResourceDefinition,
    ResourceListResponse,
    ResourceTemplateDefinition,
    ResourceTemplateListResponse,
    ToolDefinition,
    ToolListResponse,
)
from .group import get_registered_groups
from .local_middleware import get_local_middleware
from .prompt import PromptDef, get_registered_prompts
from .resource import get_registered_resource_templates, get_registered_resources
from .tool import ToolDef, get_registered_tools


class Tools:
    """The tools by name. They are looked up anew after each registration."""

    def __init__(self) -> None:
        self._plans: dict[str, Plan] = {}
        self._definitions: list[ToolDef] = []
        self._revision = -1
        self._warned: set[str] = set()

    def all(self) -> list[ToolDef]:
        if self._revision != _registry.revision:
            found: dict[str, ToolDef] = {}
            for each in get_registered_tools():
                if each.name in found:
                    self._warn(each)
                found[each.name] = each
            self._definitions = list(found.values())
            self._plans = {}
            self._revision = _registry.revision
        return self._definitions

    def _warn(self, tool: ToolDef) -> None:
        if tool.name not in self._warned:
            self._warned.add(tool.name)
            text = f"protomcp: two tools are named {tool.name!r}: the one at {place_of(tool.handler)} counts"
            print(text, file=sys.stderr, flush=True)

    def plan(self, name: str) -> Plan | None:
        """The plan of the tool with this name."""
        plan = self._plans.get(name)
        if plan is None or self._revision != _registry.revision:
            definition = next((each for each in self.all() if each.name == name), None)
            if definition is None:
                return None
            plan = self._plans[name] = definition.plan()
        return plan

    def hidden(self) -> list[str]:
        return [each.name for each in self.all() if each.hidden]

    def have_async(self) -> bool:
        return any(each.plan().is_async for each in self.all())

    def keep_their_schemas(self) -> bool:
        """True if each tool with an output schema always sends structured content that matches."""
        return all(
            not each.output_schema_json or (each.plan().output.kind is not None and each.plan().output.is_kept)
            for each in self.all()
        )

    def check_by_schema(self) -> bool:
        """True if no call succeeds whose arguments do not match the schema of its tool.

        A union of actions says more about a wrong action than a schema can, and local middleware may fill in arguments.
        """
        return not get_local_middleware() and not any(each.strategy == "union" for each in get_registered_groups())

    def list(self) -> ToolListResponse:
        return ToolListResponse([_tool(each) for each in self.all()])


def _tool(each: ToolDef) -> ToolDefinition:
    return ToolDefinition(
        name=each.name,
        description=each.description,
        input_schema_json=each.input_schema_json,
        output_schema_json=each.output_schema_json,
        title=each.title,
        read_only_hint=each.read_only_hint,
        destructive_hint=each.destructive_hint,
        idempotent_hint=each.idempotent_hint,
        open_world_hint=each.open_world_hint,
        task_support=each.task_support,
        annotations_json=_json(each.annotations),
        icons_json=_json(each.icons),
        task_required=each.task_required,
        metadata_json=_json(each.meta),
    )


def resources() -> ResourceListResponse:
    return ResourceListResponse(
        [
            ResourceDefinition(
                uri=each.uri,
                name=each.name,
                description=each.description,
                mime_type=each.mime_type,
                size=each.size,
                title=each.title,
                icons_json=_json(each.icons),
                annotations_json=_json(each.annotations),
                metadata_json=_json(each.meta),
            )
            for each in get_registered_resources()
        ]
    )


def resource_templates() -> ResourceTemplateListResponse:
    return ResourceTemplateListResponse(
        [
            ResourceTemplateDefinition(
                uri_template=each.uri_template,
                name=each.name,
                description=each.description,
                mime_type=each.mime_type,
                title=each.title,
                icons_json=_json(each.icons),
                annotations_json=_json(each.annotations),
                metadata_json=_json(each.meta),
            )
            for each in get_registered_resource_templates()
        ]
    )


def prompts() -> PromptListResponse:
    return PromptListResponse([_prompt(each) for each in get_registered_prompts()])


def _prompt(each: PromptDef) -> PromptDefinition:
    return PromptDefinition(
        name=each.name,
        description=each.description,
        arguments=[
            PromptArgument(one.name, one.description, one.required, getattr(one, "title", "")) for one in each.arguments
        ],
        title=each.title,
        icons_json=_json(each.icons),
        metadata_json=_json(each.meta),
    )


def _json(value: Any) -> str:
    """A value as JSON; empty if there is none."""
    return dump(value) if value else ""
