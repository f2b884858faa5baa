"""A host we did not write: the official Python client drives an MCP server through one fixed visit.

Usage: client.py MODE COMMAND [ARG...]        MODE: legacy (initialize) or auto (probe for the newest era first)
       client.py MODE URL                     over Streamable HTTP

Prints what it saw as one JSON object; client.mts prints the same one. The server is expected to run basics.py.
"""
import asyncio
import json
import os
import sys

from mcp import Client, MCPError, StdioServerParameters

PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))


async def visit(mode, command):
    changed = asyncio.Event()
    seen = {"calls": {}, "errors": {}, "progress": []}

    async def on_message(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            changed.set()

    if command[0].startswith("http"):
        server = command[0]
    else:
        server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(server, mode=mode, message_handler=on_message, read_timeout_seconds=PATIENCE) as client:

        async def call(label, name, /, **arguments):
            try:
                result = await client.call_tool(name, arguments)
            except MCPError as error:
                seen["errors"][label] = {"code": error.error.code, "message": error.error.message}
                return
            except RuntimeError as error:
                # The client refuses a result that breaks what the tool's output schema promises.
                seen["errors"][label] = {"refused": str(error)}
                return
            seen["calls"][label] = {
                "text": [block.text for block in result.content],
                "isError": bool(result.is_error),
                "structured": result.structured_content,
            }

        async def names():
            return [tool.name for tool in (await client.list_tools()).tools]

        async def on_progress(progress, total, message):
            seen["progress"].append([progress, total, message])

        seen["protocol"] = client.session.protocol_version
        seen["server"] = client.session.server_info.name
        seen["tools"] = await names()
        await call("echo", "echo", text="hello")
        await call("add", "add", a=1, b=2)
        await call("greet", "greet", name="Jürgen")
        await call("structured", "structured")
        await call("weather_json", "weather_json", city="Ulm")
        await call("weather_prose", "weather_prose", city="Ulm")
        await call("fail_with_code", "fail_with_code")
        await call("raise_error", "raise_error")
        await call("large", "large", size=70_000)
        await call("unknown", "no_such_tool")
        await client.call_tool("count", {"to": 3, "pause_ms": 50}, progress_callback=on_progress)
        try:
            await asyncio.wait_for(client.call_tool("sleep_ms", {"ms": 1000}), 0.1)
        except TimeoutError:
            seen["cancelled"] = True
        changed.clear()
        await call("reveal", "reveal")
        if seen["protocol"] < "2026":
            # Since then no request changes what the next one sees.
            await asyncio.wait_for(changed.wait(), 20)
        seen["tools_after"] = await names()
        await call("after", "echo", text="still here")
    return seen


print(json.dumps(asyncio.run(visit(sys.argv[1], sys.argv[2:]))))
