"""A client of proto-mcp over gRPC, on the official Python packages: nothing of it comes from this project but the .proto
file, of which the stubs are made here.

Usage: grpc_client.py PROTO_FOLDER STUBS TARGET STEPS [AUTHORITY]
       (the folder of the proto files; a folder for the stubs; host:port; the steps as JSON; the PEM file of an authority)
Takes one step after another, and prints the outcomes as a JSON list. A step is one of
    {"rpc": NAME, "request": {..}, "arguments": {..}, "metadata": {..}, "timeout": SECONDS, "cancel": FILE}
    {"pages": NAME, "request": {..}}           all pages of a list
    {"stream": NAME, ..}                       all events of a call, whose other members are as above
    {"listen": [URI, ..]}                      the first notice
    {"health": "Check" | "List" | "Watch", "service": NAME, "metadata": {..}}
    {"reflection": "services" | SYMBOL}
"""

import base64
import json
import os
import sys
import time

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory, struct_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_tools import protoc

PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))
folder, stubs, target, steps = sys.argv[1:5]
well_known = protoc.__file__.rsplit("/", 1)[0] + "/_proto"
made = protoc.main(
    ["", f"-I{folder}", f"-I{well_known}", f"--python_out={stubs}", f"--grpc_python_out={stubs}", "buf/mcp/v1/mcp.proto"]
)
assert made == 0, "the stubs cannot be made"
sys.path.insert(0, stubs)
from buf.mcp.v1 import mcp_pb2, mcp_pb2_grpc  # noqa: E402

# Lists may be larger than the 4 MiB that clients take by default.
options = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]
if len(sys.argv) > 5:
    with open(sys.argv[5], "rb") as file:
        channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(file.read()), options)
else:
    channel = grpc.insecure_channel(target, options)
service = mcp_pb2_grpc.MCPServiceStub(channel)
streams = mcp_pb2_grpc.MCPStreamsStub(channel)
health = health_pb2_grpc.HealthStub(channel)
REQUESTS = {
    "Initialize": mcp_pb2.InitializeRequest,
    "ListTools": mcp_pb2.ListToolsRequest,
    "CallTool": mcp_pb2.CallToolRequest,
    "ListResources": mcp_pb2.ListResourcesRequest,
    "ReadResource": mcp_pb2.ReadResourceRequest,
}


def shown(message):
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def refused(error):
    trailers = error.trailing_metadata() or ()
    seen = {"code": error.code().name, "message": error.details()}
    for key, value in trailers:
        seen[key] = base64.b64encode(value).decode() if isinstance(value, bytes) else value
    return seen


INPUTS = {}


def input_of(name, step):
    """The class of a tool's arguments, by its inline schema."""
    if not INPUTS and step.get("rpc"):
        metadata = tuple(step.get("metadata", {}).items())
        pool, listed = descriptor_pool.Default(), mcp_pb2.ListToolsRequest(include_schemas=True)
        known = {"google/protobuf/struct.proto"}
        while True:
            try:
                page = service.ListTools(listed, timeout=PATIENCE, metadata=metadata)
            except grpc.RpcError:
                # The call itself shows why.
                break
            for tool in page.tools:
                for file in tool.inline_schema.file:
                    if file.name not in known:
                        known.add(file.name)
                        pool.Add(file)
                found = pool.FindMessageTypeByName(tool.metadata["input_type"])
                INPUTS[tool.name] = message_factory.GetMessageClass(found)
            if not page.next_cursor:
                break
            listed.cursor = page.next_cursor
    return INPUTS.get(name, struct_pb2.Struct)


def request_of(step):
    request = REQUESTS[step.get("rpc") or step["pages"]]()
    json_format.ParseDict(step.get("request", {}), request)
    if "arguments" in step:
        request.arguments.Pack(json_format.ParseDict(step["arguments"], input_of(request.name, step)()))
    return request


def cancel(step, future):
    if "cancel" in step:
        until = time.monotonic() + PATIENCE
        while not os.path.exists(step["cancel"]) and time.monotonic() < until:
            time.sleep(0.02)
        future.cancel()


def stream(step):
    metadata = tuple(step.get("metadata", {}).items())
    request = request_of({**step, "rpc": "CallTool"})
    events = getattr(streams, step["stream"])(request, timeout=step.get("timeout", PATIENCE), metadata=metadata)
    cancel(step, events)
    return {"events": [shown(event) for event in events]}


def listen(step):
    notices = streams.Listen(mcp_pb2.ListenRequest(uris=step["listen"]), timeout=PATIENCE)
    first = shown(next(notices))
    notices.cancel()
    return first


def call(step):
    method = getattr(service, step["rpc"])
    metadata = tuple(step.get("metadata", {}).items())
    future = method.future(request_of(step), timeout=step.get("timeout", PATIENCE), metadata=metadata)
    cancel(step, future)
    response = future.result()
    seen = {"response": shown(response), "bytes": response.ByteSize()}
    for tool in seen["response"].get("tools", []):
        # The names of the files say enough.
        files = tool.get("inline_schema", {}).get("file", [])
        tool["inline_schema"] = [file["name"] for file in files]
    return seen


def pages(step):
    request, seen = request_of(step), []
    while True:
        page = getattr(service, step["pages"])(request, timeout=PATIENCE)
        seen.append({"bytes": page.ByteSize(), "names": [entry.name for entry in list(page.tools)]})
        if not page.next_cursor:
            return {"pages": seen}
        request.cursor = page.next_cursor


def check(step):
    metadata = tuple(step.get("metadata", {}).items())
    asked = health_pb2.HealthCheckRequest(service=step.get("service", ""))
    if step["health"] == "Check":
        return shown(health.Check(asked, timeout=PATIENCE, metadata=metadata))
    if step["health"] == "List":
        return shown(health.List(health_pb2.HealthListRequest(), timeout=PATIENCE, metadata=metadata))
    watch = health.Watch(asked, timeout=PATIENCE, metadata=metadata)
    first = shown(next(watch))
    watch.cancel()
    return first


def reflect(step):
    database = ProtoReflectionDescriptorDatabase(channel)
    if step["reflection"] == "services":
        return {"services": list(database.get_services())}
    pool = descriptor_pool.DescriptorPool(database)
    found = pool.FindServiceByName(step["reflection"])
    return {"methods": [method.name for method in found.methods], "input": found.methods[2].input_type.full_name}


def take(step):
    try:
        if "rpc" in step:
            return call(step)
        if "pages" in step:
            return pages(step)
        if "stream" in step:
            return stream(step)
        if "listen" in step:
            return listen(step)
        if "health" in step:
            return check(step)
        return reflect(step)
    except grpc.FutureCancelledError:
        return {"code": "CANCELLED"}
    except grpc.RpcError as error:
        return refused(error)


print(json.dumps([take(step) for step in json.loads(steps)]))
