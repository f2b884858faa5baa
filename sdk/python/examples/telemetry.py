"""Every call reported to a function: pmcp dev telemetry.py.

Its output goes to the log of pmcp, never to the host. A function that fails does not affect the call.
"""

from protomcp import ToolCallEvent, ToolError, telemetry_sink, tool


@telemetry_sink
def to_log(event: ToolCallEvent) -> None:
    print(f"telemetry: {event.tool_name} {event.phase} {event.result}".rstrip())


@tool("Divides.", read_only=True)
def divide(a: int, b: int) -> str:
    if b == 0:
        raise ToolError("this cannot be divided")
    return str(a // b)
