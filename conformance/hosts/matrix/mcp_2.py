"""The official Python client, `mcp` 2.x, in the matrix of clients; report.py says how it is used."""
import asyncio
import json
import os
import sys
import warnings

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from report import Box, Report
from visit import Visit

# The client warns about deprecated features of older revisions; they are used on purpose.
warnings.simplefilter("ignore")


async def sample(_, params):
    text = types.TextContent(type="text", text=f"a model's answer to {params.messages[-1].content.text}")
    return types.CreateMessageResult(role="assistant", content=text, model="a-model", stop_reason="endTurn")


async def elicit(_, params):
    if isinstance(params, types.ElicitRequestURLParams):
        return types.ElicitResult(action="accept" if params.url == "https://example.com/sign-in" else "decline")
    filled = {name: f"my {name}" for name in params.requested_schema.get("required", [])}
    return types.ElicitResult(action="accept", content=filled)


async def roots(_):
    return types.ListRootsResult(roots=[types.Root(uri="file:///work", name="work")])


async def visit(plan, transport, mode, revision):
    told, logs = Box(), Box()

    async def on_message(message):
        if getattr(message, "method", "").startswith("notifications/"):
            told.put(message)

    async def on_log(params):
        logs.put(params)

    match transport:
        case "stdio":
            [program, *arguments] = plan["stdio"]
            server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
        case "sse":
            server = sse_client(plan["sse"])
        case _:
            server = plan["http"]
    async with Client(
        server,
        mode=mode,
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
        logging_callback=on_log,
        log_level="info",
        message_handler=on_message,
    ) as client:
        report = Report(transport, revision, plan)
        await report.run(Visit(client, report, told, logs).features())


async def main(plan):
    # Of the revisions with a handshake it offers the newest only.
    for transport in ("stdio", "http", "sse"):
        if transport in plan:
            await visit(plan, transport, "legacy", LATEST_HANDSHAKE_VERSION)
            if transport != "sse":
                # What it finds by asking.
                await visit(plan, transport, "auto", LATEST_MODERN_VERSION)


asyncio.run(main(json.loads(sys.argv[1])))
