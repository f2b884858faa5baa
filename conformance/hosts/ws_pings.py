"""A server over WebSocket that sends pings and reads nothing. It takes one connection.

Usage: ws_pings.py BYTES

Prints its port, a line when the handshake is complete, and the number of bytes that it has sent: this many, or fewer if the client
is gone. Then it waits for the end of its standard input.
"""

import base64
import hashlib
import socket
import sys

# RFC 6455, section 1.3.
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
# The most bytes that a ping may have: RFC 6455, section 5.5.
PING = b"\x89\x7d" + bytes(125)


def key(head: bytes) -> bytes:
    fields = (line.partition(b":") for line in head.split(b"\r\n"))
    return next(value.strip() for name, _, value in fields if name.lower() == b"sec-websocket-key")


def handshake(connection: socket.socket) -> None:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1) or sys.exit("the client is gone")
    accept = base64.b64encode(hashlib.sha1(key(head) + GUID).digest())
    fields = [
        b"HTTP/1.1 101 Switching Protocols",
        b"Connection: Upgrade",
        b"Upgrade: websocket",
        b"Sec-WebSocket-Protocol: proto-mcp.v1",
        b"Sec-WebSocket-Accept: " + accept,
    ]
    connection.sendall(b"\r\n".join([*fields, b"", b""]))


def main() -> None:
    with socket.socket() as listener:
        # A small buffer, which the connection inherits, is soon full of pongs.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(listener.getsockname()[1], flush=True)
        connection, _ = listener.accept()
    handshake(connection)
    print("connected", flush=True)
    block, sent = PING * 1000, 0
    try:
        while sent < int(sys.argv[1]):
            connection.sendall(block)
            sent += len(block)
    except OSError:
        pass
    print(sent, flush=True)
    sys.stdin.read()


main()
