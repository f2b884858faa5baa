"""Bytes in pieces become frames (docs/envelope.md, "Frames"); limits are checked before anything is read."""

from __future__ import annotations

from ._wire import LISTS, READERS, Envelope, Malformed, RawHeader, _varint, read_envelope

MIB = 1 << 20


class Limits:
    """The limits of a reader, in bytes; `max_entries` counts the entries of all lists in one envelope."""

    __slots__ = ("max_entries", "max_frame", "max_payload", "max_skip")

    def __init__(
        self,
        max_frame: int = 64 * MIB,
        max_payload: int = 256 * MIB,
        max_skip: int = 4096 * MIB,
        max_entries: int = 16384,
    ) -> None:
        self.max_frame = max_frame
        self.max_payload = max_payload
        self.max_skip = max_skip
        self.max_entries = max_entries


class Payload:
    """A raw header, and the bytes that follow its frame."""

    __slots__ = ("data", "header")

    def __init__(self, header: RawHeader, data: bytes) -> None:
        self.header = header
        self.data = data


class Rejected:
    """A frame that was skipped: `too_large`, `malformed` or `too_many_entries`."""

    __slots__ = ("kind", "reason", "request_id", "size", "unit")

    def __init__(self, reason: str, request_id: str, kind: str, unit: str = "envelope", size: int = 0) -> None:
        self.reason = reason
        self.request_id = request_id
        self.kind = kind
        self.unit = unit
        self.size = size


Frame = Envelope | Payload | Rejected


class FrameReader:
    """Cuts a stream into frames. After `lost` is set, the start of the next frame is unknown."""

    __slots__ = ("_at", "_buffer", "_header", "_parts", "_skip", "_small", "_wanted", "limits", "lost")

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.lost = False
        # Each entry takes two bytes at least: smaller envelopes cannot have too many.
        self._small = min(self.limits.max_frame, 2 * self.limits.max_entries)
        self._buffer = b""
        self._at = 0
        self._header: RawHeader | None = None
        self._skip: _Skip | None = None
        self._wanted = 0
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the stream. `next` then returns the frames that they complete."""
        if self._wanted:
            # A large frame: its pieces are joined once.
            self._parts.append(data)
            self._wanted -= len(data)
            if self._wanted > 0:
                return
            data = b"".join(self._parts)
            self._parts = []
            self._wanted = 0
        elif self._at < len(self._buffer):
            data = self._buffer[self._at :] + data
        self._buffer = data
        self._at = 0

    def next(self) -> Frame | None:
        """The next whole frame, or None until there are more bytes."""
        at, b = self._at + 4, self._buffer
        if at < len(b) and not (self._wanted or self._header or self._skip or self.lost):
            # A small envelope, as most are.
            size = int.from_bytes(b[at - 4 : at], "big")
            end = at + size
            if 0 < size <= self._small and end <= len(b):
                try:
                    envelope = read_envelope(b, at, end)
                except (Malformed, IndexError):
                    return self._next()
                if envelope.kind != "raw_header":
                    self._at = end
                    return envelope
        return self._next()

    def _next(self) -> Frame | None:
        while not self.lost and not self._wanted:
            if self._skip is not None:
                rejected = self._skipped(self._skip)
                if rejected is None and self._skip is not None:
                    return None
                if rejected is not None:
                    return rejected
                continue
            if self._header is not None:
                header = self._header
                payload = self._take(header.size)
                if payload is None:
                    return None
                self._header = None
                return Payload(header, payload)
            buffer, at = self._buffer, self._at
            if len(buffer) - at < 4:
                return None
            size = int.from_bytes(buffer[at : at + 4], "big")
            if size > self.limits.max_frame:
                self._at = at + 4
                self._start_skip(_Skip(size, "envelope", ""))
                continue
            end = at + 4 + size
            if end > len(buffer):
                self._wait(end)
                return None
            self._at = end
            if size:
                frame = self._envelope(buffer, at + 4, end)
                if frame is not None:
                    return frame
        return None

    def is_inside(self) -> bool:
        """True if the stream would end in the middle of a frame here."""
        rest = self._wanted or self._at < len(self._buffer)
        return bool(rest) or self._header is not None or self._skip is not None

    def _wait(self, end: int) -> None:
        """Makes `feed` collect pieces until the buffer reaches `end`."""
        if end - self._at > 1 << 16:
            self._parts = [self._buffer[self._at :]]
            self._wanted = end - len(self._buffer)
            self._buffer = b""
            self._at = 0

    def _take(self, size: int) -> bytes | None:
        end = self._at + size
        if end > len(self._buffer):
            self._wait(end)
            return None
        data = self._buffer[self._at : end]
        self._at = end
        return data

    def _envelope(self, b: bytes, i: int, end: int) -> Frame | None:
        try:
            limit = self.limits.max_entries
            if end - i > 2 * limit and _entries("Envelope", b, i, end) > limit:
                return self._refuse("too_many_entries", b[i:end])
            envelope = read_envelope(b, i, end)
        except (Malformed, IndexError):
            return self._refuse("malformed", b[i:end])
        if envelope.kind != "raw_header":
            return envelope
        header: RawHeader = envelope.message
        header.request_id = header.request_id or envelope.request_id
        if header.size > self.limits.max_payload:
            self._start_skip(_Skip(header.size, "payload", header.request_id))
        else:
            self._header = header
        return None

    def _refuse(self, reason: str, data: bytes) -> Rejected | None:
        request_id, kind = scan(data)
        if kind == "raw_header":
            self.lost = True
            return None
        return Rejected(reason, request_id, kind)

    def _start_skip(self, skip: _Skip) -> None:
        if skip.size > self.limits.max_skip:
            self.lost = True
        else:
            self._skip = skip

    def _skipped(self, skip: _Skip) -> Rejected | None:
        """Reads past the frame. The head of an envelope is kept, to name the request that has failed."""
        data = self._buffer[self._at : self._at + skip.left]
        self._at += len(data)
        skip.left -= len(data)
        if skip.unit == "envelope":
            skip.scanner.feed(data)
        if skip.left:
            return None
        self._skip = None
        request_id, kind = skip.request_id, ""
        if skip.unit == "envelope":
            request_id, kind = skip.scanner.request_id, skip.scanner.kind
        if kind == "raw_header":
            self.lost = True
            return None
        return Rejected("too_large", request_id, kind, skip.unit, skip.size)


class _Skip:
    """A frame that is read past."""

    __slots__ = ("left", "request_id", "scanner", "size", "unit")

    def __init__(self, size: int, unit: str, request_id: str) -> None:
        self.size = self.left = size
        self.unit = unit
        self.request_id = request_id
        self.scanner = _Scanner()


class _Scanner:
    """Finds the id and the kind of an envelope that is too large to keep: values are skipped as they arrive."""

    __slots__ = ("_ended", "_rest", "_skip", "kind", "request_id")

    def __init__(self) -> None:
        self.request_id = ""
        self.kind = ""
        self._rest = b""
        self._skip = 0
        self._ended = False

    def feed(self, data: bytes) -> None:
        if self._ended:
            return
        if self._skip >= len(data):
            self._skip -= len(data)
            return
        data = self._rest + data[self._skip :]
        self._skip = 0
        i = 0
        try:
            while i < len(data):
                key, at = _varint(data, i)
                wire = key & 7
                if wire == 0:
                    _, i = _varint(data, at)
                    continue
                if wire == 2:
                    size, at = _varint(data, at)
                else:
                    size = {1: 8, 5: 4}.get(wire, -1)
                    if size < 0:
                        raise Malformed("an unknown wire type")
                if key in READERS:
                    self.kind = READERS[key][0]
                if key == 114:
                    if size > 1 << 16:
                        raise Malformed("an id of this length names no request")
                    if at + size > len(data):
                        break
                    self.request_id = data[at : at + size].decode()
                i = at + size
        except IndexError:
            pass
        except ValueError:
            self._ended = True
            return
        self._skip = max(0, i - len(data))
        self._rest = data[i:]


def scan(data: bytes) -> tuple[str, str]:
    """The request id and the kind of an envelope that cannot be read, as far as they can."""
    scanner = _Scanner()
    scanner.feed(data)
    return scanner.request_id, scanner.kind


def _entries(name: str, b: bytes, i: int, end: int) -> int:
    """The number of entries of all lists in an encoded message."""
    count, known = 0, LISTS[name]
    while i < end:
        key, i = _varint(b, i)
        wire = key & 7
        if wire == 0:
            _, i = _varint(b, i)
        elif wire == 2:
            size, i = _varint(b, i)
            found = known.get(key)
            if found is not None:
                inner, is_list = found
                count += is_list
                if inner is not None:
                    count += _entries(inner, b, i, min(i + size, end))
            i += size
        else:
            i += {1: 8, 5: 4}.get(wire, end)
    return count
