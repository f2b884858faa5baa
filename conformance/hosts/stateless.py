"""A host we did not write, in the revision without sessions: the official Python client is asked something in the middle
of a call, and listens for a reload.

Usage: stateless.py FILE COMMAND [ARG...]

FILE is the tool file that COMMAND serves: asks.py. It is saved again while the client listens. Prints what was seen as one
JSON object.
"""
import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp_types import CreateMessageResult, TextContent

PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))


async def visit(file, command):
    seen = {"asked": []}

    async def sample(_, params):
        seen["asked"].append([params.messages[0].content.text, params.max_tokens])
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="hello"), model="m-1")

    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(server, mode="auto", sampling_callback=sample, read_timeout_seconds=PATIENCE) as client:
        seen["protocol"] = client.session.protocol_version
        result = await client.call_tool("ask", {"text": "hi, é"})
        seen["told"] = json.loads(result.content[0].text)
        async with client.listen(tools_list_changed=True) as subscription:
            file.write_text(file.read_text() + "\n# saved again\n")
            event = await asyncio.wait_for(anext(subscription), PATIENCE)
            seen["event"] = type(event).__name__
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
    return seen


print(json.dumps(asyncio.run(visit(Path(sys.argv[1]), sys.argv[2:]))))
