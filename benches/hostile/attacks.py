"""Attacks on `pmcp` itself: on the check of arguments, on connections, and of a hostile server behind it."""

import base64
import contextlib
import hashlib
import json
import os
import re
import socket
import sys
import threading
import time

from programs import INITIALIZE, Piped, User, Web, call, request
from sdk_attacks import condition
from words import duration, figures, size

# The seconds after which an attack is ended.
PATIENCE = 30

# The seconds of pings, and of resumptions.
FLOOD = 6

# RFC 6455, section 1.3.
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

# The bytes of an answer that is longer than a line may be.
LONG = 65 << 20

JUNK = 100_000


def upstream(folder):
    """The arguments for a hostile server behind `pmcp`."""
    return "--", sys.executable, folder / "upstream.py"


def mismatches(build, folder):
    """Arguments that fit no choice of a union which contains itself."""
    found, texts = {}, {}
    for length in (275, 300, 325):
        with Piped(build, folder, "tools.py").begin() as server:
            began = time.perf_counter()
            seconds, said = server.timed(condition(1, length, {"op": "nor", "kids": []}), PATIENCE)
            ended = time.perf_counter() - began
            time.sleep(0.1)
            peak = server.peak
        found[f"{length} B"] = {"seconds": seconds, "peak": peak, "over": server.is_over, "answer": said}
        texts[f"{length} B"] = f"{duration(seconds, PATIENCE)}, {size(peak)}"
        if server.is_over:
            texts[f"{length} B"] = f"more than {size(build.memory)} in {ended:.1f} s"
    return figures(found, texts)


def gone():
    raise RuntimeError("the peer is gone")


def receive_head(connection):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1) or gone()
    return head


def flood(connection, frame, program):
    """Sends a frame again and again without a look at the answers; the bytes sent, and the growth of the program."""
    base, began = program.memory(), time.monotonic()
    program.peak, sent, block, rest = 0, 0, frame * 500, b""
    grown = 0
    while time.monotonic() - began < FLOOD and not program.is_over:
        connection.settimeout(0.2)
        # A part of a block that was written has its rest written next: frames stay whole.
        rest = rest or block
        try:
            count = connection.send(rest)
        except TimeoutError:
            count = 0
        except OSError:
            break
        sent, rest = sent + count, rest[count:]
        grown = max(grown, program.memory() - base)
    time.sleep(0.1)
    grown = max(grown, program.memory() - base)
    return {"sent": sent, "growth": grown, "seconds": time.monotonic() - began, "over": program.is_over}


def grown(found):
    ended = f" in {found['seconds']:.1f} s, then ended" if found["over"] else ""
    return f"{size(found['growth'])} more{ended}"


def pings_to_server(build, folder):
    """A client over WebSocket that sends pings and reads nothing."""
    with Web(build, folder, "tools.py", "--transport", "ws").begin() as server, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(
            f"GET /mcp HTTP/1.1\r\nHost: localhost:{server.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        receive_head(connection)
        # A ping with as many bytes as it may have (section 5.5), behind a mask of zeros.
        return flood(connection, bytes([0x89, 0x80 | 125, *bytes(4), *bytes(125)]), server)


def pings_to_client(build, folder):
    """A server over WebSocket that does the same with its client."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(30)
        url = f"ws://127.0.0.1:{listener.getsockname()[1]}/mcp"
        with Piped(build, folder, "--upstream", url) as client:
            client.send(INITIALIZE)
            connection, _ = listener.accept()
            head = receive_head(connection)
            key = re.search(rb"(?im)^sec-websocket-key: *(\S+)", head)[1]
            accept = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
            connection.sendall(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                f"Sec-WebSocket-Protocol: proto-mcp.v1\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode()
            )
            with connection:
                return flood(connection, bytes([0x89, 125, *bytes(125)]), client)


def pings(build, folder):
    """Pings of WebSocket by a peer that reads nothing."""
    found = {"a server": pings_to_server(build, folder), "a client": pings_to_client(build, folder)}
    return figures(found, {name: grown(each) for name, each in found.items()})


def whispers(alice, bob, index, delay):
    """The messages to Alice that Bob hears while a call waits, of two that her server sends after its answer."""
    heard = []
    wait = call(index, "wait", seconds=delay + 0.5)
    waiting = threading.Thread(target=lambda: heard.append(bob.post(wait, delay + 1)))
    alice.post(call(index, "late", seconds=delay, text=f"alice-{index}"), 10)
    waiting.start()
    waiting.join()
    seen = heard[0][1].decode(errors="replace")
    if "waited" not in seen:
        raise RuntimeError(f"the call of the other user has no answer: {seen}")
    return sum(f"{what} alice-{index}" in seen for what in ("log", "question"))


def privacy(build, folder):
    """A server that two users share sends a log message and a question to one of them after its answer."""
    delays = [0.1] * 10 + [2] * 3 + [11] * 2
    found = {}
    with Web(build, folder, "--transport", "http", *upstream(folder)).begin() as server:
        alice, bob = User(server.port, "127.0.0.2"), User(server.port, "127.0.0.3")
        for user in (alice, bob):
            user.post(request("level", "logging/setLevel", level="debug"), 10)
        for index, delay in enumerate(delays):
            after = found.setdefault(f"{delay} s after the answer", {"sent": 0, "reached another user": 0})
            after["sent"] += 2
            after["reached another user"] += whispers(alice, bob, index, delay)
    return figures(found, {name: f"{each['reached another user']} of {each['sent']}" for name, each in found.items()})


def long_answer(build, folder):
    """A server on standard output answers with more than a line may have."""
    with Piped(build, folder, "--call-timeout", "12s", *upstream(folder)).begin() as server:
        seconds, said = server.timed(call(1, "big", bytes=LONG), PATIENCE)
        # The path of the interpreter is specific to one machine.
        found = {"seconds": seconds, "answer": said and said.replace(sys.executable, "python3"), "peak": server.peak}
    return figures(found, {"": f"{duration(seconds, PATIENCE)}, {size(found['peak'])}"})


def junk(build, folder):
    """A server writes lines that are not messages."""
    found = {}
    for name, line in (("text", "x" * 60), ("broken messages", '{"jsonrpc": ' + "x" * 50)):
        with Piped(build, folder, *upstream(folder)).begin() as server:
            before = server.log.read_bytes().count(b"\n")
            server.send(call(1, "junk", lines=JUNK, line=line))
            server.answer(1, PATIENCE)
            time.sleep(0.5)
            log = server.log.read_bytes()
        found[name] = {"lines": log.count(b"\n") - before, "bytes": len(log)}
    return figures(found, {name: f"{each['lines']:,}" for name, each in found.items()})


class Empty:
    """A server over HTTP whose stream of an answer ends after an empty event, each time with a new position."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.resumed = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, contextlib.suppress(OSError, RuntimeError):
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(1 << 16) or gone()
            head, _, body = data.partition(b"\r\n\r\n")
            length = re.search(rb"(?im)^content-length: *(\d+)", head)
            while length and len(body) < int(length[1]):
                body += connection.recv(1 << 16) or gone()
            connection.sendall(self._response(head, json.loads(body) if body else {}))

    def _response(self, head, message):
        method = message.get("method", "")
        if b"last-event-id" in head.lower():
            self.resumed.append(time.monotonic())
        elif head.startswith(b"GET"):
            return b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        elif method == "initialize":
            result = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "empty", "version": "1"},
            }
            return self._json(message, result)
        elif method == "tools/list":
            return self._json(message, {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]})
        elif method != "tools/call":
            if "id" in message:
                return self._json(message, {}) if method == "ping" else self._error(message)
            return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        body = f"id: {len(self.resumed)}-{os.urandom(4).hex()}\nretry: 0\ndata:\n\n"
        return self._reply("text/event-stream", body)

    def _json(self, message, result):
        return self._reply("application/json", json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))

    def _error(self, message):
        error = {"code": -32601, "message": "unknown method"}
        return self._reply("application/json", json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}))

    def _reply(self, kind, body):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nMcp-Session-Id: s\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n{body}".encode()


def resumptions(build, folder):
    """A server that resumes the stream of an answer with an empty event, again and again."""
    server = Empty()
    url = f"http://127.0.0.1:{server.port}/mcp"
    with Piped(build, folder, "--upstream", url).begin() as client:
        client.send(call(1, "wait"))
        time.sleep(2 * FLOOD)
        server.listener.close()
    middle = (server.resumed[0] if server.resumed else 0) + FLOOD
    rates = [sum(at < middle for at in server.resumed) / FLOOD, sum(at >= middle for at in server.resumed) / FLOOD]
    names = [f"the first {FLOOD} s", f"the next {FLOOD} s"]
    found = dict(zip(names, rates, strict=True))
    return figures(found, {name: f"{rate:.1f} a second" for name, rate in found.items()})
