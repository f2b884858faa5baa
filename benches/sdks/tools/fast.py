"""The tools of the bench on FastMCP, which is the server itself: over stdio, or on a port."""

import sys

from fastmcp import Context, FastMCP

server = FastMCP("bench")


@server.tool(description="Adds two numbers.", output_schema=None)
def add(a: int, b: int, ctx: Context) -> str:
    return str(a + b)


@server.tool(description="Adds two numbers.", output_schema=None)
async def add_later(a: int, b: int, ctx: Context) -> str:
    return str(a + b)


if len(sys.argv) > 1:
    server.run("http", port=int(sys.argv[1]), json_response=True, show_banner=False, log_level="error")
else:
    server.run("stdio", show_banner=False)
