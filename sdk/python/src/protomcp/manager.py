"""Shows and hides tools while the process runs. Each function returns the names of the tools that are then shown.

In a call the list of the caller's session changes, at other times the list of everyone.
"""

from __future__ import annotations

import sys
import threading

from ._typing import TYPE_CHECKING
from ._wire import (
    BatchUpdateRequest,
    DisableToolsRequest,
    EnableToolsRequest,
    Envelope,
    GetActiveToolsRequest,
    SetAllowedRequest,
    SetBlockedRequest,
)

if TYPE_CHECKING:
    from typing import Any

_server: Any = None
TIMEOUT = 30.0
"""Seconds after which the bridge has not answered."""


def _init(server: Any) -> None:
    global _server
    _server = server


def _request(kind: str, message: Any) -> list[str]:
    from .context import current

    server = _server
    if server is None:
        raise RuntimeError("protomcp is not connected: tools are shown and hidden while `run()` serves them")
    context = current.get()
    answers: list[Envelope | None] = []
    done = threading.Event()

    def deliver(envelope: Envelope | None) -> None:
        answers.append(envelope)
        done.set()

    envelope = Envelope(kind, message, for_call=context.request_id if context else "")
    ids = server.link.ask([envelope], [deliver])
    if not server.main.wait(done, TIMEOUT):
        server.link.forget(ids[0])
        raise TimeoutError(f"the bridge has not answered {kind} within {TIMEOUT} s")
    if answers[0] is None:
        raise ConnectionError("the bridge has closed the connection")
    if runs := sys.modules.get(f"{__package__}._workflow_runs"):
        session = context._about.session if context and context._about else ""
        # The list of a caller without a session is not the list of everyone.
        if session or context is None:
            runs.note(session, _changes(kind, message))
    return list(answers[0].message.tool_names)


def _changes(kind: str, message: Any) -> dict[str, bool]:
    """What a request shows and hides."""
    from .tool import get_registered_tools

    if kind == "batch":
        enable, disable, allow, block = message.enable, message.disable, message.allow, message.block
        if allow and block:
            return {}
    else:
        enable, disable, allow, block = (
            getattr(message, "tool_names", ()) if kind == each else ()
            for each in ("enable_tools", "disable_tools", "set_allowed", "set_blocked")
        )
    found = {}
    if allow or block or kind.startswith("set_"):
        names = [each.name for each in get_registered_tools()]
        found = {each: each in allow if allow else each not in block for each in names}
    return found | dict.fromkeys(enable, True) | dict.fromkeys(disable, False)


def enable(tool_names: list[str]) -> list[str]:
    """Shows these tools."""
    return _request("enable_tools", EnableToolsRequest(list(tool_names)))


def disable(tool_names: list[str]) -> list[str]:
    """Hides these tools."""
    return _request("disable_tools", DisableToolsRequest(list(tool_names)))


def set_allowed(tool_names: list[str]) -> list[str]:
    """Shows these tools and no others."""
    return _request("set_allowed", SetAllowedRequest(list(tool_names)))


def set_blocked(tool_names: list[str]) -> list[str]:
    """Shows all tools but these."""
    return _request("set_blocked", SetBlockedRequest(list(tool_names)))


def get_active_tools() -> list[str]:
    """The tools that are shown."""
    return _request("get_active_tools", GetActiveToolsRequest())


def batch(
    enable: list[str] | None = None,
    disable: list[str] | None = None,
    allow: list[str] | None = None,
    block: list[str] | None = None,
) -> list[str]:
    """Several changes that take effect together. `allow` and `block` exclude each other."""
    lists = [list(each or ()) for each in (enable, disable, allow, block)]
    return _request("batch", BatchUpdateRequest(*lists))
