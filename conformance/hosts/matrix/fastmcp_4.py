"""The client of `fastmcp` 4.x in the matrix of clients; report.py says how it is used."""
import asyncio
import json
import os
import sys
import warnings

from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from report import Box, Report, lacks
from visit import Visit

warnings.simplefilter("ignore")


async def sample(messages, params, context):
    return f"a model's answer to {messages[-1].content.text}"


async def elicit(message, response_type, params, context):
    if response_type is None:
        assert params.url == "https://example.com/sign-in"
        return {}
    return {name: f"my {name}" for name in params.requested_schema.get("required", [])}


class Words:
    """The client in the words of the official one: each method that has another name here."""

    def __init__(self, client):
        self.fast = client
        self.protocol_version = client.protocol_version
        self.server_info = client.server_info
        self.server_capabilities = client.server_capabilities
        self.session = client.session
        self.send_ping = client.ping
        self.list_tools = client.list_tools_mcp
        self.list_resources = client.list_resources_mcp
        self.list_resource_templates = client.list_resource_templates_mcp
        self.list_prompts = client.list_prompts_mcp
        self.read_resource = client.read_resource_mcp
        self.get_prompt = client.get_prompt_mcp
        self.complete = client.complete_mcp
        self.set_logging_level = client.set_logging_level
        self.send_roots_list_changed = client.send_roots_list_changed
        # It has no methods for these two.
        self.subscribe_resource = client.session.subscribe_resource
        self.unsubscribe_resource = client.session.unsubscribe_resource

    async def call_tool(self, name, arguments, progress_callback=None):
        return await self.fast.call_tool_mcp(name, arguments, progress_handler=progress_callback)


class FastVisit(Visit):
    async def log(self):
        level = {"io.modelcontextprotocol/logLevel": "info"} if self.is_newest else None
        await self.client.fast.call_tool_mcp("test_tool_with_logging", {}, meta=level)

    def cannot_listen(self):
        lacks("it cannot listen", not hasattr(self.client.fast, "listen"))

    async def listen(self):
        self.cannot_listen()

    async def subscription(self):
        if self.is_newest:
            self.cannot_listen()
        await super().subscription()

    async def change(self, *about):
        if self.is_newest:
            self.cannot_listen()
        await super().change(*about)


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
            server = StdioTransport(program, arguments, env=dict(os.environ), keep_alive=False)
        case "sse":
            server = SSETransport(plan["sse"])
        case _:
            server = StreamableHttpTransport(plan["http"])
    async with Client(
        server,
        mode=mode,
        sampling_handler=sample,
        elicitation_handler=elicit,
        roots=["file:///work"],
        log_handler=on_log,
        message_handler=on_message,
    ) as client:
        report = Report(transport, revision, plan)
        await report.run(FastVisit(Words(client), report, told, logs).features())


async def main(plan):
    # Of the revisions with a handshake it offers the newest only.
    for transport in ("stdio", "http", "sse"):
        if transport in plan:
            await visit(plan, transport, "legacy", LATEST_HANDSHAKE_VERSION)
            if transport != "sse":
                await visit(plan, transport, "auto", LATEST_MODERN_VERSION)


asyncio.run(main(json.loads(sys.argv[1])))
