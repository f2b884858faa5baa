"""Code around every handler, inside the tool process: pmcp dev retries.py."""

import itertools
from typing import Any

from protomcp import ToolError, local_middleware, tool
from protomcp.local_middleware import Next

attempts = itertools.count(1)


@local_middleware()
def try_twice(ctx: Any, tool_name: str, arguments: dict[str, Any], following: Next) -> Any:
    """Calls a tool again that has failed, if the same call may succeed later."""
    try:
        return following(ctx, arguments)
    except ToolError as error:
        if not error.retryable:
            raise
        return following(ctx, arguments)


@tool("Tells the weather of a city.", read_only=True)
def weather(city: str) -> str:
    attempt = next(attempts)
    if attempt % 2 == 1:
        raise ToolError("the network is busy", retryable=True)
    if city != "ulm":
        raise ToolError("found nothing", code="NOT_FOUND", suggestion="Try ulm.")
    return f"mild, at attempt {attempt}"
