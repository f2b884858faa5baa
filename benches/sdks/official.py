"""The tools of the bench on the official SDK for Python, which is the server itself."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", log_level="ERROR")


@server.tool(description="Adds two numbers.", structured_output=False)
def add(a: int, b: int) -> str:
    return str(a + b)


@server.tool(description="Adds two numbers.", structured_output=False)
async def add_later(a: int, b: int) -> str:
    return str(a + b)


server.run("stdio")
