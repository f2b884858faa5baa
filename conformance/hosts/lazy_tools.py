"""A host we did not write, in front of lazy tools: the official Python client finds tools, reads their definitions and calls
them.

Usage: lazy_tools.py MODE COMMAND [ARG...]     MODE: legacy (initialize) or auto (probe for the newest era first)
       lazy_tools.py MODE URL                  over Streamable HTTP

Prints what it saw as one JSON object. The server is expected to run basics.py, or asks.py, with --lazy-tools.
"""
import asyncio
import json
import os
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp_types import CreateMessageResult, TextContent

PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))


async def visit(mode, command):
    seen = {"calls": {}, "errors": {}, "progress": [], "asked": [], "notices": []}

    async def on_message(message):
        seen["notices"].append(getattr(message, "method", ""))

    async def sample(_, params):
        seen["asked"].append(params.messages[0].content.text)
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="hello"), model="m-1")

    if command[0].startswith("http"):
        server = command[0]
    else:
        server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(
        server, mode=mode, message_handler=on_message, sampling_callback=sample, read_timeout_seconds=PATIENCE
    ) as client:

        async def call(label, name, /, **arguments):
            try:
                result = await client.call_tool(name, arguments)
            except MCPError as error:
                seen["errors"][label] = {"code": error.error.code, "message": error.error.message}
                return None
            seen["calls"][label] = {
                "text": [block.text for block in result.content],
                "isError": bool(result.is_error),
                "structured": result.structured_content,
                "meta": (result.meta or {}).get("protomcp/error"),
            }
            return result

        async def names(**arguments):
            result = await client.call_tool("search_tools", arguments)
            return [line.split(":")[0] for line in result.content[0].text.splitlines()[1:]]

        async def on_progress(progress, total, message):
            seen["progress"].append([progress, total, message])

        seen["protocol"] = client.session.protocol_version
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        found = seen["found"] = await names(limit=100)
        if "ask" in found:
            await call("ask", "call_tool", name="ask", arguments={"text": "hi, é"})
            return seen
        seen["adding"] = await names(query="add two integers")
        described = await call("described", "describe_tools", names=["add", "structured"])
        seen["definitions"] = [json.loads(block.text) for block in described.content]
        await call("add", "call_tool", name="add", arguments={"a": 1, "b": 2})
        await call("structured", "call_tool", name="structured")
        await call("weather_json", "call_tool", name="weather_json", arguments={"city": "Ulm"})
        await call("fail_with_code", "call_tool", name="fail_with_code", arguments={})
        await call("wrong", "call_tool", name="add", arguments={"a": 1})
        await call("misspelt", "call_tool", name="ad", arguments={"a": 1, "b": 2})
        await call("direct", "echo", text="by its name")
        await call("unknown", "no_such_tool")
        await client.call_tool(
            "call_tool", {"name": "count", "arguments": {"to": 3, "pause_ms": 50}}, progress_callback=on_progress
        )
        try:
            await asyncio.wait_for(client.call_tool("call_tool", {"name": "sleep_ms", "arguments": {"ms": 1000}}), 0.1)
        except TimeoutError:
            seen["cancelled"] = True
        await call("hidden", "call_tool", name="secret")
        await call("reveal", "call_tool", name="reveal")
        if seen["protocol"] < "2026":
            # Since then no request changes what the next one sees.
            async with asyncio.timeout(PATIENCE):
                while "secret" not in await names(query="secret"):
                    await asyncio.sleep(0.02)
        seen["found_after"] = await names(limit=100)
        await call("shown", "call_tool", name="secret")
    return seen


print(json.dumps(asyncio.run(visit(sys.argv[1], sys.argv[2:]))))
