#!/usr/bin/env python3
"""Runs conformance/vectors against this implementation: `vectors.py FOLDER`. The format is in README.md there."""

import base64
import json
import os
import pathlib
import socket
import sys
import threading

from frames import Limits, Reader
from messages import BYTES, MESSAGES, Malformed, decode, encode
from frames import scan
from results import Results
from tool import Process

PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))


def to_json(kind, message):
    """A message as the vectors write it: bytes in base64, 64-bit numbers as text."""

    def one(type_, value):
        if type_ in MESSAGES:
            return to_json(type_, value)
        if type_ == BYTES:
            return base64.b64encode(value).decode()
        return str(value) if type_ in ("int64", "uint64") else value

    types = {name: type_ for name, type_ in MESSAGES[kind].values()}
    return {
        name: [one(types[name][0], item) for item in value]
        if isinstance(types[name], tuple)
        else one(types[name], value)
        for name, value in message.items()
        if value or types[name] in MESSAGES
    }


def from_json(kind, value):
    """The message that the vectors write so."""

    def one(type_, value):
        if type_ in MESSAGES:
            return from_json(type_, value)
        if type_ == BYTES:
            return base64.b64decode(value)
        return int(value) if type_ in ("int64", "uint64") else value

    types = {name: type_ for name, type_ in MESSAGES[kind].values()}
    return {
        name: [one(types[name][0], each) for each in item] if isinstance(types[name], tuple) else one(types[name], item)
        for name, item in value.items()
    }


def found(frame):
    """A frame as the vectors write it."""
    word, value = frame
    if word == "envelope":
        return {"envelope": to_json("Envelope", value)}
    if word == "raw":
        return {"raw": to_json("RawHeader", value[0]), "payload": base64.b64encode(value[1]).decode()}
    return {word: value | {"size": str(value["size"])} if "size" in value else value}


def equal(got, wanted):
    if got != wanted:
        raise AssertionError(f"\n  got    {got}\n  wanted {wanted}")


def envelope(vector):
    data = bytes.fromhex(vector["bytes"])
    if "malformed" in vector:
        try:
            got = decode("Envelope", data)
        except Malformed:
            request_id, message = scan(data)
            return equal({"request_id": request_id, "message": message}, vector["malformed"])
        raise AssertionError(f"it was read as {got}")
    equal(to_json("Envelope", decode("Envelope", data)), vector["envelope"])
    if not vector.get("read_only"):
        equal(encode("Envelope", from_json("Envelope", vector["envelope"])).hex(), vector["bytes"])


def stream(vector):
    data = bytes.fromhex(vector["bytes"])
    for size in (len(data) or 1, 1, 7):
        reader, frames = Reader(Limits(**vector.get("limits", {}))), []
        for at in range(0, len(data), size):
            frames += reader.feed(data[at : at + size])
        equal([found(frame) for frame in frames], vector["frames"])
        equal("lost" if reader.lost else "inside" if reader.is_inside() else "between", vector["end"])


def result(vector):
    limits = Limits(**vector.get("limits", {}))
    reader, results = Reader(limits), Results(["req-0", "req-1"], limits)
    for word, value in reader.feed(bytes.fromhex(vector["bytes"])):
        results.frame(word, value)
    for call, wanted in vector["results"].items():
        outcome = results.outcomes[call]
        if outcome and "result" in outcome:
            outcome = {"result": to_json("CallToolResponse", outcome["result"])}
        equal(outcome, wanted)


def conversation(vector):
    """The process of this folder answers the bridge of the vector."""
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    process = threading.Thread(target=lambda: (Process(theirs).run(), theirs.close()), daemon=True)
    process.start()
    reader, waiting = Reader(), []
    for number, step in enumerate(vector["steps"]):
        if step["from"] == "bridge":
            ours.sendall(bytes.fromhex(step["bytes"]))
            continue
        while not waiting:
            data = ours.recv(1 << 16)
            if not data:
                raise AssertionError(f"step {number}: the process hung up")
            waiting += reader.feed(data)
        wanted = {name: value for name, value in step.items() if name not in ("from", "bytes")}
        equal(found(waiting.pop(0)), wanted)
    ours.shutdown(socket.SHUT_WR)
    while data := ours.recv(1 << 16):
        waiting += reader.feed(data)
    # A tool that was running may log that it was stopped.
    equal([found(frame) for frame in waiting if "log" not in frame[1]], [])
    process.join(PATIENCE)
    equal(process.is_alive(), False)


KINDS = {"envelopes": envelope, "frames": stream, "results": result, "conversations": conversation}


def main(folder):
    failed = passed = 0
    for name, check in KINDS.items():
        for vector in json.loads((folder / f"{name}.json").read_text())["vectors"]:
            try:
                check(vector)
                passed += 1
            except Exception as error:  # noqa: BLE001: every failure is reported with its vector
                failed += 1
                print(f"{name}: {vector['name']}: {type(error).__name__} {error}")
    print(f"{passed} vectors pass, {failed} fail")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
