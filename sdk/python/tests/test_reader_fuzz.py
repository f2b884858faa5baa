"""Hostile bytes: the reader of frames finds frames or rejects them, and never fails in another way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protomcp._frames import FrameReader, Limits, scan
from protomcp._wire import Envelope, Malformed, read_envelope, write_envelope
from test_vectors import envelope_to_json, vectors

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
