#!/usr/bin/env python3
"""Writes the golden frames that the codec is tested against, with protobuf code that is not ours.

  .peers/py/bin/python scripts/golden-envelopes.py published   frames made by the published Python SDK's own code
  .peers/py/bin/python scripts/golden-envelopes.py extended    frames made by the Python runtime of protobuf from what
                                                               protoc reads in proto/protomcp.proto
  .peers/py/bin/python scripts/golden-envelopes.py check       the published SDK reads the extended frames and sees
                                                               in them what it knows

Each message is written once with every field set; which value a field gets follows from its name, see `value`. The files
are crates/codec/tests/vectors/{published,extended}.txt, one frame per line: a name, a space, the bytes in hexadecimal.
"""

import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VECTORS = ROOT / "crates" / "codec" / "tests" / "vectors"


def fill(message):
    """Gives every field a value that is not its default."""
    for field in message.DESCRIPTOR.fields:
        if field.containing_oneof:
            continue
        if field.message_type and field.is_repeated:
            # One that is full and one that is empty.
            fill(getattr(message, field.name).add())
            getattr(message, field.name).add()
        elif field.message_type:
            fill(getattr(message, field.name))
        elif field.is_repeated:
            getattr(message, field.name).extend([value(field), value(field) + " again"])
        else:
            setattr(message, field.name, value(field))
    return message


def value(field):
    """Large enough to need every byte of its type, and different for each field of a message."""
    name = f"{field.containing_type.name}.{field.name} é"
    kinds = {
        field.TYPE_STRING: name,
        field.TYPE_BYTES: b"\x00\xff" + name.encode(),
        field.TYPE_BOOL: True,
        field.TYPE_INT32: -(2**30) - field.number,
        field.TYPE_INT64: -(2**62) - field.number,
        field.TYPE_UINT32: 2**31 + field.number,
        field.TYPE_UINT64: 2**63 + field.number,
    }
    return kinds[field.type]


def envelopes(pb):
    """One envelope per message, in the order of their numbers. A raw header needs a payload, so it is not among them."""
    members = sorted(pb.Envelope.DESCRIPTOR.oneofs[0].fields, key=lambda field: field.number)
    for member in members:
        if member.name == "raw_header":
            continue
        envelope = pb.Envelope()
        getattr(envelope, member.name).SetInParent()
        fill(getattr(envelope, member.name))
        yield member.name, fill(envelope)


def write(file, head, lines):
    text = "".join(f"# {line}\n" for line in head) + "".join(f"{name} {data.hex()}\n" for name, data in lines)
    (VECTORS / file).write_text(text)
    print(f"wrote {len(lines)} frames to {VECTORS / file}")


def published():
    """Lets the SDK's transport write into a socket, so that framing and sideband are its own, too."""
    import protomcp.protomcp_pb2 as pb
    from protomcp.transport import Transport

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(1)
        transport = Transport(path)
        transport.connect()
        reader, _ = listener.accept()

        def written(send):
            send()
            reader.setblocking(False)
            data = b""
            try:
                while piece := reader.recv(1 << 20):
                    data += piece
            except BlockingIOError:
                return data

        lines = []
        for name, envelope in envelopes(pb):
            lines.append((name, written(lambda: transport.send(envelope))))
        text = '[{"type":"text","text":"héllo"}]'.encode()
        large = b'"' + b"0123456789" * 7000 + b'"'
        lines.append(("raw_plain", written(lambda: transport.send_raw("c1", "result_json", text))))
        lines.append(("raw_zstd", written(lambda: transport.send_raw("c2", "result_json", large))))
        lines.append(("chunked", written(lambda: transport.send_chunked("c3", "result_json", text, 10))))
    head = ["Written by scripts/golden-envelopes.py with the published Python SDK 0.3.1."]
    write("published.txt", head, lines)


def extended():
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    with tempfile.NamedTemporaryFile() as out:
        arguments = ["protoc", f"--proto_path={ROOT / 'proto'}", f"--descriptor_set_out={out.name}", "protomcp.proto"]
        subprocess.run(arguments, check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)

    class Pb:
        Envelope = message_factory.GetMessageClass(pool.FindMessageTypeByName("protomcp.Envelope"))

    lines = []
    for name, envelope in envelopes(Pb):
        data = envelope.SerializeToString()
        lines.append((name, struct.pack(">I", len(data)) + data))
    head = ["Written by scripts/golden-envelopes.py with protoc and the Python runtime of protobuf."]
    write("extended.txt", head, lines)


def check():
    """An SDK that does not know the extension reads a frame as if the extension's fields were not there."""
    import protomcp.protomcp_pb2 as pb

    known = dict(envelopes(pb))
    for line in (VECTORS / "extended.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, data = line.split(" ")
        envelope = pb.Envelope.FromString(bytes.fromhex(data)[4:])
        if name in known:
            envelope.DiscardUnknownFields()
            assert envelope == known[name], name
        else:
            assert envelope.WhichOneof("msg") is None, name
    print("the published SDK reads all of them")


if __name__ == "__main__":
    commands = {"published": published, "extended": extended, "check": check}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    VECTORS.mkdir(parents=True, exist_ok=True)
    commands[sys.argv[1]]()
