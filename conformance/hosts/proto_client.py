"""A client of proto-mcp on Google's protobuf runtime: nothing of it comes from this project but the .proto file.

Usage: proto_client.py DESCRIPTORS CALLS COMMAND...
       (the descriptor set of mcp.proto; a JSON object of tools and arguments, null for none; the server to start)
Starts the server, lists its tools, calls the tools of CALLS concurrently, and prints what it sees as one JSON object.
"""

import json
import struct
import subprocess
import sys

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, json_format, message_factory, struct_pb2


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.Default()
    # The runtime has them as soon as they are imported.
    known = {module.DESCRIPTOR.name for module in (any_pb2, descriptor_pb2, struct_pb2)}
    for file in descriptors.file:
        if file.name not in known:
            pool.Add(file)
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName("buf.mcp.v1.MCPMessage"))
    server = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(request) -> None:
        body = request.SerializeToString()
        server.stdin.write(struct.pack(">I", len(body)) + body)
        server.stdin.flush()

    def receive():
        head = server.stdout.read(4)
        if len(head) < 4:
            server.stdin.close()
            sys.exit(f"the server ended with {server.wait()} and {head!r} instead of an answer")
        (length,) = struct.unpack(">I", head)
        return message.FromString(server.stdout.read(length))

    first = message(id=1)
    first.initialize_request.protocol_version = "1.0.0"
    first.initialize_request.capabilities.encodings.append("protobuf")
    send(first)
    seen = {"version": receive().initialize_response.protocol_version}

    second = message(id=2)
    second.list_tools_request.include_schemas = True
    send(second)
    tools = receive().list_tools_response.tools
    seen["tools"] = [tool.name for tool in tools]
    seen["files"] = sorted({file.name for tool in tools for file in tool.inline_schema.file})
    seen["types"] = sorted({tool.metadata["input_type"] for tool in tools})

    # All tools share one pool: their files and messages have their own names.
    inputs = {}
    for tool in tools:
        for file in tool.inline_schema.file:
            if file.name not in known:
                pool.Add(file)
                known.add(file.name)
        inputs[tool.name] = message_factory.GetMessageClass(pool.FindMessageTypeByName(tool.metadata["input_type"]))

    calls = json.loads(sys.argv[2])
    for number, (name, arguments) in enumerate(calls.items(), 3):
        call = message(id=number)
        call.call_tool_request.name = name
        if arguments is not None:
            packed = json_format.ParseDict(arguments, inputs[name]())
            call.call_tool_request.arguments.Pack(packed)
        send(call)
    answers = sorted((receive() for _ in calls), key=lambda answer: answer.id)
    seen["answers"] = {
        name: json_format.MessageToDict(answer.call_tool_response) for name, answer in zip(calls, answers)
    }
    for answer in seen["answers"].values():
        answer.pop("metadata", None)

    server.stdin.close()
    seen["rest"] = server.stdout.read().hex()
    seen["exit"] = server.wait()
    print(json.dumps(seen))


main()
