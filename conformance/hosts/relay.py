"""Carries standard input and output to a TCP address, so that programs for stdio reach a server there.

Usage: relay.py HOST PORT                  in plain text
       relay.py HOST PORT AUTHORITY MAX    within TLS: the file of the certificate authority, and the newest version to
                                           offer, 1.2 or 1.3
       relay.py HOST PORT AUTHORITY MAX CERTIFICATE KEY      with a certificate of the client

One thread does both directions: a TLS connection of Python must not be read and written by two threads concurrently.
"""

import asyncio
import os
import socket
import ssl
import sys
import traceback

PIECE = 65536


def security():
    if len(sys.argv) == 3:
        return {}
    host, authority, newest, *own = sys.argv[1], *sys.argv[3:]
    context = ssl.create_default_context(cafile=authority)
    context.maximum_version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[newest]
    if own:
        context.load_cert_chain(*own)
    return {"ssl": context, "server_hostname": host}


async def forward(writer) -> None:
    loop = asyncio.get_running_loop()
    # An empty buffer is what drain() waits for, so that nothing is unsent when the direction ends.
    writer.transport.set_write_buffer_limits(0)
    while data := await loop.run_in_executor(None, os.read, 0, PIECE):
        writer.write(data)
        await writer.drain()
    # One direction alone, which TLS of Python has no call for.
    with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as plain:
        plain.shutdown(socket.SHUT_WR)


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection(sys.argv[1], int(sys.argv[2]), **security())
    forwarding = asyncio.create_task(forward(writer))
    while data := await reader.read(PIECE):
        while data:
            data = data[await loop.run_in_executor(None, os.write, 1, data):]
    if forwarding.done():
        forwarding.result()


async def run() -> None:
    status = 0
    try:
        await main()
    except (OSError, ssl.SSLError):
        traceback.print_exc()
        status = 1
    # A read of standard input may last for ever, and would keep the program.
    os._exit(status)


asyncio.run(run())
