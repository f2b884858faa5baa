"""A stand-in for the bridge: runs one tool process, calls its tools and prints every frame as a JSON line.

Written over the published SDK's generated messages, so it shows what a tool process really sends, without any of this
project's code. Run it with the Python of .peers/py:

    stand_in.py [--reload] [--timeout SECONDS] COMMAND [ARG...] -- [TOOL [ARGUMENTS-JSON]]...
"""
import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile

from google.protobuf.json_format import MessageToDict
from protomcp import protomcp_pb2 as pb


class Link:
    """One connection: frames both ways, every one of them printed."""

    def __init__(self, connection, timeout):
        connection.settimeout(timeout)
        self.connection = connection

    def send(self, **fields):
        envelope = pb.Envelope(**fields)
        body = envelope.SerializeToString()
        self.connection.sendall(struct.pack(">I", len(body)) + body)
        show("H", envelope)

    def receive(self):
        envelope = pb.Envelope()
        envelope.ParseFromString(self.exactly(struct.unpack(">I", self.exactly(4))[0]))
        show("T", envelope)
        if envelope.HasField("raw_header"):
            print(json.dumps({"T": "payload", "bytes": len(self.exactly(envelope.raw_header.size))}), flush=True)
        return envelope

    def exactly(self, count):
        data = bytearray()
        while len(data) < count:
            piece = self.connection.recv(count - len(data))
            if not piece:
                raise ConnectionError("the tool process hung up")
            data += piece
        return bytes(data)


def show(side, envelope):
    fields = MessageToDict(envelope, preserving_proto_field_name=True)
    text = json.dumps({side: fields}, ensure_ascii=False)
    print(text if len(text) < 2000 else text[:2000] + "...", flush=True)


def handshake(link, until_silent):
    """Acknowledges middleware until the process says it is done, or is silent for half a second."""
    while True:
        link.connection.settimeout(0.5 if until_silent else None)
        try:
            envelope = link.receive()
        except TimeoutError:
            return
        if envelope.HasField("register_middleware"):
            link.send(register_middleware_response=pb.RegisterMiddlewareResponse(success=True))
        elif envelope.HasField("disable_tools"):
            link.send(active_tools=pb.ActiveToolsResponse())


def answer(link, request_id, timeout):
    link.connection.settimeout(timeout)
    while True:
        envelope = link.receive()
        if request_id in (envelope.request_id, envelope.raw_header.request_id):
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reload", action="store_true", help="ask for a reload after the calls")
    parser.add_argument("--timeout", type=float, default=10, help="seconds to wait for an answer")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    words = list(options.words)
    if words and words[0] == "--":
        words.pop(0)
    split = words.index("--") if "--" in words else len(words)
    command, calls = words[:split], words[split + 1 :]

    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, "s")
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(options.timeout)
        process = subprocess.Popen(command, env=os.environ | {"PROTOMCP_SOCKET": path}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            connection, _ = listener.accept()
            link = Link(connection, options.timeout)
            link.send(request_id="list", list_tools=pb.ListToolsRequest())
            handshake(link, until_silent=True)
            for number, at in enumerate(range(0, len(calls), 2)):
                arguments = calls[at + 1] if at + 1 < len(calls) else "{}"
                request_id = f"call-{number}"
                request = pb.CallToolRequest(name=calls[at], arguments_json=arguments, progress_token="token")
                link.send(request_id=request_id, call_tool=request)
                try:
                    answer(link, request_id, options.timeout)
                except (TimeoutError, ConnectionError) as error:
                    print(json.dumps({"no answer": str(error) or "timed out"}), flush=True)
            if options.reload:
                link.send(request_id="reload", reload=pb.ReloadRequest())
                handshake(link, until_silent=True)
            connection.close()
        except OSError as error:
            print(json.dumps({"gave up": str(error)}), flush=True)
        finally:
            try:
                status = process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                process.kill()
                status = process.wait()
            print(json.dumps({"exit": status}), file=sys.stdout, flush=True)


main()
