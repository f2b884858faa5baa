"""Carries messages of proto-mcp between standard input and output and calls of gRPC, so that programs for streams reach a
server there. Its gRPC is Google's `grpcio`. Over gRPC there are no ids: an answer gets the id of its request.

Usage: grpc_relay.py HOST:PORT

The error of proto-mcp in the details of a status becomes the answer; without one, an ErrorResponse whose code is 1000 and
the number of the status. The variable RELAY_AUTHORIZATION is a header of each call.
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
ERROR = 12


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
    for name, value in call.trailing_metadata():
        if name == "grpc-status-details-bin":
            # google.rpc.Status, its first detail, and the value of that Any.
            return fields(fields(value)[3])[2]
    return number(1 << 3) + number(1000 + call.code().value[0]) + field(2, call.details().encode())


def main() -> None:
    options = [("grpc.max_receive_message_length", 64 << 20), ("grpc.enable_http_proxy", 0)]
    token = os.environ.get("RELAY_AUTHORIZATION")
    metadata = [("authorization", token)] if token else []
    with grpc.insecure_channel(sys.argv[1], options=options) as channel:
        while len(prefix := read(4)) == 4:
            message = fields(read(struct.unpack(">I", prefix)[0]))
            identifier = message.pop(1, 0)
            ((payload, body),) = message.items()
            call = channel.unary_unary(f"/buf.mcp.v1.{CALLS[payload]}").future(body, metadata=metadata)

            def done(call, identifier=identifier, payload=payload):
                if call.cancelled():
                    return
                error = call.exception()
                if error is None:
                    write(identifier, payload + 1, call.result())
                else:
                    write(identifier, ERROR, failure(call))

            call.add_done_callback(done)


main()
