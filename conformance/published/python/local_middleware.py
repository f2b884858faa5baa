"""Code around every handler, inside the tool process: pmcp dev local_middleware.py.

The lowest priority is the outermost. For middleware that the bridge runs, see middleware.py.
"""
from protomcp import ToolResult, local_middleware, tool

attempts = 0


@local_middleware(priority=10)
def explain(ctx, tool_name, arguments, following):
    """The outer middleware turns exceptions into errors that a model can act on."""
    try:
        return following(ctx, arguments)
    except LookupError as error:
        text = f"{tool_name} found nothing: {error}"
        return ToolResult(result=text, is_error=True, error_code="NOT_FOUND", message=text, suggestion="Try ulm.")


@local_middleware(priority=20)
def try_twice(ctx, tool_name, arguments, following):
    """The inner middleware retries once if the network was busy."""
    try:
        return following(ctx, arguments)
    except ConnectionError:
        return following(ctx, arguments)


@tool("Tells the weather of a city.", read_only=True)
def weather(city: str) -> str:
    global attempts
    attempts += 1
    if attempts % 2:
        raise ConnectionError("busy")
    if city != "ulm":
        raise LookupError(city)
    return f"mild, at attempt {attempts}"
