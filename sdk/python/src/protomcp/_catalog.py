"""All that the process offers, in the form of the envelope."""

from __future__ import annotations

import os
import sys

from . import _registry
from ._input import input_of
from ._json import dump_exact, has_form
from ._plan import Plan
from ._signature import code_of, place_of
from ._typing import TYPE_CHECKING
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
from .discovery import all_overlap
from .errors import DeclarationError
from .tool import ToolDef, get_registered_tools

if TYPE_CHECKING:
    from typing import Any

    from .prompt import PromptDef


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
                if (other := found.get(each.name)) is not None and not _is_again(other.source, each.source):
                    self._warn(each)
                found[each.name] = each
            self._definitions = list(found.values())
            self._plans = {}
            self._revision = _registry.revision
        return self._definitions

    def _warn(self, tool: ToolDef) -> None:
        """Of a tool that a handler has registered; tools of the start are compared by `check`."""
        if tool.name not in self._warned:
            self._warned.add(tool.name)
            text = f"protomcp: two tools are named {tool.name!r}: the one at {place_of(tool.source)} counts"
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

    def have_async(self) -> bool:
        return any(each.plan().is_async for each in self.all())

    def run_in_turn(self) -> bool:
        """True if plain handlers cannot overlap. Tools that are registered later may: none says nothing."""
        return bool(self.all()) and not self.use_threads()

    def use_threads(self) -> bool:
        """True if plain handlers may overlap."""
        return all_overlap() or any(each.concurrent for each in self.all())

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
        return not _registry.local_middleware() and not any(each.strategy == "union" for each in _registry.groups())

    def list(self) -> ToolListResponse:
        return ToolListResponse([_tool(each) for each in self.all()])


def check(tools: Tools) -> None:
    """Raises DeclarationError for a part of the file that could not be listed, or not be used; plans check tools."""
    _check_names("tool", [(each.name, each.source) for each in get_registered_tools()])
    for group in _registry.groups():
        _check_names(f"action of {group.name!r},", [(each.name, each.handler) for each in group.actions])
    _check_names("resource", [(each.uri, each.handler) for each in _registry.resources()])
    _check_names("resource template", [(each.uri_template, each.handler) for each in _registry.templates()])
    _check_names("prompt", [(each.name, each.handler) for each in _registry.prompts()])
    _check_names("middleware", [(each.name, each.handler) for each in _registry.middleware()])
    for each in tools.all():
        about = _About("tool", each)
        for name in ("annotations", "icons", "meta"):
            about.json(name)
    for fixed in _registry.resources():
        _check(fixed.handler, f"resource {fixed.uri!r}", 1)
    for template in _registry.templates():
        _check(template.handler, f"resource template {template.uri_template!r}")
    for prompt in _registry.prompts():
        _check(prompt.handler, f"prompt {prompt.name!r}")
    for (_, name, argument), handler in _registry.completions():
        _check(handler, f"completion of {argument!r} of {name!r}", 2)
    for wrap in _registry.middleware():
        _check(wrap.handler, f"middleware {wrap.name!r}")
    resources()
    resource_templates()
    prompts()


def _check_names(kind: str, declared: list[tuple[str, Any]]) -> None:
    known: dict[str, Any] = {}
    for name, source in declared:
        other = known.setdefault(name, source)
        if not _is_again(other, source):
            raise DeclarationError(
                f"{place_of(source)}: {kind} {name!r}: the name is taken by the one at {place_of(other)}"
            )


def _is_again(one: Any, other: Any) -> bool:
    """True for the same function, also if its file was run twice: as the program, and as a module."""
    codes = code_of(one), code_of(other)
    if one is other or codes[0] is codes[1] or None in codes:
        return one is other
    # The program may be named by a relative path, or by a link.
    files = {(os.path.realpath(code.co_filename), code.co_firstlineno) for code in codes if code is not None}
    return len(files) == 1


def _check(handler: Any, about: str, most: int | None = None) -> None:
    """`most` is the number of parameters that get a value, if it is not each of them."""
    try:
        required = [each.name for each in input_of(handler).fields[most:] if each.is_required]
        if most is not None and required:
            raise DeclarationError(f"nothing fills in {', '.join(required)}: give it a default")
    except DeclarationError as error:
        raise DeclarationError(f"{place_of(handler)}: {about}: {error}") from None


def _tool(each: ToolDef) -> ToolDefinition:
    try:
        schemas = each.input_schema_json, each.output_schema_json
    except DeclarationError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise DeclarationError(
            f"{place_of(each.handler)}: tool {each.name!r}: a schema has no form in JSON: {error}"
        ) from None
    about = _About("tool", each)
    return ToolDefinition(
        name=each.name,
        description=each.description,
        input_schema_json=schemas[0],
        output_schema_json=schemas[1],
        title=each.title,
        read_only_hint=each.read_only_hint,
        destructive_hint=each.destructive_hint,
        idempotent_hint=each.idempotent_hint,
        open_world_hint=each.open_world_hint,
        task_support=each.task_support,
        annotations_json=about.json("annotations"),
        icons_json=about.json("icons"),
        task_required=each.task_required,
        metadata_json=about.json("meta"),
        checks_arguments=each.checks_arguments,
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
                icons_json=about.json("icons"),
                annotations_json=about.json("annotations"),
                metadata_json=about.json("meta"),
            )
            for each in _registry.resources()
            for about in [_About("resource", each)]
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
                icons_json=about.json("icons"),
                annotations_json=about.json("annotations"),
                metadata_json=about.json("meta"),
            )
            for each in _registry.templates()
            for about in [_About("resource template", each)]
        ]
    )


def prompts() -> PromptListResponse:
    return PromptListResponse([_prompt(each) for each in _registry.prompts()])


def _prompt(each: PromptDef) -> PromptDefinition:
    about = _About("prompt", each)
    return PromptDefinition(
        name=each.name,
        description=each.description,
        arguments=[
            PromptArgument(one.name, one.description, one.required, getattr(one, "title", "")) for one in each.arguments
        ],
        title=each.title,
        icons_json=about.json("icons"),
        metadata_json=about.json("meta"),
    )


class _About:
    """The parts of a definition that are JSON."""

    def __init__(self, kind: str, definition: Any) -> None:
        self.kind = kind
        self.definition = definition

    def json(self, name: str) -> str:
        """A part as JSON, empty if there is none; raises DeclarationError."""
        each = self.definition
        value = getattr(each, name)
        try:
            return dump_exact(value) if value else ""
        except (TypeError, ValueError, RecursionError) as error:
            keys = [f"[{key!r}]" for key in value if not has_form(value[key])] if isinstance(value, dict) else []
            part = name + (keys[0] if keys else "")
            raise DeclarationError(
                f"{place_of(each.handler)}: {self.kind} {each.name!r}: {part} has no form in JSON: {error}"
            ) from None
