"""Workflows: steps in an order that the client can see.

Only the first step is listed at the beginning. Each step shows the next ones, and hides what is not allowed during the
workflow; the end shows the other tools from before, and the first step stays hidden. Clients of MCP 2026-07-28 do not
have their own list: for them a workflow can have *handles*. The first step returns a handle, the list never changes,
and the other steps take the handle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import _docstring, _registry, _workflow_runs
from ._registry import check_text
from ._signature import doc_of, marked, name_of, set_mark
from ._workflow_calls import has_cancel, tools_of
from ._workflow_definitions import StepDef as StepDef
from ._workflow_definitions import StepResult as StepResult
from ._workflow_definitions import WorkflowDef as WorkflowDef
from ._workflow_runs import WorkflowState as WorkflowState
from .tool import ToolDef

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)
_workflow_registry: list[WorkflowDef] = []


def step(
    name: str | None = None,
    description: str = "",
    initial: bool = False,
    next: list[str] | None = None,
    terminal: bool = False,
    no_cancel: bool = False,
    allow_during: list[str] | None = None,
    block_during: list[str] | None = None,
    on_error: dict[type, str] | None = None,
    requires: list[str] | None = None,
    enum_fields: dict[str, list[Any]] | None = None,
) -> Callable[[_F], _F]:
    """Makes a method a step of its workflow, under its own name or `name`.

    One step is `initial`; a `terminal` one ends the workflow; the others name the steps that may be `next`. `on_error`
    maps exceptions to the steps to go on with. `no_cancel` forbids cancelling before this step. `allow_during` and
    `block_during` are patterns of the other tools that are shown, in place of the workflow's.
    """

    def decorator(func: _F) -> _F:
        mark = {
            "name": name if name is not None else name_of(func),
            "description": description or _docstring.summary(doc_of(func)),
            "initial": initial,
            "next": next,
            "terminal": terminal,
            "no_cancel": no_cancel,
            "allow_during": allow_during,
            "block_during": block_during,
            "on_error": on_error,
            "requires": requires,
            "enum_fields": enum_fields,
        }
        set_mark(func, "_step_def", mark)
        return func

    return decorator


def workflow(
    name: str,
    description: str = "",
    allow_during: list[str] | None = None,
    block_during: list[str] | None = None,
    *,
    handles: bool = False,
) -> Callable[[_C], _C]:
    """Registers a class whose methods are steps; one instance is made immediately.

    `allow_during` and `block_during` are patterns of the other tools that are shown while it runs; without both there
    are none. A hidden tool that no result or `tool_manager` has shown is among them only with its whole name in
    `allow_during`. Methods `on_cancel` and `on_complete` are called at its end. With `handles` the steps are always
    listed, and told apart by the handle that the first one returns; the patterns, if there are any, limit the other
    tools for the client of a session, and not for clients without one, whose list never changes. Raises ValueError if
    the steps do not fit together.
    """
    check_text("workflow", "a name", name)

    def decorator(cls: _C) -> _C:
        instance = cls()
        steps = [StepDef(handler=method, input_schema={}, **found) for method, found in marked(instance, "_step_def")]
        for each in steps:
            each.tool = f"{name}.{each.name}"
        hooks = [getattr(instance, each, None) for each in ("on_cancel", "on_complete")]
        on_cancel, on_complete = (each if callable(each) else None for each in hooks)
        made = WorkflowDef(name, description, steps, instance, allow_during, block_during, on_cancel, on_complete)
        made.handles = handles
        _validate(made)
        _workflow_registry.append(made)
        _registry.changed()
        return cls

    return decorator


def get_registered_workflows() -> list[WorkflowDef]:
    return list(_workflow_registry)


def clear_workflow_registry() -> None:
    _workflow_registry.clear()
    _workflow_runs.clear()
    _registry.changed()


def workflows_to_tool_defs() -> list[ToolDef]:
    """The tools of all workflows."""
    return [each for made in _workflow_registry for each in tools_of(made)]


def note_result(tool: str, session: str, result: Any) -> None:
    """Remembers the tools that the result of a tool shows and hides. A step has noted its own."""
    if all(each.name != tool for each in workflows_to_tool_defs()):
        _workflow_runs.note_changes(session, result)


def _validate(made: WorkflowDef) -> None:
    """Checks that the steps are a graph with one beginning and no dead end."""

    def refuse(text: str) -> None:
        raise ValueError(f"Workflow '{made.name}': {text}")

    names = {each.name for each in made.steps}
    if "cancel" in names and has_cancel(made):
        refuse("step 'cancel' has the name of the tool that cancels a run")
    initial = [each.name for each in made.steps if each.initial]
    if not initial:
        refuse("no initial step defined")
    if len(initial) > 1:
        refuse(f"multiple initial steps: {initial}")
    for each in made.steps:
        if each.terminal and each.next is not None:
            refuse(f"terminal step '{each.name}' has next")
        if not each.terminal and each.next is None:
            refuse(f"non-terminal step '{each.name}' has no next (dead end)")
        for target in each.next or ():
            if target not in names:
                refuse(f"step '{each.name}' references nonexistent step '{target}'")
        for target in (each.on_error or {}).values():
            if target not in names:
                refuse(f"step '{each.name}' on_error references nonexistent step '{target}'")
