"""A tool that asks the host's model while it runs: pmcp dev sampling.py."""
from protomcp import ToolContext, ToolResult, tool


@tool("Finds a title for a text, with the help of the host's model.")
def title(text: str, ctx: ToolContext) -> ToolResult:
    answer = ctx.sample(
        [{"role": "user", "content": f"A title for: {text}"}],
        system_prompt="Answer with the title alone.",
        max_tokens=50,
    )
    if answer.get("error"):
        # The client has no model, its user declined, or the request timed out.
        return ToolResult(result=answer["error"], is_error=True, error_code="NO_MODEL", message=answer["error"])
    return ToolResult(result=f"{answer['content']} (says {answer['model']})")
