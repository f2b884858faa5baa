"""The tools of the bench on FastMCP, which is the server itself."""

from fastmcp import FastMCP

server = FastMCP("bench")


@server.tool(description="Adds two numbers.", output_schema=None)
def add(a: int, b: int) -> str:
    return str(a + b)


@server.tool(description="Adds two numbers.", output_schema=None)
async def add_later(a: int, b: int) -> str:
    return str(a + b)


server.run("stdio", show_banner=False)
