"""A tool that sends its user to a page: pmcp dev sign_in.py."""

from protomcp import AskError, AsyncContext, tool

PAGE = "https://example.com/sign-in"


@tool("Connects an account. Its user signs in on a page, which the client does not see.")
async def connect(account: str, ctx: AsyncContext) -> str:
    try:
        answer = await ctx.ask_page(f"Sign in as {account}.", PAGE)
    except AskError:
        # The client may not open pages.
        return f"open {PAGE}, then call connect again"
    return f"connected {account}" if answer else "not connected"
