"""Values that handlers get from the server, not from the model: pmcp dev server_context.py.

`Depends` names the function that provides the value. It may take the context of the call, and never reaches the schema.
"""

import os

from protomcp import Depends, ToolContext, tool


def user(ctx: ToolContext) -> str:
    """The authenticated user of the call, or the one that the server is for."""
    principal = ctx.caller.principal
    return principal.subject if principal else os.environ.get("NOTES_USER", "guest")


@tool("Says who asks, and where.", read_only=True)
def whoami(workspace: str = "home", user: str = Depends(user)) -> str:
    return f"{user} in {workspace}"
