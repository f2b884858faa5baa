"""A tool that asks the host's model while it runs: pmcp dev sampling.py."""

from protomcp import AskError, AsyncContext, ToolError, tool


@tool("Finds a title for a text, with the help of the host's model.")
async def title(text: str, ctx: AsyncContext) -> str:
    try:
        answer = await ctx.sample(f"A title for: {text}", "Answer with the title alone.", max_tokens=50)
    except AskError as error:
        # The client may have no model, and its user may decline.
        raise ToolError(error.message, code="NO_MODEL") from error
    return f"{answer['content']} (says {answer['model']})"
