"""The definitions of workflows and steps, as they were declared, and the result of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._plan import Plan, PlanCache
from .tool import ToolDef

PUBLIC_MODULE = f"{__package__}.workflow"
"""The module from which users import the classes: pickles and `repr` name it."""


class StepResult:
    """The result of a step. `next` chooses among the declared next steps."""

    __module__ = PUBLIC_MODULE

    def __init__(self, result: str = "", next: list[str] | None = None) -> None:
        self.result = result
        self.next = next

    def __repr__(self) -> str:
        return f"StepResult({self.result!r}, next={self.next!r})"


class StepDef:
    """A step as it was registered."""

    __module__ = PUBLIC_MODULE

    def __init__(
        self,
        name: str,
        description: str,
        handler: Callable[..., Any],
        input_schema: dict[str, Any],
        initial: bool = False,
        next: list[str] | None = None,
        terminal: bool = False,
        no_cancel: bool = False,
        allow_during: list[str] | None = None,
        block_during: list[str] | None = None,
        on_error: dict[type, str] | None = None,
        requires: list[str] | None = None,
        enum_fields: dict[str, list[Any]] | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.handler = handler
        self._input_schema = input_schema
        self.initial = initial
        self.next = next
        self.terminal = terminal
        self.no_cancel = no_cancel
        self.allow_during = allow_during
        self.block_during = block_during
        self.on_error = on_error
        self.requires = requires
        self.enum_fields = enum_fields
        # The name of the tool, for errors.
        self.tool = name
        self.plan = PlanCache(lambda: Plan(self.name, self.handler, tool=self.tool, is_listed=not self._input_schema))

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self._input_schema or self.plan().input.schema


class WorkflowDef:
    """A workflow as it was registered."""

    __module__ = PUBLIC_MODULE

    def __init__(
        self,
        name: str,
        description: str,
        steps: list[StepDef],
        instance: Any,
        allow_during: list[str] | None = None,
        block_during: list[str] | None = None,
        on_cancel: Callable[..., Any] | None = None,
        on_complete: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.steps = steps
        self.instance = instance
        self.allow_during = allow_during
        self.block_during = block_during
        self.on_cancel = on_cancel
        self.on_complete = on_complete
        self.handles = False
        # Made when they are asked for first.
        self.tools: list[ToolDef] | None = None

    def step(self, name: str) -> StepDef:
        return next(each for each in self.steps if each.name == name)
