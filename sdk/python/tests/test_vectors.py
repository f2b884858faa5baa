"""conformance/vectors: the codec and the reader of frames read and write the bytes of docs/envelope.md."""

from __future__ import annotations

import base64
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from protomcp import _wire
from protomcp._frames import Frame, FrameReader, Limits, Payload, Rejected, scan
from protomcp._wire import READERS, Envelope, Malformed, read_envelope, write_envelope

ROOT = Path(__file__).resolve().parents[3]
VECTORS = ROOT / "conformance/vectors"
WIDE = {"size", "total_size", "uncompressed_size", "progress", "total", "timeout_ms"}


def vectors(name: str) -> list[Any]:
    found = json.loads((VECTORS / f"{name}.json").read_text())["vectors"]
    return [pytest.param(vector, id=vector["name"]) for vector in found]


def is_wide(message: object, name: str) -> bool:
    """64-bit numbers are text in the JSON form of protobuf; the `total` of a completion has 32 bits."""
    return name in WIDE and not isinstance(message, _wire.CompletionResponse)


def to_json(message: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in message.__slots__:
        value = getattr(message, name)
        if isinstance(value, list):
            value = [item if isinstance(item, str) else to_json(item) for item in value]
        elif hasattr(value, "__slots__"):
            found[name] = to_json(value)
            continue
        elif isinstance(value, bytes):
            value = base64.b64encode(value).decode()
        elif is_wide(message, name) and value:
            value = str(value)
        if value:
            found[name] = value
    return found


def envelope_to_json(envelope: Envelope) -> dict[str, Any]:
    others = [name for name in envelope.__slots__ if name not in ("kind", "message", "context")]
    found = {name: value for name in others if (value := getattr(envelope, name))}
    if envelope.context is not None:
        found["context"] = to_json(envelope.context)
    if envelope.kind:
        found[envelope.kind] = to_json(envelope.message)
    return found


def class_of(reader: Any) -> Any:
    """The class of the messages that a reader makes: of no bytes it makes an empty one."""
    return type(reader(b"", 0, 0))


def from_json(kind: Any, value: dict[str, Any]) -> Any:
    message = kind()
    hints = inspect.signature(kind).parameters
    for name, item in value.items():
        inner = hints[name].annotation.removesuffix(" | None")
        if inner.startswith("list[") and inner != "list[str]":
            item = [from_json(getattr(_wire, inner[5:-1]), each) for each in item]
        elif hasattr(_wire, inner):
            item = from_json(getattr(_wire, inner), item)
        elif inner == "bytes":
            item = base64.b64decode(item)
        elif inner == "int":
            item = int(item)
        setattr(message, name, item)
    return message


def envelope_from_json(value: dict[str, Any]) -> Envelope:
    envelope = Envelope()
    kinds = {kind: class_of(reader) for kind, reader in READERS.values()}
    for name, item in value.items():
        if name == "context":
            envelope.context = from_json(_wire.RequestContext, item)
        elif name in kinds:
            envelope.kind, envelope.message = name, from_json(kinds[name], item)
        else:
            setattr(envelope, name, item)
    return envelope


@pytest.mark.parametrize("vector", vectors("envelopes"))
def test_envelopes(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["bytes"])
    if "malformed" in vector:
        with pytest.raises(Malformed):
            read_envelope(data, 0, len(data))
        request_id, kind = scan(data)
        assert {"request_id": request_id, "message": kind or "empty"} == vector["malformed"]
        return
    assert envelope_to_json(read_envelope(data, 0, len(data))) == vector["envelope"]
    if not vector.get("read_only"):
        written = write_envelope(envelope_from_json(vector["envelope"]))
        assert int.from_bytes(written[:4], "big") == len(written) - 4
        assert sorted(written[4:]) == sorted(data)
        assert envelope_to_json(read_envelope(written, 4, len(written))) == vector["envelope"]


def found(frame: Frame) -> dict[str, Any]:
    if isinstance(frame, Payload):
        return {"raw": to_json(frame.header), "payload": base64.b64encode(frame.data).decode()}
    if isinstance(frame, Rejected):
        about = {"request_id": frame.request_id, "message": frame.kind or "empty"}
        if frame.reason == "too_large":
            about |= {"size": str(frame.size), "unit": frame.unit}
        return {frame.reason: about}
    return {"envelope": envelope_to_json(frame)}


@pytest.mark.parametrize("vector", vectors("frames"))
@pytest.mark.parametrize("size", [1 << 20, 1, 7])
def test_frames(vector: dict[str, Any], size: int) -> None:
    data = bytes.fromhex(vector["bytes"])
    reader = FrameReader(Limits(**vector.get("limits", {})))
    frames = []
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
        while (frame := reader.next()) is not None:
            frames.append(found(frame))
    assert frames == vector["frames"]
    assert ("lost" if reader.lost else "inside" if reader.is_inside() else "between") == vector["end"]


@pytest.mark.parametrize("texts", [("[]", ""), ("é" * 200, '{"a":1}'), ("x" * 20_000, "y" * 300)])
def test_usual_results_have_the_bytes_of_all_others(texts: tuple[str, str]) -> None:
    for id in ("req-1", "r" * 200):
        response = _wire.CallToolResponse(result_json=texts[0], structured_content_json=texts[1])
        assert _wire.write_result(id, *texts) == write_envelope(Envelope("call_result", response, id))


def test_the_codec_is_what_the_proto_file_generates() -> None:
    script = ROOT / "sdk/python/scripts/generate_wire.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)
