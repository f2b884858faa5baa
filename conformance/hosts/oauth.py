"""A third-party client without a token: the official Python client finds the authorization server by
itself, registers there, gets a token, and a better one when a tool takes more.

Usage: oauth.py URL MODE        MODE: legacy (initialize) or auto (probe for the newest era first)

The server is expected to run basics.py and to want the scope "deploy" for `add`. Prints what was seen as one JSON object.
"""
import asyncio
import json
import os
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))


class Memory:
    """Tokens and registration, for as long as this program runs."""

    def __init__(self):
        self.tokens, self.client = None, None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def visit(url, mode):
    seen, answers = {"authorizations": []}, []

    async def browse(place):
        """What the user's browser does, with a user who agrees to everything."""
        query = parse_qs(urlsplit(place).query)
        seen["authorizations"].append({"scope": query["scope"][0], "resource": query["resource"][0]})
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(place)
        answers.append({name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()})

    async def come_back():
        return AuthorizationCodeResult(**answers.pop())

    metadata = OAuthClientMetadata(client_name="a host", redirect_uris=["http://localhost:1/callback"])
    auth = OAuthClientProvider(url, metadata, Memory(), redirect_handler=browse, callback_handler=come_back)
    async with httpx2.AsyncClient(auth=auth, timeout=PATIENCE) as web:
        transport = streamable_http_client(url, http_client=web)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
            seen["protocol"] = client.session.protocol_version
            seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
            seen["echo"] = (await client.call_tool("echo", {"text": "hello"})).content[0].text
            seen["add"] = (await client.call_tool("add", {"a": 1, "b": 2})).content[0].text
    return seen


print(json.dumps(asyncio.run(visit(sys.argv[1], sys.argv[2]))))
