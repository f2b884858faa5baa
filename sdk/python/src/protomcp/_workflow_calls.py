"""The tools of workflows: the call of a step, and of the tool that cancels a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._json import dump
from ._output import content_of, is_empty, report, structured_of
from ._signature import is_async, place_of
from ._workflow_definitions import StepDef, StepResult, WorkflowDef
from ._workflow_runs import (
    WorkflowState,
    begin,
    drop,
    drop_older,
    end,
    lock,
    note_changes,
    proceed,
    refuse,
    refuse_lost,
    session_of,
    state_of,
)
from .context import context_as
from .errors import DeclarationError, leaf_of
from .result import ToolResult
from .tool import ToolDef


def tools_of(made: WorkflowDef) -> list[ToolDef]:
    """The tools of a workflow: one for each step, and one that cancels it. The same objects each time."""
    if made.tools is None:
        found = [_step_tool(made, each) for each in made.steps]
        if has_cancel(made):
            found.append(_cancel_tool(made))
        made.tools = found
    return made.tools


def has_cancel(made: WorkflowDef) -> bool:
    """True if a run can be cancelled, so that there is a tool for it."""
    return any(not each.no_cancel for each in made.steps if not each.terminal)


def _step_tool(made: WorkflowDef, each: StepDef) -> ToolDef:
    if is_async(each.handler):

        async def handler(ctx: Any, **arguments: Any) -> Any:
            return await _StepCall(made, each, ctx, arguments).run_async()
    else:

        def handler(ctx: Any, **arguments: Any) -> Any:  # type: ignore[misc]
            return _StepCall(made, each, ctx, arguments).run()

    handler.resolves_contexts = True  # type: ignore[attr-defined]
    description = each.description or f"{made.name} {each.name}"
    is_hidden = not each.initial and not made.handles
    found = ToolDef(f"{made.name}.{each.name}", description, "", handler, hidden=is_hidden)
    found.source = each.handler
    takes_handle = made.handles and not each.initial
    found.schema = lambda: _with_handle(each.input_schema, each.handler) if takes_handle else each.input_schema
    return found


_HANDLE = {"type": "string", "description": "The handle that the first step has returned"}


def _with_handle(schema: dict[str, Any], handler: Any = None) -> dict[str, Any]:
    """The schema with the handle of the run, which the handler does not get."""
    if "handle" in schema.get("properties", {}):
        raise DeclarationError(
            f"{place_of(handler)}: the parameter handle is the handle of the run: give it another name"
        )
    properties = {"handle": _HANDLE} | schema.get("properties", {})
    return schema | {"properties": properties, "required": ["handle", *schema.get("required", [])]}


def _cancel_tool(made: WorkflowDef) -> ToolDef:
    def handler(ctx: Any, **arguments: Any) -> Any:
        with lock:
            state = state_of(made, ctx, arguments)
            if state is None:
                return refuse_lost(made, ctx, "cancel")
            if made.handles and all(made.step(each).no_cancel for each in state.next):
                return refuse(f"Workflow '{made.name}' cannot be cancelled before: {', '.join(state.next)}")
            # Other calls find no run while `on_cancel` works. If it fails, the run goes on.
            state.is_cancelling = True
        try:
            done = made.on_cancel() if made.on_cancel is not None else None
        except BaseException:
            state.is_cancelling = False
            raise
        return awaited(done, state) if hasattr(done, "__await__") else _cancelled(made, state)

    async def awaited(done: Any, state: WorkflowState) -> ToolResult:
        try:
            await done
        except BaseException:
            state.is_cancelling = False
            raise
        return _cancelled(made, state)

    handler.resolves_contexts = True  # type: ignore[attr-defined]
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    if made.handles:
        schema = _with_handle(schema)
    found = ToolDef(
        f"{made.name}.cancel", f"Cancel the {made.name} workflow", dump(schema), handler, hidden=not made.handles
    )
    found.source = made.steps[0].handler
    return found


def _cancelled(made: WorkflowDef, state: WorkflowState) -> ToolResult:
    """Ends a run, unless one of its steps has done so during `on_cancel`."""
    content = f"Workflow '{made.name}' cancelled"
    return ToolResult(content) if state.has_ended else end(made, state, content)


class _StepCall:
    """One call of a step."""

    def __init__(self, made: WorkflowDef, each: StepDef, ctx: Any, arguments: dict[str, Any]) -> None:
        self.made, self.step, self.ctx, self.arguments = made, each, ctx, arguments
        self.state: Any = None

    def run(self) -> Any:
        if (refusal := self._enter()) is not None:
            return refusal
        is_over = True
        try:
            try:
                result = self._call()
            except Exception as error:
                return self._caught(error)
            found = self._leave(result)
            if hasattr(found, "__await__"):
                is_over = False
                return self._exit_after(found)
            return found
        finally:
            if is_over:
                self._exit()

    async def _exit_after(self, found: Any) -> Any:
        try:
            return await found
        finally:
            self._exit()

    async def run_async(self) -> Any:
        if (refusal := self._enter()) is not None:
            return refusal
        try:
            try:
                result = await self._call()
            except Exception as error:
                return self._caught(error)
            found = self._leave(result)
            return await found if hasattr(found, "__await__") else found
        finally:
            self._exit()

    def _enter(self) -> ToolResult | None:
        """Finds the state, or begins a workflow. One step of a run runs at a time."""
        made, each = self.made, self.step
        with lock:
            state = state_of(made, self.ctx, self.arguments) if not (each.initial and made.handles) else None
            if state is not None and state.is_busy:
                text = "another step of this run has not ended"
                return ToolResult(text, is_error=True, error_code="OUT_OF_ORDER", message=text, retryable=True)
            if each.initial:
                state = begin(made, each, self.ctx)
            elif state is None:
                return refuse_lost(made, self.ctx, "continue")
            elif made.handles and each.name not in state.next:
                return refuse(f"Step '{each.name}' is not next. Next: {', '.join(state.next)}")
            state.current_step = each.name
            state.is_busy = True
            self.state = state
        return None

    def _exit(self) -> None:
        """The step has ended. A first step that has failed leaves no run; another one leaves no older run."""
        state = self.state
        state.is_busy = False
        if not self.step.initial or state.has_ended:
            return
        if not state.next:
            drop(state)
        else:
            drop_older(state)

    def _call(self) -> Any:
        from .group import ActionDef, _refusal

        each, plan = self.step, self.step.plan()
        arguments = plan.prepare(self.arguments)
        rules = ActionDef(each.name, "", each.handler, {}, each.requires, each.enum_fields)
        if (refusal := _refusal(rules, arguments)) is not None:
            raise _Refusal(refusal)
        return plan._call(context_as(self.ctx, plan.context_class), arguments)

    def _caught(self, raised: Exception) -> ToolResult:
        """Goes on with the step for this exception, or lets the caller retry."""
        error: Any = leaf_of(raised)
        name = type(error).__name__
        if isinstance(error, _Refusal):
            return error.result
        for kind, target in (self.step.on_error or {}).items():
            if isinstance(error, kind) and not self.state.has_ended:
                self.state.current_step = target
                text = f"Error caught ({name}: {error}), transitioning to '{target}'"
                return proceed(self.made, self.state, [target], text)
        report(error, f"step {self.made.name}.{self.step.name}")
        return refuse(f"Step '{self.step.name}' failed: {name}: {error}. You can retry.")

    def _leave(self, value: Any) -> Any:
        made, each = self.made, self.step
        given = value if isinstance(value, ToolResult) else ToolResult()
        if given.is_error:
            # The step has failed: the run stays where it is.
            note_changes(session_of(self.ctx), given)
            return given
        structured = structured_of(given)
        result = value if isinstance(value, StepResult) else StepResult(value)
        if value is given:
            other: Any = "" if structured is None else structured
            result.result = other if is_empty(given.result) else given.result
        result = StepResult("" if result.result is None else content_of(result.result), result.next)
        if self.state.has_ended:
            # The run was cancelled during the step.
            return ToolResult(result.result, structured_content=structured, meta=given.meta)
        if result.next is not None and each.next is None:
            return refuse(f"Step '{each.name}' returned next={result.next} but has no declared next")
        if invalid := set(result.next or ()) - set(each.next or ()):
            return refuse(f"Step '{each.name}' returned invalid next steps: {invalid}. Declared: {each.next}")
        self.state.history.append((each.name, result))
        if each.terminal:
            done = made.on_complete() if made.on_complete is not None else None
            content = result.result or "Workflow complete"
            return _after(done, lambda: self._merged(given, structured, lambda: end(made, self.state, content)))
        following = result.next if result.next is not None else each.next or []
        content = result.result or f"Proceed to: {following}"
        return self._merged(given, structured, lambda: proceed(made, self.state, following, content))

    def _merged(self, given: ToolResult, structured: Any, then: Callable[[], ToolResult]) -> ToolResult:
        """The result for the client, with the other parts of what a step has returned."""
        note_changes(session_of(self.ctx), given)
        found = then()
        found.enable_tools = [*(given.enable_tools or ()), *(found.enable_tools or ())]
        found.disable_tools = [*(given.disable_tools or ()), *(found.disable_tools or ())]
        found.meta = given.meta
        if isinstance(structured, dict):
            found.structured_content = structured | (found.structured_content or {})
        return found


def _after(done: Any, then: Callable[[], Any]) -> Any:
    """The result of `then`, when a function of the workflow has ended that may be async."""
    return _awaited(done, then) if hasattr(done, "__await__") else then()


async def _awaited(done: Any, then: Callable[[], Any]) -> Any:
    await done
    return then()


class _Refusal(Exception):
    def __init__(self, result: ToolResult) -> None:
        self.result = result
