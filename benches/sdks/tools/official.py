"""The tools of the bench on the official SDK for Python, which is the server itself: over stdio, or on a port."""

import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("bench", log_level="ERROR")


@server.tool(description="Adds two numbers.", structured_output=False)
def add(a: int, b: int, ctx: Context) -> str:
    return str(a + b)


@server.tool(description="Adds two numbers.", structured_output=False)
async def add_later(a: int, b: int, ctx: Context) -> str:
    return str(a + b)


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]), json_response=True)
else:
    server.run("stdio")
