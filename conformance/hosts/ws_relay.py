"""Carries frames of proto-mcp between standard input and output and a WebSocket, so that programs for stdio reach a server
there. Its WebSocket comes from the library `websockets`.

Usage: ws_relay.py URL FORM [AUTHORITY]
       (FORM: prefixed or bare, the form of messages; AUTHORITY: the file of a certificate authority)

The variables RELAY_AUTHORIZATION and RELAY_ORIGIN are headers of the handshake. A refused handshake ends with status 2 and
the status of HTTP on standard error; another end than 1000 and 1001 with status 3 and its code.
"""

import os
import ssl
import struct
import sys
import threading

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect


def read(size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (more := os.read(0, size - len(data))):
        data += more
    return bytes(data)


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def forward(connection, is_bare: bool) -> None:
    while len(prefix := read(4)) == 4:
        body = read(struct.unpack(">I", prefix)[0])
        try:
            connection.send(body if is_bare else prefix + body)
        except ConnectionClosed:
            return
    connection.close()


def backward(connection, is_bare: bool) -> int:
    try:
        while True:
            message = connection.recv()
            body = message if is_bare else message[4:]
            assert is_bare or struct.unpack(">I", message[:4])[0] == len(body), message[:8]
            write(struct.pack(">I", len(body)) + body)
    except ConnectionClosed as error:
        code = error.rcvd.code if error.rcvd else 1006
        if code in (1000, 1001):
            return 0
        print(code, file=sys.stderr)
        return 3


def main() -> int:
    url, form, *authority = sys.argv[1:]
    is_bare = form == "bare"
    token = os.environ.get("RELAY_AUTHORIZATION")
    settings = {
        "subprotocols": ["proto-mcp.v1"],
        "additional_headers": {"Authorization": token} if token else {},
        "origin": os.environ.get("RELAY_ORIGIN"),
        "ssl": ssl.create_default_context(cafile=authority[0]) if authority else None,
        "max_size": 64 << 20,
        "proxy": None,
    }
    try:
        with connect(url, **settings) as connection:
            assert connection.subprotocol == "proto-mcp.v1", connection.subprotocol
            threading.Thread(target=forward, args=(connection, is_bare), daemon=True).start()
            return backward(connection, is_bare)
    except InvalidStatus as error:
        print(error.response.status_code, file=sys.stderr)
        return 2


sys.exit(main())
