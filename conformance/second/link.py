"""The process's end of the link: requests in, answers out (docs/envelope.md)."""

import json
import os
import queue
import threading
from itertools import count

from frames import Limits, Reader, frame, raw
from messages import kind_of
from results import deflate_zstd

THRESHOLD = 65536


class Cancelled(Exception):
    """The caller no longer wants the result."""


class Refused(Exception):
    """The bridge has answered a question with an error."""


def threshold(name):
    try:
        return int(os.environ.get(name, ""))
    except ValueError:
        return THRESHOLD


class Link:
    """Writes whole frames from any thread, and gives the answers of the bridge to those who wait for them."""

    def __init__(self, stream):
        self.stream, self.lock = stream, threading.Lock()
        self.reader, self.features = Reader(Limits()), set()
        self.answers, self.calls, self.ids = {}, {}, count(1)
        self.raw_above = threshold("PROTOMCP_CHUNK_THRESHOLD")
        self.compress_above = threshold("PROTOMCP_COMPRESS_THRESHOLD")

    def write(self, data):
        with self.lock:
            self.stream.sendall(data)

    def send(self, kind, message, request_id="", for_call=""):
        envelope = {kind: message}
        if request_id:
            envelope["request_id"] = request_id
        if for_call and "for-call" in self.features:
            envelope["for_call"] = for_call
        self.write(frame(envelope))

    def envelopes(self):
        """The envelopes of the bridge, until it closes the socket. Those that are refused have no effect."""
        while data := self.stream.recv(1 << 16):
            for word, value in self.reader.feed(data):
                if word == "envelope" and kind_of(value) != "empty":
                    yield value

    def result(self, call, result):
        """The result of a call, in the encoding that suits its size and the bridge."""
        text = result.get("result_json", "").encode()
        rest = {name: value for name, value in result.items() if name != "result_json"}
        if len(text) <= self.raw_above or rest and "raw-with-result" not in self.features:
            return self.send("call_result", result, call)
        header = {"request_id": call, "field_name": "result_json"}
        if len(text) > self.compress_above:
            packed = deflate_zstd(text)
            if len(packed) < len(text):
                header |= {"compression": "zstd", "uncompressed_size": len(text)}
                text = packed
        if rest:
            header["followed_by_result"] = True
        self.write(raw(header, text))
        if rest:
            self.send("call_result", rest, call)

    def chunked(self, call, result_json, size):
        """The same result in chunks."""
        data = result_json.encode()
        self.send("stream_header", {"field_name": "result_json", "total_size": len(data), "chunk_size": size}, call)
        for at in range(0, len(data), size):
            chunk = {"data": data[at : at + size]}
            if at + size >= len(data):
                chunk["final"] = True
            self.send("stream_chunk", chunk, call)

    def ask(self, kind, message, for_call):
        """Sends a request of the process and waits for its answer."""
        request_id, box = f"ask-{next(self.ids)}", queue.Queue()
        self.answers[request_id] = box
        self.send(kind, message, request_id, for_call)
        try:
            return box.get(timeout=600)
        finally:
            del self.answers[request_id]

    def answered(self, envelope):
        """Hands an answer of the bridge to its waiter; unknown ids are ignored."""
        box = self.answers.get(envelope.get("request_id", ""))
        if box:
            box.put(envelope[kind_of(envelope)])


class Call:
    """One call, as its tool sees it."""

    def __init__(self, link, request_id, request, context):
        self.link, self.id, self.request, self.context = link, request_id, request, context
        self.token, self.cancelled = request.get("progress_token", ""), threading.Event()

    @property
    def arguments(self):
        return json.loads(self.request.get("arguments_json", "{}"))

    @property
    def meta(self):
        return json.loads(self.request.get("metadata_json", "{}"))

    def progress(self, done, total, message):
        if self.cancelled.is_set():
            raise Cancelled
        if self.token:
            report = {"progress_token": self.token, "progress": done, "total": total, "message": message}
            self.link.send("progress", {name: value for name, value in report.items() if value})

    def ask(self, kind, message):
        answer = self.link.ask(kind, message, self.id)
        if answer.get("error"):
            raise Refused(answer["error"] if isinstance(answer["error"], str) else answer["error"].get("message", ""))
        return answer

    def log(self, level, data):
        self.link.send("log", {"level": level, "logger": "second", "data_json": json.dumps(data)}, for_call=self.id)
