"""Carries messages of proto-mcp between standard input and output and calls of gRPC, so that programs for streams reach a
server there. Its gRPC is Google's `grpcio`. Over gRPC there are no ids: an answer gets the id of its request.

Usage: grpc_relay.py HOST:PORT

The error of proto-mcp in the details of a status becomes the answer; without one, an ErrorResponse whose code is 1000 and
the number of the status. The variable RELAY_AUTHORIZATION is a header of each call.

A call that wants reports is a CallToolStream. A CancelCall ends the call with its id. Subscriptions are one call of Listen:
a change of them begins another one, and then ends the one before.
"""

import os
import struct
import sys
import threading

import grpc

# The number of a request's payload in MCPMessage, and its call. The answer has the next number.
CALLS = {
    2: "MCPService/Initialize",
    4: "MCPService/ListTools",
    6: "MCPService/CallTool",
    8: "MCPService/ListResources",
    10: "MCPService/ReadResource",
    110: "MCPPrompts/ListPrompts",
    112: "MCPPrompts/GetPrompt",
    114: "MCPPrompts/Complete",
    116: "MCPPrompts/ListTemplates",
}
ERROR, CALL_TOOL, CANCEL_CALL, SUBSCRIBE, SUBSCRIBED, UNSUBSCRIBE = 12, 6, 104, 120, 121, 122
# The numbers of the messages in CallEvent and in Notice, and theirs in MCPMessage.
EVENTS = {1: 101, 3: 103, 15: 7}
NOTICES = {2: 100, 3: 124, 4: 103}
# The code of a resource that is not there, -32002, as an unsigned number.
NOT_THERE = 2**64 - 32002
# CallToolRequest.wants_progress and log_level
WISHES = {16, 18}


def read(size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (more := os.read(0, size - len(data))):
        data += more
    return bytes(data)


def varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def number(value: int) -> bytes:
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def fields(data: bytes) -> dict[int, object]:
    found, position = {}, 0
    while position < len(data):
        key, position = varint(data, position)
        value, position = varint(data, position)
        if key & 7 == 2:
            value, position = data[position : position + value], position + value
        found[key >> 3] = value
    return found


def field(key: int, body: bytes) -> bytes:
    return number(key << 3 | 2) + number(len(body)) + body


lock = threading.Lock()


def write(identifier: int, payload: int, body: bytes) -> None:
    message = number(1 << 3) + number(identifier) + field(payload, body)
    data = struct.pack(">I", len(message)) + message
    with lock:
        while data:
            data = data[os.write(1, data) :]


def failure(call) -> bytes:
    for name, value in call.trailing_metadata() or ():
        if name == "grpc-status-details-bin":
            # google.rpc.Status, its first detail, and the value of that Any.
            return fields(fields(value)[3])[2]
    return number(1 << 3) + number(1000 + call.code().value[0]) + field(2, call.details().encode())


class Relay:
    def __init__(self, channel, metadata) -> None:
        self.channel, self.metadata = channel, metadata
        self.calls = {}
        self.uris, self.listening = set(), None

    def take(self, identifier: int, payload: int, body: bytes) -> None:
        if payload == CANCEL_CALL:
            if call := self.calls.get(identifier):
                call.cancel()
        elif payload in (SUBSCRIBE, UNSUBSCRIBE):
            self.subscribe(identifier, payload, fields(body)[1])
        elif payload == CALL_TOOL and WISHES & fields(body).keys():
            call = self.stream("CallToolStream", body)
            self.calls[identifier] = call
            threading.Thread(target=self.events, args=(identifier, call), daemon=True).start()
        else:
            call = self.channel.unary_unary(f"/buf.mcp.v1.{CALLS[payload]}").future(body, metadata=self.metadata)
            self.calls[identifier] = call
            call.add_done_callback(lambda call: self.done(identifier, payload, call))

    def stream(self, name: str, body: bytes):
        return self.channel.unary_stream(f"/buf.mcp.v1.MCPStreams/{name}")(body, metadata=self.metadata)

    def done(self, identifier: int, payload: int, call) -> None:
        if call.cancelled() or call.exception() is not None:
            write(identifier, ERROR, failure(call))
        else:
            write(identifier, payload + 1, call.result())

    def events(self, identifier: int, call) -> None:
        try:
            for event in call:
                for key, body in fields(event).items():
                    write(identifier, EVENTS[key], body)
        except grpc.RpcError:
            write(identifier, ERROR, failure(call))

    def subscribe(self, identifier: int, payload: int, uri: bytes) -> None:
        uris = self.uris | {uri} if payload == SUBSCRIBE else self.uris - {uri}
        call = self.stream("Listen", b"".join(field(1, uri) for uri in sorted(uris)))
        try:
            listening = fields(next(call))[1]
        except grpc.RpcError:
            return write(identifier, ERROR, failure(call))
        if payload == SUBSCRIBE and field(1, uri) in listening:
            call.cancel()
            return write(identifier, ERROR, number(1 << 3) + number(NOT_THERE) + field(2, uri))
        before, self.uris, self.listening = self.listening, uris, call
        if before:
            before.cancel()
        threading.Thread(target=self.notices, args=(call,), daemon=True).start()
        write(identifier, SUBSCRIBED, b"")

    def notices(self, call) -> None:
        try:
            for notice in call:
                for key, body in fields(notice).items():
                    write(0, NOTICES[key], body)
        except grpc.RpcError:
            pass


def main() -> None:
    options = [("grpc.max_receive_message_length", 64 << 20), ("grpc.enable_http_proxy", 0)]
    token = os.environ.get("RELAY_AUTHORIZATION")
    metadata = [("authorization", token)] if token else []
    with grpc.insecure_channel(sys.argv[1], options=options) as channel:
        relay = Relay(channel, metadata)
        while len(prefix := read(4)) == 4:
            message = fields(read(struct.unpack(">I", prefix)[0]))
            identifier = message.pop(1, 0)
            ((payload, body),) = message.items()
            relay.take(identifier, payload, body)
        # The answers of calls that end with the channel have no reader.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


main()
