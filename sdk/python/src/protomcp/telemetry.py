"""Every call, reported to sinks: when it starts, and when it has succeeded or failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import _registry

_F = TypeVar("_F", bound=Callable[..., Any])
_sink_registry = _registry.sinks
_failed: set[str] = set()


class ToolCallEvent:
    """One step of a call. `phase` is start, success, error or progress; `action` is the action of a group."""

    def __init__(
        self,
        tool_name: str,
        phase: str,
        args: dict[str, Any],
        action: str = "",
        result: str = "",
        error: Exception | None = None,
        duration_ms: int = 0,
        progress: float = 0,
        total: float = 0,
        message: str = "",
    ) -> None:
        self.tool_name = tool_name
        self.phase = phase
        self.args = args
        self.action = action
        self.result = result
        self.error = error
        self.duration_ms = duration_ms
        self.progress = progress
        self.total = total
        self.message = message

    def __repr__(self) -> str:
        return f"ToolCallEvent({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def telemetry_sink(func: _F) -> _F:
    """Reports every call to this function. A sink that fails does not affect the call; the log says so once."""
    _sink_registry.append(func)
    return func


def get_telemetry_sinks() -> list[Callable[[ToolCallEvent], Any]]:
    return list(_sink_registry)


def clear_telemetry_sinks() -> None:
    _sink_registry.clear()


def emit_telemetry(event: ToolCallEvent) -> None:
    """Reports an event to all sinks."""
    for sink in _sink_registry:
        try:
            sink(event)
        except Exception as error:
            from ._output import report

            # A sink only watches.
            name = getattr(sink, "__name__", repr(sink))
            if name not in _failed:
                _failed.add(name)
                report(error, f"the telemetry sink {name}")
