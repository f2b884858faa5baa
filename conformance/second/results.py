"""The results of calls, put together from frames as a bridge does (docs/envelope.md, "Large results")."""

FIELDS = ("result_json", "structured_content_json")


class Unusable(Exception):
    """A payload cannot be used."""


class Results:
    """The calls that wait, and the outcome of each that has ended: `result`, `task` or `error`."""

    def __init__(self, calls, limits):
        self.outcomes, self.limits = dict.fromkeys(calls), limits
        self.chunks, self.payloads = {}, {}

    def waits(self, call):
        return call in self.outcomes and self.outcomes[call] is None

    def end(self, call, **outcome):
        self.chunks.pop(call, None)
        self.payloads.pop(call, None)
        self.outcomes[call] = outcome

    def frame(self, word, value):
        if word == "envelope":
            self.envelope(value)
        elif word == "raw":
            self.raw(*value)
        elif self.waits(value["request_id"]):
            self.end(value["request_id"], error=word)

    def envelope(self, envelope):
        call = envelope.get("request_id", "")
        if not self.waits(call):
            return
        if "stream_header" in envelope:
            field = envelope["stream_header"].get("field_name", "")
            if field in FIELDS:
                self.chunks[call] = (field, bytearray())
            else:
                self.end(call, error="unknown_field")
        elif "stream_chunk" in envelope and call in self.chunks:
            field, data = self.chunks[call]
            data += envelope["stream_chunk"].get("data", b"")
            if len(data) > self.limits.max_payload:
                self.end(call, error="too_large")
            elif envelope["stream_chunk"].get("final"):
                self.finish(call, {}, {field: bytes(data)})
        elif "create_task" in envelope:
            self.end(call, task=envelope["create_task"].get("task_id", ""))
        elif "call_result" in envelope:
            self.finish(call, envelope["call_result"], self.payloads.pop(call, {}))

    def raw(self, header, payload):
        call, field = header.get("request_id", ""), header.get("field_name", "")
        if not self.waits(call):
            return
        try:
            if field not in FIELDS:
                return self.end(call, error="unknown_field")
            payload = self.inflate(header, payload)
        except Unusable:
            return self.end(call, error="payload")
        if header.get("followed_by_result"):
            self.payloads.setdefault(call, {})[field] = payload
        else:
            self.finish(call, {}, self.payloads.pop(call, {}) | {field: payload})

    def finish(self, call, result, payloads):
        texts = {field: data.decode(errors="replace") for field, data in payloads.items()}
        self.end(call, result={name: value for name, value in (result | texts).items() if value})

    def inflate(self, header, payload):
        compression, declared = header.get("compression", ""), header.get("uncompressed_size", 0)
        if not compression:
            return payload
        if compression != "zstd" or declared > self.limits.max_payload:
            raise Unusable
        data = inflate_zstd(payload, declared or self.limits.max_payload)
        if declared and len(data) != declared:
            raise Unusable
        return data


def inflate_zstd(data, limit):
    """Frames of zstd (RFC 8878) whose blocks are stored or one repeated byte; a compressed block is refused."""
    out, at = bytearray(), 0
    while at < len(data) or not data:
        if data[at : at + 4] != b"\x28\xb5\x2f\xfd" or at + 5 > len(data):
            raise Unusable
        descriptor = data[at + 4]
        single, size = descriptor >> 5 & 1, descriptor >> 6
        at += 5 + (not single) + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[size]
        last = False
        while not last:
            header = int.from_bytes(data[at : at + 3], "little")
            last, kind, length = header & 1, header >> 1 & 3, header >> 3
            taken = 1 if kind == 1 else length
            if kind > 1 or at + 3 + taken > len(data) or len(out) + length > limit:
                raise Unusable
            block = data[at + 3 : at + 3 + taken]
            out += block * length if kind == 1 else block
            at += 3 + taken
        at += 4 * (descriptor >> 2 & 1)
        if at > len(data):
            raise Unusable
    return bytes(out)


def deflate_zstd(data):
    """One frame of zstd, without a content size: runs of 64 and more equal bytes are shortened, the rest is stored."""
    out, at = bytearray(b"\x28\xb5\x2f\xfd\x00\x38"), 0
    blocks = []
    while at < len(data):
        run = 1
        while at + run < len(data) and data[at + run] == data[at] and run < 1 << 17:
            run += 1
        if run >= 64:
            blocks.append([1, run, data[at : at + 1]])
        elif blocks and blocks[-1][0] == 0 and blocks[-1][1] + run <= 1 << 17:
            blocks[-1][1] += run
            blocks[-1][2] += data[at : at + run]
        else:
            blocks.append([0, run, data[at : at + run]])
        at += run
    for place, (kind, size, block) in enumerate(blocks or [[0, 0, b""]]):
        out += (size << 3 | kind << 1 | (place + 1 >= len(blocks))).to_bytes(3, "little") + block
    return bytes(out)
