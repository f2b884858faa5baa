"""Hostile bytes: the reader of frames finds frames or rejects them, and never fails in another way."""

from __future__ import annotations

import inspect
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from protomcp import AsyncContext, middleware, prompt, resource_template, tool
from protomcp._frames import FrameReader, Limits, scan
from protomcp._wire import READERS, Envelope, Malformed, read_envelope, write_envelope
from protomcp.testing import Harness
from test_vectors import class_of, envelope_to_json, vectors

SEEDS = [bytes.fromhex(each.values[0]["bytes"]) for name in ("envelopes", "frames") for each in vectors(name)]


@given(st.binary(max_size=200))
def test_any_bytes_are_an_envelope_or_malformed(data: bytes) -> None:
    try:
        envelope = read_envelope(data, 0, len(data))
    except Malformed:
        scan(data)
        return
    again = write_envelope(envelope)
    assert envelope_to_json(read_envelope(again, 4, len(again))) == envelope_to_json(envelope)


@given(st.sampled_from(SEEDS), st.integers(0, 400), st.integers(0, 255), st.integers(0, 400))
def test_damaged_vectors_are_read_or_malformed(seed: bytes, at: int, byte: int, end: int) -> None:
    data = bytearray(seed)
    if data:
        data[at % len(data)] = byte
    data = data[: end or None]
    try:
        read_envelope(bytes(data), 0, len(data))
    except Malformed:
        scan(bytes(data))


@given(st.lists(st.binary(max_size=60), max_size=12), st.integers(1, 50), st.integers(1, 3))
def test_streams_give_the_same_frames_in_any_pieces(pieces: list[bytes], size: int, entries: int) -> None:
    limits = Limits(max_frame=40, max_payload=30, max_skip=10_000, max_entries=entries)
    stream = b"".join(len(piece).to_bytes(4, "big") + piece for piece in pieces)

    def read(chunk: int) -> list[object]:
        reader, found = FrameReader(limits), list[object]()
        for at in range(0, len(stream), chunk):
            reader.feed(stream[at : at + chunk])
            while (frame := reader.next()) is not None:
                found.append(envelope_to_json(frame) if isinstance(frame, Envelope) else type(frame).__name__)
        return [*found, reader.lost, reader.is_inside()]

    assert read(size) == read(len(stream) + 1)


@given(st.binary(min_size=0, max_size=3))
def test_large_frames_arrive_in_pieces(tail: bytes) -> None:
    text = "x" * 300_000
    from protomcp._wire import LogMessage

    frame = write_envelope(Envelope("log", LogMessage(data_json=text)))
    reader = FrameReader()
    for at in range(0, len(frame), 65536):
        assert reader.next() is None
        reader.feed(frame[at : at + 65536])
    found = reader.next()
    assert isinstance(found, Envelope) and found.message.data_json == text
    reader.feed(tail)
    assert reader.next() is None and reader.is_inside() == bool(tail)


WORDS = st.sampled_from(["", "a", "plain", "later", "{}", "[1]", "{", "before", "req-1", '{"a":1}', "\0", "ß" * 40])
CLASSES = {kind: class_of(reader) for kind, reader in READERS.values()}


def values(kind: str) -> st.SearchStrategy[Any]:
    """Messages of a kind, with fields that are likely to mean something."""
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for name, parameter in inspect.signature(CLASSES[kind]).parameters.items():
        match parameter.annotation:
            case "str":
                fields[name] = WORDS
            case "int":
                fields[name] = st.integers(0, 2**31 - 1)
            case "bool":
                fields[name] = st.booleans()
            case "bytes":
                fields[name] = st.binary(max_size=20)
            case "list[str]":
                fields[name] = st.lists(WORDS, max_size=3)
    return st.builds(CLASSES[kind], **fields)


def envelopes() -> st.SearchStrategy[Envelope]:
    # The bytes behind this one are a payload.
    kinds = st.sampled_from(sorted(CLASSES.keys() - {"raw_header"}))
    return kinds.flatmap(lambda kind: st.builds(Envelope, st.just(kind), values(kind), WORDS))


def test_no_envelope_ends_a_session() -> None:
    """Plain, async and asking handlers go on after any envelope, and pings are answered."""

    @tool
    def plain(a: int = 0) -> int:
        return a

    @tool
    async def later(ctx: AsyncContext) -> str:
        return "" if await ctx.ask("?", {"type": "object"}) else "declined"

    resource_template("{+a}")(lambda a: a)
    prompt(name="a")(lambda: "a")
    middleware("a")(lambda *given: {"reject": "a"})
    with Harness(ask=lambda *_: None) as tools:

        @given(st.lists(envelopes(), max_size=20))
        @settings(deadline=None, phases=[Phase.generate])
        def session(sent: list[Envelope]) -> None:
            for each in sent:
                tools._send(each)
            tools.ping()

        session()
        assert tools.call("plain", a=2).text == "2"
