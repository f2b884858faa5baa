"""Workflows: steps in an order that the client can see.

Only the first step is listed at the beginning. Each step shows the next ones, and hides what is not allowed during the
workflow; the end shows the other tools from before, and the first step stays hidden. Clients of MCP 2026-07-28 do not
have their own list: for them a workflow can have *handles*. The first step returns a handle, the list never changes,
and the other steps take the handle.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from . import _docstring, _registry
from ._json import dump
from ._output import content_of, is_empty, report, structured_of, texts_of, with_note
from ._plan import Plan, PlanCache
from ._registry import check_text
from ._signature import doc_of, is_async, marked, name_of, set_mark
from .context import context_as
from .errors import leaf_of
from .result import ToolResult
from .tool import ToolDef, get_registered_tools

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)
_workflow_registry: list[WorkflowDef] = []
_active: dict[str, list[WorkflowState]] = {}
"""The workflows that run, by session; the last one is in front."""
_handles: dict[str, WorkflowState] = {}
_changes: dict[str, dict[str, bool]] = {"": {}}
"""The tools that a session shows and hides apart from its workflows. A change for everyone has no session."""
_lock = threading.RLock()

MAX_SESSIONS = 10_000
"""The sessions whose workflows, and whose changes, are kept; the oldest is forgotten."""
MAX_HANDLES = 10_000
"""The handles that are kept; the oldest is forgotten."""
HANDLE_LIFETIME = 24 * 3600.0
"""Seconds after its last step in which a handle is forgotten."""


class StepResult:
    """The result of a step. `next` chooses among the declared next steps."""

    def __init__(self, result: str = "", next: list[str] | None = None) -> None:
        self.result = result
        self.next = next

    def __repr__(self) -> str:
        return f"StepResult({self.result!r}, next={self.next!r})"


class StepDef:
    """A step as it was registered."""

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
        self._tools: list[ToolDef] | None = None

    def step(self, name: str) -> StepDef:
        return next(each for each in self.steps if each.name == name)

    def tools(self) -> list[ToolDef]:
        """The tools of the workflow; the same objects each time."""
        if self._tools is None:
            self._tools = [_step_tool(self, each) for each in self.steps]
            if any(not each.no_cancel for each in self.steps if not each.terminal):
                self._tools.append(_cancel_tool(self))
        return self._tools


class WorkflowState:
    """A workflow that runs. `next` are the steps that may follow."""

    def __init__(
        self,
        workflow_name: str,
        current_step: str,
        history: list[tuple[str, StepResult]],
        pre_workflow_tools: list[str],
        instance: Any,
    ) -> None:
        self.workflow_name = workflow_name
        self.current_step = current_step
        self.history = history
        self.pre_workflow_tools = pre_workflow_tools
        self.instance = instance
        self.next: list[str] = []
        # The tools that its session sees before the next steps, in a workflow without handles.
        self.shown: set[str] = set()
        self.handle = ""
        self.owner = ""
        self.session = ""
        # Other tools that its session does not see, in a workflow with handles.
        self.limited: list[str] = []
        self.used = time.monotonic()
        # True while a step runs, while `on_cancel` works, and when the run has ended.
        self.is_busy = False
        self.is_cancelling = False
        self.has_ended = False

    def _note(self, changes: dict[str, bool]) -> None:
        """Tools were shown and hidden during the run, apart from it."""
        shown = {each for each, is_shown in changes.items() if is_shown}
        others = [each for each in shown if not each.startswith(f"{self.workflow_name}.")]
        self.pre_workflow_tools = [*(each for each in self.pre_workflow_tools if each not in changes), *others]
        self.limited = [each for each in self.limited if changes.get(each, True)]
        if self.shown:
            self.shown = self.shown - changes.keys() | shown


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
    _active.clear()
    _handles.clear()
    _changes.clear()
    _changes[""] = {}
    _registry.changed()


def workflows_to_tool_defs() -> list[ToolDef]:
    """The tools of all workflows."""
    return [each for made in _workflow_registry for each in made.tools()]


def _validate(made: WorkflowDef) -> None:
    """Checks that the steps are a graph with one beginning and no dead end."""

    def refuse(text: str) -> None:
        raise ValueError(f"Workflow '{made.name}': {text}")

    names = {each.name for each in made.steps}
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


def _is_shown(tool: str, allow: list[str] | None, block: list[str] | None) -> bool:
    """True if another tool is shown during a step. Without patterns none is."""
    if allow is None and block is None:
        return False
    import fnmatch

    if allow is not None and not any(fnmatch.fnmatch(tool, each) for each in allow):
        return False
    return not any(fnmatch.fnmatch(tool, each) for each in block or ())


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
    found.schema = lambda: each.input_schema if each.initial or not made.handles else _with_handle(each.input_schema)
    return found


_HANDLE = {"type": "string", "description": "The handle that the first step has returned"}


def _with_handle(schema: dict[str, Any]) -> dict[str, Any]:
    properties = {"handle": _HANDLE} | schema.get("properties", {})
    return schema | {"properties": properties, "required": ["handle", *schema.get("required", [])]}


def _cancel_tool(made: WorkflowDef) -> ToolDef:
    def handler(ctx: Any, **arguments: Any) -> Any:
        with _lock:
            state = _state_of(made, ctx, arguments)
            if state is None:
                return _refuse_lost(made, ctx, "cancel")
            if made.handles and all(made.step(each).no_cancel for each in state.next):
                return _refuse(f"Workflow '{made.name}' cannot be cancelled before: {', '.join(state.next)}")
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
    return ToolResult(content) if state.has_ended else _end(made, state, content)


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
        with _lock:
            state = _state_of(made, self.ctx, self.arguments) if not (each.initial and made.handles) else None
            if state is not None and state.is_busy:
                text = "another step of this run has not ended"
                return ToolResult(text, is_error=True, error_code="OUT_OF_ORDER", message=text, retryable=True)
            if each.initial:
                state = _begin(made, each, self.ctx)
            elif state is None:
                return _refuse_lost(made, self.ctx, "continue")
            elif made.handles and each.name not in state.next:
                return _refuse(f"Step '{each.name}' is not next. Next: {', '.join(state.next)}")
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
            _drop(state)
        elif state in _active.get(state.session, ()):
            for each in list(_active.get(state.session, ())):
                if each is not state and each.workflow_name == state.workflow_name:
                    _drop(each)

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
                return _proceed(self.made, self.state, [target], text)
        report(error, f"step {self.made.name}.{self.step.name}")
        return _refuse(f"Step '{self.step.name}' failed: {name}: {error}. You can retry.")

    def _leave(self, value: Any) -> Any:
        made, each = self.made, self.step
        given = value if isinstance(value, ToolResult) else ToolResult()
        if given.is_error:
            # The step has failed: the run stays where it is.
            _note_result(_session(self.ctx), given)
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
            return _refuse(f"Step '{each.name}' returned next={result.next} but has no declared next")
        if invalid := set(result.next or ()) - set(each.next or ()):
            return _refuse(f"Step '{each.name}' returned invalid next steps: {invalid}. Declared: {each.next}")
        self.state.history.append((each.name, result))
        if each.terminal:
            done = made.on_complete() if made.on_complete is not None else None
            content = result.result or "Workflow complete"
            return _after(done, lambda: self._merged(given, structured, lambda: _end(made, self.state, content)))
        following = result.next if result.next is not None else each.next or []
        content = result.result or f"Proceed to: {following}"
        return self._merged(given, structured, lambda: _proceed(made, self.state, following, content))

    def _merged(self, given: ToolResult, structured: Any, then: Callable[[], ToolResult]) -> ToolResult:
        """The result for the client, with the other parts of what a step has returned."""
        _note_result(_session(self.ctx), given)
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


def _refuse(text: str) -> ToolResult:
    return ToolResult(text, is_error=True)


def _refuse_lost(made: WorkflowDef, ctx: Any, way: str) -> ToolResult:
    """Refuses a step whose run is not there. If a limit has ended it, the tools are still limited."""
    text = f"No active workflow '{made.name}' to {way}"
    session = _session(ctx)
    last = _active[session][-1] if session in _active else None
    with_handles = [each for each in _handles.values() if each.session == session]
    if made.handles and (last or with_handles or not session):
        return _refuse(text)
    if last is None:
        shown = set(_shown_without(session)).difference(*(each.limited for each in with_handles))
    elif last.workflow_name == made.name or last.is_busy:
        return _refuse(text)
    else:
        # The run that is not there was in front of this one.
        shown = last.shown
    found = _showing(shown, text)
    found.is_error = True
    return found


def _session(ctx: Any) -> str:
    about = getattr(ctx, "_about", None)
    return about.session if about is not None else ""


def _owner(ctx: Any) -> str:
    user = ctx.caller.principal if ctx is not None else None
    return f"{user.issuer} {user.subject}" if user is not None else ""


def _begin(made: WorkflowDef, each: StepDef, ctx: Any) -> WorkflowState:
    session = _session(ctx)
    state = WorkflowState(made.name, each.name, [], _shown_before(made, session), made.instance)
    state.session = session
    if made.handles:
        state.handle, state.owner = os.urandom(12).hex(), _owner(ctx)
        _forget_old()
        _handles[state.handle] = state
    else:
        if len(_active) >= MAX_SESSIONS and state.session not in _active:
            _active.pop(next(iter(_active)))
        _active.setdefault(state.session, []).append(state)
    return state


def _shown_before(made: WorkflowDef, session: str) -> list[str]:
    """The other tools that a session sees: the run in front of its others may have limited them."""
    running = _active.get(session)
    if not running:
        found: Iterable[str] = _shown_without(session)
    else:
        last = running[-1]
        found = last.shown if last.shown and last.workflow_name != made.name else last.pre_workflow_tools
    return [each for each in found if not each.startswith(f"{made.name}.")]


def _shown_without(session: str) -> list[str]:
    """The tools that a session sees while it has no run."""
    with _lock:
        if session in _changes:
            # It is in use.
            _changes[session] = _changes.pop(session)
        changes = _changes[""] | _changes.get(session, {})
    return [each.name for each in get_registered_tools() if changes.get(each.name, not each.hidden)]


def note(session: str, changes: dict[str, bool]) -> None:
    """Remembers what a session shows and hides apart from its workflows. A change for everyone is newer than theirs."""
    if not changes:
        return
    with _lock:
        for state in [*_handles.values(), *(state for running in _active.values() for state in running)]:
            if session in ("", state.session):
                state._note(changes)
        if not session:
            for each in _changes.values():
                for name in changes:
                    each.pop(name, None)
        if session not in _changes and len(_changes) > MAX_SESSIONS:
            del _changes[next(each for each in _changes if each)]
        _changes[session] = _changes.pop(session, {}) | changes


def note_result(tool: str, session: str, result: Any) -> None:
    """The same for the result of a tool. A step has noted its own."""
    if all(each.name != tool for each in workflows_to_tool_defs()):
        _note_result(session, result)


def _note_result(session: str, result: Any) -> None:
    shown, hidden = result.enable_tools or (), result.disable_tools or ()
    # Without a session the next call may be another client's.
    if session and (shown or hidden):
        note(session, dict.fromkeys(shown, True) | dict.fromkeys(hidden, False))


def _drop(state: WorkflowState) -> None:
    """Forgets a run. A step of it that still runs does not bring it back."""
    state.has_ended = True
    with _lock:
        _handles.pop(state.handle, None)
        running = _active.get(state.session, [])
        if state in running:
            running.remove(state)
        if not running:
            _active.pop(state.session, None)


def _forget_old() -> None:
    """Forgets handles that were not used for long, and the oldest if there are too many."""
    limit = time.monotonic() - HANDLE_LIFETIME
    for handle in [each for each, state in _handles.items() if state.used < limit]:
        del _handles[handle]
    while len(_handles) >= MAX_HANDLES:
        del _handles[next(iter(_handles))]


def _state_of(made: WorkflowDef, ctx: Any, arguments: dict[str, Any]) -> WorkflowState | None:
    """The workflow that a step continues."""
    if made.handles:
        found = _handles.get(str(arguments.pop("handle", "")))
        if found is None or found.workflow_name != made.name or found.owner != _owner(ctx):
            return None
        if found.is_cancelling or found.has_ended:
            return None
        found.used = time.monotonic()
        return found
    running = _active.get(_session(ctx))
    last = running[-1] if running else None
    if last is None or last.workflow_name != made.name or last.is_cancelling or last.has_ended:
        return None
    return last


def _proceed(made: WorkflowDef, state: WorkflowState, following: list[str], content: Any) -> ToolResult:
    """The result that shows the next steps."""
    state.next = list(following)
    if made.handles:
        text = content if isinstance(content, str) else texts_of(content)
        about = {"result": text, "handle": state.handle, "next": [f"{made.name}.{each}" for each in following]}
        shown = with_note(content, f"\n\nhandle: {state.handle}\nnext: {', '.join(about['next'])}")
        before, state.limited = state.limited, _limited(made, state)
        again = [each for each in before if each not in state.limited]
        return ToolResult(shown, structured_content=about, enable_tools=again, disable_tools=state.limited)
    shown_tools = {f"{made.name}.{each}" for each in following}
    if any(not made.step(each).no_cancel for each in following):
        shown_tools.add(f"{made.name}.cancel")
    if following:
        allow, block = _patterns(made, following)
        # A hidden tool is shown if its whole name is among the patterns.
        registered = {each.name for each in get_registered_tools()}
        named = {each for each in registered.intersection(allow or ()) if not each.startswith(f"{made.name}.")}
        shown_tools |= {each for each in named.union(state.pre_workflow_tools) if _is_shown(each, allow, block)}
    state.shown = shown_tools
    return _showing(shown_tools, content)


def _patterns(made: WorkflowDef, following: list[str]) -> tuple[list[str] | None, list[str] | None]:
    """The patterns of other tools that are shown, and of those that are not, before these steps."""
    first = made.step(following[0])
    is_own = first.allow_during is not None or first.block_during is not None
    found: Any = first if is_own else made
    return found.allow_during, found.block_during


def _limited(made: WorkflowDef, state: WorkflowState) -> list[str]:
    """The other tools that the session of a run does not see before its next steps."""
    if not state.session or not state.next:
        return []
    allow, block = _patterns(made, state.next)
    if allow is None and block is None:
        return []
    return [each for each in state.pre_workflow_tools if not _is_shown(each, allow, block)]


def _end(made: WorkflowDef, state: WorkflowState, content: Any) -> ToolResult:
    """The result that shows the other tools from before; without handles the first step stays hidden."""
    _drop(state)
    if made.handles:
        return ToolResult(content, enable_tools=state.limited)
    return _showing(_shown_before(made, state.session), content)


def _showing(tools: Iterable[str], content: Any) -> ToolResult:
    """A result that shows these tools and no others."""
    shown = set(tools)
    hidden = {each.name for each in get_registered_tools()} - shown
    return ToolResult(content, enable_tools=sorted(shown), disable_tools=sorted(hidden))
