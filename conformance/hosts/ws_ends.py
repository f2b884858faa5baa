"""Ends connections over WebSocket in several ways, and prints the codes that the server closes them with as JSON.

Usage: ws_ends.py URL
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

FIRST = bytes.fromhex("00000019" "0801" "1215" "0a05312e302e30" "120c" "0801" "1a0870726f746f627566")


async def end(url, *messages) -> int:
    # Not as a context manager: leaving it fails after a message that could not be sent.
    connection = await connect(url, proxy=None, max_size=None)
    await connection.send(FIRST)
    await connection.recv()
    try:
        for message in messages:
            await connection.send(message)
        while True:
            await connection.recv()
    except ConnectionClosed as error:
        return error.rcvd.code if error.rcvd else 1006


async def fragments(url) -> int:
    """One request, in fragments of a byte."""
    connection = await connect(url, proxy=None)
    await connection.send(FIRST[index : index + 1] for index in range(len(FIRST)))
    return len(await connection.recv())


async def main(url) -> None:
    two = b"\x00\x00\x00\x02\x08\x02" * 2
    print(
        json.dumps(
            {
                "text": await end(url, "{}"),
                "too large": await end(url, bytes(40 << 20)),
                "fragments too large": await end(url, [bytes(1 << 20)] * 40),
                "garbage": await end(url, two, two, two),
                "fragments": await fragments(url) > 4,
            }
        )
    )


asyncio.run(main(sys.argv[1]))
