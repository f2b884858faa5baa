"""A server on the official Python SDK. It serves standard input and output, or with --http a free port that it names on
standard error."""
import asyncio
import socket
import sys

import mcp_types as types
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("mcp-server", version="1.0")


class Person(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
def fail() -> str:
    raise ToolError("it failed on purpose")


@server.tool()
async def count(to: int, ctx: Context) -> str:
    for n in range(1, to + 1):
        await ctx.report_progress(n, to)
    return f"counted to {to}"


@server.tool()
async def wait(ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    await asyncio.sleep(600)
    return "waited"


@server.tool()
async def note(text: str, ctx: Context) -> str:
    await ctx.info(text)
    return "noted"


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("What is your name?", Person)
    return f"{answer.action}: {answer.data.name}"


@server.tool()
async def sample(ctx: Context) -> str:
    question = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say something"))
    return (await ctx.session.create_message([question], max_tokens=10)).content.text


@server.tool()
async def roots(ctx: Context) -> str:
    return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


@server.resource("demo://greeting")
def greeting() -> str:
    return "Good day"


@server.resource("demo://square/{number}")
def square(number: int) -> str:
    return str(number * number)


@server.prompt()
def weather(city: str) -> str:
    return f"What is the weather in {city}?"


@server.completion()
async def complete(reference, argument, context):
    return types.Completion(values=[city for city in ("Paris", "Parma", "Rome") if city.startswith(argument.value)])


async def serve_http() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(server.streamable_http_app(), lifespan="on", log_level="warning", timeout_graceful_shutdown=0)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    if "--http" in sys.argv:
        asyncio.run(serve_http())
    else:
        server.run("stdio")
