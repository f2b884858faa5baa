"""Hosts we did not write: the official Python client calls `work` of steps.py again and again, in many concurrent sessions.

Usage: replicas.py URL CLIENTS STEPS          until the end of standard input

Prints a line of JSON for each call: the client, the call, the steps that it has reported, and the reason if it has failed.
"""
import asyncio
import json
import sys

from mcp import Client

# A client that waits for a server that is suspended.
PATIENCE = 20


async def work(url, client, steps, over):
    number = 0
    while not over.is_set():
        # Half of them in sessions.
        mode = "legacy" if client % 2 else "auto"
        call, seen = None, []
        try:
            async with Client(url, mode=mode, read_timeout_seconds=PATIENCE) as session:
                while not over.is_set():
                    number += 1
                    call, seen = f"python-{client}-{number}", []

                    async def on_progress(progress, total, message):
                        seen.append(int(progress))

                    arguments = {"call": call, "steps": steps}
                    result = await session.call_tool("work", arguments, progress_callback=on_progress)
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
