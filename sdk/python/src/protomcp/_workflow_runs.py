"""The runs of workflows, by session or by handle, and the tools that each session sees."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from typing import Any

from ._output import texts_of, with_note
from ._workflow_definitions import PUBLIC_MODULE, StepDef, StepResult, WorkflowDef
from .result import ToolResult
from .tool import get_registered_tools

_active: dict[str, list[WorkflowState]] = {}
"""The workflows that run, by session; the last one is in front."""
_handles: dict[str, WorkflowState] = {}
_changes: dict[str, dict[str, bool]] = {"": {}}
"""The tools that a session shows and hides apart from its workflows. A change for everyone has no session."""
lock = threading.RLock()

MAX_SESSIONS = 10_000
"""The sessions whose workflows, and whose changes, are kept; the oldest is forgotten."""
MAX_HANDLES = 10_000
"""The handles that are kept; the oldest is forgotten."""
HANDLE_LIFETIME = 24 * 3600.0
"""Seconds after its last step in which a handle is forgotten."""


class WorkflowState:
    """A workflow that runs. `next` are the steps that may follow."""

    __module__ = PUBLIC_MODULE

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


def session_of(ctx: Any) -> str:
    about = getattr(ctx, "_about", None)
    return about.session if about is not None else ""


def _owner(ctx: Any) -> str:
    user = ctx.caller.principal if ctx is not None else None
    return f"{user.issuer} {user.subject}" if user is not None else ""


def begin(made: WorkflowDef, each: StepDef, ctx: Any) -> WorkflowState:
    session = session_of(ctx)
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


def state_of(made: WorkflowDef, ctx: Any, arguments: dict[str, Any]) -> WorkflowState | None:
    """The workflow that a step continues."""
    if made.handles:
        found = _handles.get(str(arguments.pop("handle", "")))
        if found is None or found.workflow_name != made.name or found.owner != _owner(ctx):
            return None
        if found.is_cancelling or found.has_ended:
            return None
        found.used = time.monotonic()
        return found
    running = _active.get(session_of(ctx))
    last = running[-1] if running else None
    if last is None or last.workflow_name != made.name or last.is_cancelling or last.has_ended:
        return None
    return last


def drop(state: WorkflowState) -> None:
    """Forgets a run. A step of it that still runs does not bring it back."""
    state.has_ended = True
    with lock:
        _handles.pop(state.handle, None)
        running = _active.get(state.session, [])
        if state in running:
            running.remove(state)
        if not running:
            _active.pop(state.session, None)


def drop_older(state: WorkflowState) -> None:
    """Forgets the other runs of its workflow in its session, unless it is forgotten itself."""
    if state in _active.get(state.session, ()):
        for each in list(_active.get(state.session, ())):
            if each is not state and each.workflow_name == state.workflow_name:
                drop(each)


def _forget_old() -> None:
    """Forgets handles that were not used for long, and the oldest if there are too many."""
    limit = time.monotonic() - HANDLE_LIFETIME
    for handle in [each for each, state in _handles.items() if state.used < limit]:
        del _handles[handle]
    while len(_handles) >= MAX_HANDLES:
        del _handles[next(iter(_handles))]


def clear() -> None:
    """Forgets all runs and changes."""
    _active.clear()
    _handles.clear()
    _changes.clear()
    _changes[""] = {}


def note(session: str, changes: dict[str, bool]) -> None:
    """Remembers what a session shows and hides apart from its workflows. A change for everyone is newer than theirs."""
    if not changes:
        return
    with lock:
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


def note_changes(session: str, result: Any) -> None:
    """Remembers the tools that a result shows and hides."""
    shown, hidden = result.enable_tools or (), result.disable_tools or ()
    # Without a session the next call may be another client's.
    if session and (shown or hidden):
        note(session, dict.fromkeys(shown, True) | dict.fromkeys(hidden, False))


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
    with lock:
        if session in _changes:
            # It is in use.
            _changes[session] = _changes.pop(session)
        changes = _changes[""] | _changes.get(session, {})
    return [each.name for each in get_registered_tools() if changes.get(each.name, not each.hidden)]


def proceed(made: WorkflowDef, state: WorkflowState, following: list[str], content: Any) -> ToolResult:
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


def end(made: WorkflowDef, state: WorkflowState, content: Any) -> ToolResult:
    """The result that shows the other tools from before; without handles the first step stays hidden."""
    drop(state)
    if made.handles:
        return ToolResult(content, enable_tools=state.limited)
    return _showing(_shown_before(made, state.session), content)


def refuse(text: str) -> ToolResult:
    return ToolResult(text, is_error=True)


def refuse_lost(made: WorkflowDef, ctx: Any, way: str) -> ToolResult:
    """Refuses a step whose run is not there. If a limit has ended it, the tools are still limited."""
    text = f"No active workflow '{made.name}' to {way}"
    session = session_of(ctx)
    last = _active[session][-1] if session in _active else None
    with_handles = [each for each in _handles.values() if each.session == session]
    if made.handles and (last or with_handles or not session):
        return refuse(text)
    if last is None:
        shown = set(_shown_without(session)).difference(*(each.limited for each in with_handles))
    elif last.workflow_name == made.name or last.is_busy:
        return refuse(text)
    else:
        # The run that is not there was in front of this one.
        shown = last.shown
    found = _showing(shown, text)
    found.is_error = True
    return found


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


def _is_shown(tool: str, allow: list[str] | None, block: list[str] | None) -> bool:
    """True if another tool is shown during a step. Without patterns none is."""
    if allow is None and block is None:
        return False
    import fnmatch

    if allow is not None and not any(fnmatch.fnmatch(tool, each) for each in allow):
        return False
    return not any(fnmatch.fnmatch(tool, each) for each in block or ())


def _showing(tools: Iterable[str], content: Any) -> ToolResult:
    """A result that shows these tools and no others."""
    shown = set(tools)
    hidden = {each.name for each in get_registered_tools()} - shown
    return ToolResult(content, enable_tools=sorted(shown), disable_tools=sorted(hidden))
