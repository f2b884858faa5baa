"""A host we did not write: the official Python client follows a script against an MCP server.

Usage: script.py SCRIPT COMMAND [ARG...]        SCRIPT: a JSON array of steps
       script.py SCRIPT URL                     over Streamable HTTP
       script.py --visits                       many scripts, several at a time, in one process

Prints what each step gave as one JSON array. `--visits` reads a line of JSON for each visit: {"id", "script", "command",
"env", "cwd", "stderr"}, of which the last is a file for the output of the server on standard error. It prints a line for
each: {"id", "given"} or {"id", "error"}.

A step is an object with one of these members:

  {"tools": true}   {"resources": true}   {"templates": true}   {"prompts": true}     lists, by name or address
  {"call": name, "with": arguments}        the result; a protocol error as {"error": code, "message": text}
  {"count": name, "with": arguments}       a call with its progress as {"result": ..., "progress": [...]}
  {"log": name, "with": arguments, "messages": n}     a call and its n log messages as {"result": ..., "levels": [...]}
  {"hear": name, "with": arguments, "steps": n, "messages": m}     a call with its n steps of progress, and its m log
                                           messages as {"result": ..., "progress": [...], "messages": [...]}
  {"give_up": name, "with": arguments}     a call that is cancelled as soon as it reports progress, or after 0.3 s
  {"whole": list}          what a method of the client for a list returns, such as list_tools
  {"capabilities": true}   the capabilities of the server
  {"subscribe": address}
  {"read": address}   {"get": prompt, "with": arguments}   {"complete": [kind, name, argument, value]}
  {"until": [name...]}                     waits until the tool list is this one
  {"file": path}                           waits until there is this file
  {"together": [step...]}                  these at the same time; what each of them gave

The client answers sampling with "a model's answer to " and the last text, has one root, file:///work, visits pages, and
declines forms.
"""
import asyncio
import json
import os
import sys
import traceback

import mcp.types as types
from mcp import Client, MCPError, StdioServerParameters

PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))


async def sample(_, params):
    last = params.messages[-1].content
    text = getattr(last, "text", str(last))
    content = types.TextContent(type="text", text=f"a model's answer to {text}")
    return types.CreateMessageResult(role="assistant", content=content, model="a-model", stop_reason="endTurn")


async def roots(_):
    return types.ListRootsResult(roots=[types.Root(uri="file:///work", name="work")])


async def elicit(_, params):
    return types.ElicitResult(action="accept" if params.mode == "url" else "decline")


def plain(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


class Follower:
    def __init__(self, client, levels, messages):
        self.client = client
        self.levels = levels
        self.messages = messages

    async def tools(self, _):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def resources(self, _):
        return [str(resource.uri) for resource in (await self.client.list_resources()).resources]

    async def templates(self, _):
        listed = await self.client.list_resource_templates()
        return [template.uri_template for template in listed.resource_templates]

    async def prompts(self, _):
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def call(self, step):
        return plain(await self.client.call_tool(step["call"], step.get("with", {})))

    async def count(self, step):
        seen = []

        async def on_progress(progress, total, message):
            seen.append([progress, total, message])

        result = await self.client.call_tool(step["count"], step.get("with", {}), progress_callback=on_progress)
        return {"result": plain(result), "progress": seen}

    async def log(self, step):
        self.levels.clear()
        result = plain(await self.client.call_tool(step["log"], step.get("with", {})))
        async with asyncio.timeout(PATIENCE):
            while len(self.levels) < step["messages"]:
                await asyncio.sleep(0.02)
        return {"result": result, "levels": list(self.levels)}

    async def hear(self, step):
        self.messages.clear()
        progress = []

        async def on_progress(reached, total, message):
            progress.append({"progress": reached, "total": total, "message": message})

        result = await self.client.call_tool(step["hear"], step.get("with", {}), progress_callback=on_progress)
        async with asyncio.timeout(PATIENCE):
            while len(progress) < step.get("steps", 0) or len(self.messages) < step.get("messages", 0):
                await asyncio.sleep(0.02)
        return {"result": plain(result), "progress": progress, "messages": list(self.messages)}

    async def whole(self, step):
        return plain(await getattr(self.client, step["whole"])())

    async def capabilities(self, _):
        return plain(self.client.server_capabilities)

    async def subscribe(self, step):
        return plain(await self.client.subscribe_resource(step["subscribe"]))

    async def give_up(self, step):
        moving = asyncio.Event()

        async def on_progress(*_):
            moving.set()

        call = asyncio.create_task(
            self.client.call_tool(step["give_up"], step.get("with", {}), progress_callback=on_progress)
        )
        try:
            await asyncio.wait_for(moving.wait(), 0.3)
        except TimeoutError:
            pass
        call.cancel()
        try:
            await call
        except asyncio.CancelledError:
            return "cancelled"

    async def read(self, step):
        return plain(await self.client.read_resource(step["read"]))

    async def get(self, step):
        return plain(await self.client.get_prompt(step["get"], step.get("with", {})))

    async def complete(self, step):
        kind, name, argument, value = step["complete"]
        if kind == "prompt":
            ref = types.PromptReference(type="ref/prompt", name=name)
        else:
            ref = types.ResourceTemplateReference(type="ref/resource", uri=name)
        return plain(await self.client.complete(ref, {"name": argument, "value": value}))

    async def until(self, step):
        async with asyncio.timeout(PATIENCE):
            while (names := await self.tools(step)) != step["until"]:
                await asyncio.sleep(0.02)
        return names

    async def file(self, step):
        async with asyncio.timeout(PATIENCE):
            while not os.path.exists(step["file"]):
                await asyncio.sleep(0.02)

    async def together(self, step):
        return await asyncio.gather(*(self.step(each) for each in step["together"]))

    async def step(self, step):
        try:
            return await getattr(self, next(iter(step)))(step)
        except MCPError as error:
            return {"error": error.error.code, "message": error.error.message}


async def follow(script, command, env=None, cwd=None):
    if command[0].startswith("http://"):
        server = command[0]
    else:
        server = StdioServerParameters(command=command[0], args=command[1:], env=env or dict(os.environ), cwd=cwd)
    given, levels, messages = [], [], []

    async def on_log(message):
        levels.append(message.level)
        messages.append(plain(message))

    async with Client(
        server,
        mode="legacy",
        sampling_callback=sample,
        list_roots_callback=roots,
        elicitation_callback=elicit,
        logging_callback=on_log,
        read_timeout_seconds=PATIENCE,
    ) as client:
        follower = Follower(client, levels, messages)
        for step in script:
            given.append(await follower.step(step))
    return given


async def visit(wish):
    """One visit of many; the answer is one line."""
    command = ["sh", "-c", 'exec "$@" 2>"$0"', wish["stderr"], *wish["command"]]
    try:
        found = {"given": await follow(wish["script"], command, wish["env"], wish["cwd"])}
    except Exception:
        found = {"error": traceback.format_exc()}
    print(json.dumps({"id": wish["id"], **found}), flush=True)


async def visits():
    lines = asyncio.StreamReader(limit=1 << 24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with asyncio.TaskGroup() as tasks:
        while line := await lines.readline():
            tasks.create_task(visit(json.loads(line)))


if sys.argv[1] == "--visits":
    asyncio.run(visits())
else:
    print(json.dumps(asyncio.run(follow(json.loads(sys.argv[1]), sys.argv[2:]))))
