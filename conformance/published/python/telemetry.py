"""Every call reported to a sink: pmcp dev telemetry.py.

The output of the sink goes to the log of pmcp, never to the host. A sink that fails does not affect the call.
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
