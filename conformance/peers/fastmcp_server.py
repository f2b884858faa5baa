"""A server on fastmcp. It serves standard input and output, or with --http a free port that it names on standard error."""
import asyncio
import socket
import sys
from dataclasses import dataclass

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from mcp_types import Completion, SamplingMessage, TextContent

server = FastMCP("fastmcp-server", version="1.0", list_page_size=2)


@server.tool
def add(a: int, b: int) -> int:
    return a + b


@server.tool
def fail() -> str:
    raise ToolError("it failed on purpose")


@server.tool
async def count(to: int, ctx: Context) -> str:
    for n in range(1, to + 1):
        await ctx.report_progress(n, to)
    return f"counted to {to}"


@server.tool
async def wait(ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    await asyncio.sleep(600)
    return "waited"


@server.tool
async def note(text: str, ctx: Context) -> str:
    await ctx.info(text)
    return "noted"


@dataclass
class Person:
    name: str


@server.tool
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("What is your name?", response_type=Person)
    return f"{answer.action}: {answer.data.name}"


@server.tool
async def sample(ctx: Context) -> str:
    question = SamplingMessage(role="user", content=TextContent(type="text", text="Say something"))
    return (await ctx.session.create_message([question], max_tokens=10)).content.text


@server.tool
async def roots(ctx: Context) -> str:
    return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


@server.resource("demo://greeting")
def greeting() -> str:
    return "Good day"


@server.resource("demo://square/{number}")
def square(number: int) -> str:
    return str(number * number)


@server.prompt
def weather(city: str) -> str:
    return f"What is the weather in {city}?"


@server.completion
async def complete(reference, argument, context):
    return Completion(values=[city for city in ("Paris", "Parma", "Rome") if city.startswith(argument.value)])


async def serve_http() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(server.http_app(), lifespan="on", log_level="warning", timeout_graceful_shutdown=0)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    if "--http" in sys.argv:
        asyncio.run(serve_http())
    else:
        server.run(show_banner=False)
