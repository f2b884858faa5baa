"""Groups: the methods of a class as tools, or as the actions of one tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import _docstring, _registry
from ._faults import nearest
from ._json import dump
from ._plan import Plan, PlanCache
from ._references import conflicts, renamed
from ._registry import check_text
from ._signature import doc_of, is_async, marked, place_of, set_mark
from .context import context_as
from .errors import DeclarationError
from .result import ToolResult
from .tool import ToolDef

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)
_group_registry: list[GroupDef] = []


class ActionDef:
    """An action as it was registered. `hints` are messages for results, each with a condition."""

    def __init__(
        self,
        name: str,
        description: str,
        handler: Callable[..., Any],
        input_schema: dict[str, Any],
        requires: list[str] | None = None,
        enum_fields: dict[str, list[Any]] | None = None,
        cross_rules: list[tuple[Callable[..., Any], str]] | None = None,
        hints: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.handler = handler
        self._input_schema = input_schema
        self.requires = requires or []
        self.enum_fields = enum_fields or {}
        self.cross_rules = cross_rules or []
        self.hints = hints or {}
        # The name of the tool, for errors.
        self.tool = name
        # True if the tool has the schema of this action alone.
        self.is_listed = False
        self.plan = PlanCache(lambda: Plan(self.name, self.handler, tool=self.tool, is_listed=self.is_listed))

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self._input_schema or self.plan().input.schema


class GroupDef:
    """A group as it was registered."""

    def __init__(
        self,
        name: str,
        description: str,
        actions: list[ActionDef],
        instance: Any,
        strategy: str = "separate",
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
        self.actions = actions
        self.instance = instance
        self.strategy = strategy
        self.title = title
        self.destructive_hint = destructive_hint
        self.idempotent_hint = idempotent_hint
        self.read_only_hint = read_only_hint
        self.open_world_hint = open_world_hint
        self.task_support = task_support
        self.hidden = hidden
        self.separator = "."
        self._tools: list[ToolDef] | None = None

    def tools(self) -> list[ToolDef]:
        """The tools of the group; the same objects each time."""
        if self._tools is None:
            self._tools = [_union(self)] if self.strategy == "union" else [_single(self, each) for each in self.actions]
        return self._tools


def action(
    name: str,
    description: str = "",
    requires: list[str] | None = None,
    enum_fields: dict[str, list[Any]] | None = None,
    cross_rules: list[tuple[Callable[..., Any], str]] | None = None,
    hints: dict[str, dict[str, Any]] | None = None,
) -> Callable[[_F], _F]:
    """Makes a method an action of its group.

    Before the method runs, `requires` names arguments that must not be empty, `enum_fields` the values that others may
    have, and `cross_rules` are functions of all arguments with the message for which a call is refused if they return
    true. `hints` maps names to `{"condition": function, "message": text}`; the messages are added to the result.
    """
    check_text("action", "a name", name)

    def decorator(func: _F) -> _F:
        mark = {
            "name": name,
            "description": description or _docstring.summary(doc_of(func)),
            "requires": requires,
            "enum_fields": enum_fields,
            "cross_rules": cross_rules,
            "hints": hints,
        }
        set_mark(func, "_action_def", mark)
        return func

    return decorator


def tool_group(
    name: str,
    description: str = "",
    strategy: str = "separate",
    title: str = "",
    destructive: bool = False,
    idempotent: bool = False,
    read_only: bool = False,
    open_world: bool = False,
    task_support: bool = False,
    hidden: bool = False,
    *,
    separator: str = ".",
) -> Callable[[_C], _C]:
    """Registers a class whose methods are actions; one instance is made immediately.

    The strategy `separate` makes a tool of each action, named `group.action`; some hosts refuse dots, `separator="_"`
    gives them another name. `union` makes one tool with an argument `action`.
    """
    check_text("tool_group", "a name", name)

    def decorator(cls: _C) -> _C:
        instance = cls()
        actions = [
            ActionDef(handler=method, input_schema={}, **found) for method, found in marked(instance, "_action_def")
        ]
        for each in actions:
            each.tool = f"{name}{separator}{each.name}"
        group = GroupDef(
            name,
            description,
            actions,
            instance,
            strategy,
            title,
            destructive,
            idempotent,
            read_only,
            open_world,
            task_support,
            hidden,
        )
        group.separator = separator
        _group_registry.append(group)
        _registry.changed()
        return cls

    return decorator


def get_registered_groups() -> list[GroupDef]:
    return list(_group_registry)


def clear_group_registry() -> None:
    _group_registry.clear()
    _registry.changed()


def groups_to_tool_defs() -> list[ToolDef]:
    """The tools of all groups."""
    return [each for group in _group_registry for each in group.tools()]


def _define(group: GroupDef, name: str, description: str, handler: Any, schema: dict[str, Any]) -> ToolDef:
    return ToolDef(
        name,
        description,
        dump(schema) if schema else "",
        handler,
        title=group.title,
        destructive_hint=group.destructive_hint,
        idempotent_hint=group.idempotent_hint,
        read_only_hint=group.read_only_hint,
        open_world_hint=group.open_world_hint,
        task_support=group.task_support,
        hidden=group.hidden,
    )


def _handler(actions: list[ActionDef], choose: Callable[[dict[str, Any]], ActionDef | ToolResult]) -> Any:
    """A function that chooses an action, checks its rules, and runs it."""

    def run(ctx: Any, arguments: dict[str, Any]) -> Any:
        chosen = choose(arguments)
        if isinstance(chosen, ToolResult):
            return chosen
        arguments = chosen.plan().prepare(arguments)
        if (refusal := _refusal(chosen, arguments)) is not None:
            return refusal
        notes = [each["message"] for each in chosen.hints.values() if each["condition"](arguments)]
        result = _call(chosen, ctx, arguments)
        if hasattr(result, "__await__"):
            return _noted_later(chosen, result, notes)
        return _noted(chosen, result, notes)

    if any(is_async(each.handler) for each in actions):

        async def handler(ctx: Any, **arguments: Any) -> Any:
            result = run(ctx, arguments)
            return await result if hasattr(result, "__await__") else result
    else:

        def handler(ctx: Any, **arguments: Any) -> Any:  # type: ignore[misc]
            return run(ctx, arguments)

    handler.resolves_contexts = True  # type: ignore[attr-defined]
    return handler


def _call(chosen: ActionDef, ctx: Any, arguments: dict[str, Any]) -> Any:
    plan = chosen.plan()
    # Middleware has already run around the tool.
    return plan._call(context_as(ctx, plan.context_class), arguments)


def _refusal(chosen: ActionDef, arguments: dict[str, Any]) -> ToolResult | None:
    """The result if the arguments break a rule."""
    for name in chosen.requires:
        if arguments.get(name) in (None, ""):
            return _refuse("MISSING_REQUIRED", f"Missing required field: {name}")
    for name, valid in chosen.enum_fields.items():
        value = arguments.get(name)
        if value is not None and value not in valid:
            options = [str(each) for each in valid]
            near = nearest(str(value), options)
            text = f"Invalid value '{value}' for field '{name}'."
            refusal = _refuse("INVALID_ENUM", text, f"Did you mean '{near}'?" if near else None)
            refusal.result = f"{text} Valid options: {', '.join(options)}"
            return refusal
    for is_broken, text in chosen.cross_rules:
        if is_broken(arguments):
            return _refuse("CROSS_PARAM_VIOLATION", text)
    return None


def _refuse(code: str, text: str, suggestion: str | None = None) -> ToolResult:
    return ToolResult(text, is_error=True, error_code=code, message=text, suggestion=suggestion)


async def _noted_later(chosen: ActionDef, result: Any, notes: list[str]) -> Any:
    return _noted(chosen, await result, notes)


def _noted(chosen: ActionDef, result: Any, notes: list[str]) -> Any:
    """The result with the hints that apply."""
    if not notes:
        return result
    from ._output import with_note

    text = "\n\n**Hints:**\n" + "\n".join(f"- {each}" for each in notes)
    if not isinstance(result, ToolResult):
        return ToolResult(with_note(result, text))
    found = ToolResult(**{name: getattr(result, name) for name in ToolResult.__slots__})
    found.result = with_note(result.result, text)
    return found


def _single(group: GroupDef, each: ActionDef) -> ToolDef:
    """The tool of one action."""
    each.is_listed = not each._input_schema
    tool = _define(
        group,
        f"{group.name}{group.separator}{each.name}",
        each.description or f"{group.name} {each.name}",
        _handler([each], lambda arguments: each),
        {},
    )
    tool.schema = lambda: each.input_schema
    tool.source = each.handler
    return tool


def _union(group: GroupDef) -> ToolDef:
    """The tool of all actions."""
    by_name = {each.name: each for each in group.actions}
    listed = ", ".join(by_name)

    def choose(arguments: dict[str, Any]) -> ActionDef | ToolResult:
        name = arguments.pop("action", None)
        if name is None:
            return _refuse("MISSING_ACTION", f"Missing 'action' field. Available actions: {listed}")
        if name not in by_name:
            near = nearest(str(name), by_name)
            hint = f" Did you mean '{near}'?" if near else ""
            return _refuse("UNKNOWN_ACTION", f"Unknown action '{name}'.{hint} Available actions: {listed}")
        return by_name[name]

    description = f"{group.description} Actions: {listed}".strip()
    tool = _define(group, group.name, description, _handler(group.actions, choose), {})
    tool.schema = lambda: _union_schema(group)
    tool.source = next((each.handler for each in group.actions), tool.handler)
    return tool


def _union_schema(group: GroupDef) -> dict[str, Any]:
    """One object for all actions. Hosts refuse schemas that choose between several at the top."""
    properties: dict[str, Any] = {"action": {"type": "string", "enum": [each.name for each in group.actions]}}
    definitions: dict[str, Any] = {}
    for each in group.actions:
        arguments = each.input_schema
        if "action" in arguments.get("properties", {}):
            raise DeclarationError(
                f"{place_of(each.handler)}: the parameter action chooses the action: give it another name"
            )
        for name, schema in _joined(definitions, arguments).items():
            known = properties.setdefault(name, schema)
            if known == schema:
                continue
            choices = known["anyOf"] if set(known) == {"anyOf"} else [known]
            if schema not in choices:
                properties[name] = {"anyOf": [*choices, schema]}
    found: dict[str, Any] = {"type": "object", "properties": properties, "required": ["action"]}
    return found | {"$defs": definitions} if definitions else found


def _joined(definitions: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Adds the definitions of a schema to others, whose names may stand for other types, and returns its properties."""
    added = schema.get("$defs", {})
    names = conflicts(added, definitions)
    definitions.update({names.get(name, name): renamed(each, names) for name, each in added.items()})
    found: dict[str, Any] = renamed({"properties": schema.get("properties", {})}, names)["properties"]
    return found
