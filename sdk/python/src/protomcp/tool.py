"""Tools: functions that a model calls."""

from __future__ import annotations

from . import _docstring, _registry
from ._json import dump_schema, parse
from ._plan import Plan, PlanCache
from ._signature import doc_of, name_of
from ._typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

_registry_of_tools: list[ToolDef] = []


class ToolDef:
    """A tool as it was registered. Its schemas are made from the types of the handler when they are first read."""

    def __init__(
        self,
        name: str,
        description: str,
        input_schema_json: str,
        handler: Callable[..., Any],
        output_schema_json: str = "",
        title: str = "",
        destructive_hint: bool = False,
        idempotent_hint: bool = False,
        read_only_hint: bool = False,
        open_world_hint: bool = False,
        task_support: bool = False,
        hidden: bool = False,
    ) -> None:
        self.name = name
        self.description = description
        self.handler = handler
        # The function of the author, if another one is called around it.
        self.source: Callable[..., Any] = handler
        self.title = title
        self.destructive_hint = destructive_hint
        self.idempotent_hint = idempotent_hint
        self.read_only_hint = read_only_hint
        self.open_world_hint = open_world_hint
        self.task_support = task_support
        self.hidden = hidden
        self.task_required = False
        self.concurrent: bool | None = None
        self.annotations: dict[str, Any] | None = None
        self.icons: list[dict[str, Any]] | None = None
        self.meta: dict[str, Any] | None = None
        self.output_type: Any = None
        # Makes the schema of a tool whose handler takes anything.
        self.schema: Callable[[], dict[str, Any]] | None = None
        self._input_schema_json = input_schema_json
        self._output_schema_json = output_schema_json
        # The plan of a call, as of the last registration.
        self.plan = PlanCache(self._make_plan)

    @property
    def input_schema_json(self) -> str:
        """The JSON Schema of the arguments."""
        return self._input_schema_json or dump_schema(self.schema() if self.schema else self.plan().input.schema)

    @input_schema_json.setter
    def input_schema_json(self, text: str) -> None:
        self._input_schema_json = text
        _registry.changed()

    @property
    def output_schema_json(self) -> str:
        """The JSON Schema of the structured content; empty if none is promised."""
        return self._output_schema_json or (dump_schema(schema) if (schema := self.plan().output.schema) else "")

    @output_schema_json.setter
    def output_schema_json(self, text: str) -> None:
        self._output_schema_json = text
        _registry.changed()

    @property
    def checks_arguments(self) -> bool:
        """True if a model of pydantic checks a part of the arguments, and may convert what the schema does not allow.

        Groups and workflows are left out: their rules read the arguments before they are converted.
        """
        return not self._input_schema_json and self.schema is None and self.plan().input.has_models

    def _make_plan(self) -> Plan:
        is_listed = not self._input_schema_json and self.schema is None
        plan = Plan(self.name, self.handler, self.output_type, concurrent=self.concurrent, is_listed=is_listed)
        plan.has_tasks = self.task_support or self.task_required
        return plan


@overload
def tool(description: _F, /) -> _F: ...
@overload
def tool(
    description: str = "",
    output_type: Any = None,
    title: str = "",
    destructive: bool = False,
    idempotent: bool = False,
    read_only: bool = False,
    open_world: bool = False,
    task_support: bool = False,
    hidden: bool = False,
    *,
    name: str = "",
    concurrent: bool | None = None,
    task_required: bool = False,
    input_schema: dict[str, Any] | str | None = None,
    annotations: dict[str, Any] | None = None,
    icons: list[dict[str, Any]] | None = None,
    app: Any = None,
    meta: dict[str, Any] | None = None,
) -> Callable[[_F], _F]: ...
def tool(
    description: Any = "",
    output_type: Any = None,
    title: str = "",
    destructive: bool = False,
    idempotent: bool = False,
    read_only: bool = False,
    open_world: bool = False,
    task_support: bool = False,
    hidden: bool = False,
    *,
    name: str = "",
    concurrent: bool | None = None,
    task_required: bool = False,
    input_schema: dict[str, Any] | str | None = None,
    annotations: dict[str, Any] | None = None,
    icons: list[dict[str, Any]] | None = None,
    app: Any = None,
    meta: dict[str, Any] | None = None,
) -> Any:
    """Registers a function as a tool. Without a description its docstring is used; `@tool` alone works, too.

    The arguments come from the function: their types become the schema, and values are checked and converted
    before the call. `output_type` describes the result if the annotation of the function does not.

    `concurrent` lets calls of a plain function overlap in threads; without it plain functions run one at a time, on the
    thread that has run the file. `hidden` tools are not listed until they are enabled. `task_support` and
    `task_required` say that calls may, or must, run as tasks of MCP. `input_schema` replaces the schema. `app` is the
    app that shows the result, see `protomcp.app`. `annotations`, `icons` and `meta` are as in MCP.
    """
    if not isinstance(description, str) and (callable(description) or hasattr(type(description), "__get__")):
        return tool()(description)

    def decorator(func: _F) -> _F:
        text = description or _docstring.summary(doc_of(func))
        found = ToolDef(
            name or name_of(func),
            text,
            input_schema if isinstance(input_schema, str) else "",
            func,
            title=title,
            destructive_hint=destructive,
            idempotent_hint=idempotent,
            read_only_hint=read_only,
            open_world_hint=open_world,
            task_support=task_support or task_required,
            hidden=hidden,
        )
        if input_schema and not isinstance(input_schema, str):
            found.schema = lambda: input_schema
        found.task_required = task_required
        found.concurrent = concurrent
        found.output_type = output_type
        found.annotations = annotations
        found.icons = icons
        found.meta = meta
        if app is not None:
            from .app import meta_of

            found.meta = (meta or {}) | {"ui": meta_of(app)}
        _registry_of_tools.append(found)
        _registry.changed()
        return func

    return decorator


def get_registered_tools() -> list[ToolDef]:
    """All tools: plain ones, and the tools of groups and of workflows."""
    groups = _registry.registered("group", "groups_to_tool_defs")
    return _registry_of_tools + groups + _registry.registered("workflow", "workflows_to_tool_defs")


def get_hidden_tool_names() -> list[str]:
    return [each.name for each in get_registered_tools() if each.hidden]


def clear_registry() -> None:
    _registry_of_tools.clear()
    _registry.changed()


def schema_of(definition: ToolDef) -> dict[str, Any]:
    """The schema of the arguments as an object."""
    found: dict[str, Any] = parse(definition.input_schema_json)
    return found
