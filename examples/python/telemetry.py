"""Every call reported to a sink: pmcp dev telemetry.py.

What the sink prints goes to the log of pmcp, never to the host. A sink that fails harms nothing.
"""
import sys

from protomcp import ToolCallEvent, telemetry_sink, tool


@telemetry_sink
def to_log(event: ToolCallEvent):
    detail = event.error or event.result
    print(f"telemetry: {event.tool_name} {event.phase} {detail}".rstrip(), file=sys.stderr)


@telemetry_sink
def broken(event: ToolCallEvent):
    raise RuntimeError("this sink is broken")


@tool("Divides.", read_only=True)
def divide(a: int, b: int) -> str:
    return str(a // b)
