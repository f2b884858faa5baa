"""Hosts we did not write: the official Python client calls `work` of steps.py again and again, in many concurrent sessions.

Usage: replicas.py URL CLIENTS STEPS          until the end of standard input

Prints a line of JSON for each call: the client, the call, the steps that it has reported, and the reason if it has failed; and
one for each thing that a client begins, such as a session.
"""
import asyncio
import json
import ssl
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

# A client that waits for a server that is suspended.
PATIENCE = 20

# The timeouts of the library. One context for all clients, which have no TLS: to read the certificates of the system for each
# session takes longer than a call.
TIMEOUT = httpx2.Timeout(30, read=300)
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def work(url, client, steps, over):
    number = 0
    while not over.is_set():
        # Half of them in sessions.
        mode = "legacy" if client % 2 else "auto"
        call, seen = None, []
        begins(client, "a session")
        try:
            async with httpx2.AsyncClient(verify=CONTEXT, timeout=TIMEOUT) as http, Client(
                streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=PATIENCE
            ) as session:
                while not over.is_set():
                    number += 1
                    call, seen = f"python-{client}-{number}", []

                    async def on_progress(progress, total, message):
                        seen.append(int(progress))

                    arguments = {"call": call, "steps": steps}
                    begins(client, call)
                    try:
                        result = await session.call_tool("work", arguments, progress_callback=on_progress)
                    except Exception as error:
                        begins(client, f"the end of its session after {why(error)}")
                        raise
                    text = result.content[0].text
                    tell(client, call, seen, None if text.startswith(f"{call} ") else f"another answer: {text}")
                    call = None
                    await asyncio.sleep(0.5)
        except Exception as error:
            tell(client, call or "a session", seen, why(error))
            await asyncio.sleep(0.5)


def why(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:200]


def begins(client, what):
    print(json.dumps({"client": f"python-{client}", "begins": what}), flush=True)


def tell(client, call, steps, error):
    print(json.dumps({"client": f"python-{client}", "call": call, "steps": steps, "error": error}), flush=True)


async def main():
    url, clients, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    over = asyncio.Event()
    tasks = [asyncio.create_task(work(url, client, steps, over)) for client in range(clients)]
    await asyncio.to_thread(sys.stdin.read)
    over.set()
    await asyncio.gather(*tasks)


asyncio.run(main())
