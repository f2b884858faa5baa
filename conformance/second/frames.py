"""Frames of docs/envelope.md: bytes in pieces become frames, with limits that are checked first."""

from messages import KINDS, MESSAGES, Malformed, decode, encode, kind_of, read_varint

MIB = 1 << 20


class Limits:
    """The limits of a bridge; in tests some are smaller."""

    def __init__(self, max_frame=64 * MIB, max_payload=256 * MIB, max_skip=4096 * MIB, max_entries=16384):
        self.max_frame, self.max_payload = max_frame, max_payload
        self.max_skip, self.max_entries = max_skip, max_entries


class Lost(Exception):
    """The start of the next frame is unknown."""


def frame(envelope):
    """The bytes of a frame."""
    data = encode("Envelope", envelope)
    return len(data).to_bytes(4, "big") + data


def raw(header, payload):
    """The bytes of a frame with a raw header, and of its payload."""
    return frame({"raw_header": dict(header, size=len(payload))}) + payload


class Reader:
    """Splits a stream. `feed` takes any number of bytes and returns the frames that they complete, as pairs of a word
    and a value: `envelope`, `raw` (header and payload), `too_large`, `malformed` or `too_many_entries`."""

    def __init__(self, limits=None):
        self.limits = limits or Limits()
        self.buffer, self.header, self.skip, self.lost = bytearray(), None, None, False

    def feed(self, data):
        self.buffer += data
        found = []
        while not self.lost and self.step(found):
            pass
        return found

    def is_inside(self):
        """The stream has ended, or could end, in the middle of a frame."""
        return bool(self.buffer) or self.header is not None or self.skip is not None

    def take(self, size):
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def step(self, found):
        if self.skip is not None:
            return self.skip_on(found)
        if self.header is not None:
            if len(self.buffer) < self.header.get("size", 0):
                return False
            header, self.header = self.header, None
            found.append(("raw", (header, self.take(header.get("size", 0)))))
            return True
        if len(self.buffer) < 4:
            return False
        size = int.from_bytes(self.buffer[:4], "big")
        if size > self.limits.max_frame:
            self.take(4)
            self.begin_skip(size, "envelope", "")
            return True
        if len(self.buffer) < 4 + size:
            return False
        self.take(4)
        if size:
            self.envelope(self.take(size), found)
        return True

    def envelope(self, data, found):
        try:
            if entries(data) > self.limits.max_entries:
                return self.refuse(data, "too_many_entries", found)
            envelope = decode("Envelope", data)
        except Malformed:
            return self.refuse(data, "malformed", found)
        if kind_of(envelope) != "raw_header":
            return found.append(("envelope", envelope))
        header = envelope["raw_header"]
        header.setdefault("request_id", envelope.get("request_id", ""))
        if header.get("size", 0) > self.limits.max_payload:
            return self.begin_skip(header["size"], "payload", header["request_id"])
        self.header = header

    def refuse(self, data, word, found):
        request_id, kind = scan(data)
        if kind == "raw_header":
            self.lost = True
        else:
            found.append((word, {"request_id": request_id, "message": kind}))

    def begin_skip(self, size, unit, request_id):
        if size > self.limits.max_skip:
            self.lost = True
        else:
            self.skip = [size, size, unit, request_id, bytearray()]

    def skip_on(self, found):
        size, left, unit, request_id, kept = self.skip
        data = self.take(min(left, len(self.buffer)))
        if unit == "envelope":
            kept += data
        self.skip[1] = left = left - len(data)
        if left:
            return False
        self.skip, kind = None, "empty"
        if unit == "envelope":
            request_id, kind = scan(bytes(kept))
        if kind == "raw_header":
            self.lost = True
        else:
            found.append(("too_large", {"size": size, "unit": unit, "request_id": request_id, "message": kind}))
        return True


def scan(data):
    """The request id and the kind of an envelope that is not decoded, as far as they can be read."""
    request_id, kind, at = "", "empty", 0
    try:
        while at < len(data):
            key, at = read_varint(data, at)
            if key & 7 == 0:
                _, at = read_varint(data, at)
                continue
            size = {1: 8, 5: 4}.get(key & 7)
            if key & 7 == 2:
                size, at = read_varint(data, at)
            if size is None:
                break
            if key >> 3 in KINDS:
                kind = KINDS[key >> 3]
            if at + size > len(data):
                break
            if key >> 3 == 14:
                request_id = data[at : at + size].decode()
            at += size
    except (Malformed, UnicodeDecodeError):
        pass
    return request_id, kind


def entries(data, kind="Envelope"):
    """The entries of all lists in an encoded message."""
    count, at, known = 0, 0, MESSAGES[kind]
    while at < len(data):
        key, at = read_varint(data, at)
        value = b""
        if key & 7 == 0:
            _, at = read_varint(data, at)
        elif key & 7 == 2:
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            at += {1: 8, 5: 4}.get(key & 7, 0)
        _, type_ = known.get(key >> 3, ("", ""))
        if isinstance(type_, tuple):
            count, type_ = count + 1, type_[0]
        if type_ in MESSAGES:
            count += entries(value, type_)
    return count
