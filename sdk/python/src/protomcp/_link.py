"""The connection to the bridge: whole frames from any thread, and answers for those who wait for them."""

from __future__ import annotations

import os
import threading
import time

from ._json import mended
from ._typing import TYPE_CHECKING
from ._wire import CallToolResponse, Envelope, RawHeader, write_envelope, write_result

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    Deliver = Callable[[Envelope | None], None]
    """Takes the answer to a request, or None if the link has ended."""

    class Stream(Protocol):
        """The part of a socket that the link writes to."""

        def sendall(self, data: bytes, /) -> None: ...


THRESHOLD = 65536
"""Bytes of a `result_json` above which it is sent apart, without PROTOMCP_CHUNK_THRESHOLD."""

HELD = 1 << 16
"""Bytes of answers that wait for each other."""
PATIENCE = 0.0005
"""Seconds after which an answer waits for no other."""


class Link:
    """Writes to the bridge. `features` come from `bridge_info`."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._write = threading.Lock()
        self._waiting: dict[str, Deliver] = {}
        self._lock = threading.Lock()
        self._last = 0
        self._has_ended = False
        # Answers of the thread that reads, which go out together.
        self._held: list[bytes] = []
        self._held_size = 0
        self._held_since = 0.0
        self._holder = 0
        self._on_hold: Callable[[], None] = lambda: None
        self._raw_above = _threshold("PROTOMCP_CHUNK_THRESHOLD")
        self.features: frozenset[str] = frozenset()

    def send(self, envelope: Envelope) -> None:
        """Writes one frame. After the end of the link it does nothing: the reader notices."""
        if envelope.for_call and "for-call" not in self.features:
            envelope.for_call = ""
        self._send_bytes(_written(envelope))

    def hold(self, on_hold: Callable[[], None] = lambda: None) -> None:
        """From now on answers of this thread wait for `flush`, or for another frame: one write costs less than many.

        They wait no longer than until the next answer that comes `PATIENCE` later. `on_hold` is called when one begins
        to wait.
        """
        self._holder = threading.get_ident()
        self._on_hold = on_hold

    def flush(self) -> None:
        """Writes what waits."""
        if self._held:
            self._send_bytes()

    def respond_text(self, request_id: str, result_json: str, structured_json: str = "") -> None:
        """Answers a call with a result that has nothing else."""
        if (len(result_json) + len(structured_json)) * 4 > self._raw_above:
            response = CallToolResponse(result_json=result_json, structured_content_json=structured_json)
            self.respond(request_id, response)
        else:
            self._answer(write_result(request_id, result_json, structured_json))

    def respond(self, request_id: str, response: CallToolResponse) -> None:
        """Answers a call, with a large text outside the envelope."""
        text = response.result_json
        if len(text) * 4 <= self._raw_above or not self._is_raw(text, response):
            self._answer(_written(Envelope("call_result", response, request_id)))
            return
        data = text.encode()
        response.result_json = ""
        rest = _written(Envelope("call_result", response, request_id))
        is_alone = not _has_more(response)
        header = RawHeader(request_id, "result_json", len(data), followed_by_result=not is_alone)
        head = write_envelope(Envelope("raw_header", header))
        # The payload stands behind its header; other frames may come before the rest.
        self._send_bytes(head, data, b"" if is_alone else rest)

    def _is_raw(self, text: str, response: CallToolResponse) -> bool:
        if len(text) <= self._raw_above and len(text.encode()) <= self._raw_above:
            return False
        return "raw-with-result" in self.features or not _has_more(response)

    def _answer(self, data: bytes) -> None:
        if threading.get_ident() != self._holder:
            self._send_bytes(data)
            return
        now = time.monotonic()
        with self._write:
            is_first = not self._held
            if is_first:
                self._held_since = now
            self._held.append(data)
            self._held_size += len(data)
            is_due = self._held_size > HELD or now - self._held_since > PATIENCE
        if is_due:
            self._send_bytes()
        elif is_first:
            self._on_hold()

    def _send_bytes(self, *parts: bytes) -> None:
        """Writes the bytes behind those that wait."""
        try:
            with self._write:
                if self._held:
                    first = parts[0] if parts else b""
                    parts = (b"".join([*self._held, first]), *parts[1:])
                    self._held.clear()
                    self._held_size = 0
                for data in parts:
                    if data:
                        self._stream.sendall(data)
        except OSError:
            # The bridge has closed the socket; the reader of the socket ends the process.
            return

    def ask(self, envelopes: list[Envelope], delivers: list[Deliver]) -> list[str]:
        """Sends requests of this process. Each answer goes to its function, on the thread that reads."""
        ids = []
        with self._lock:
            for envelope, deliver in zip(envelopes, delivers, strict=True):
                self._last += 1
                envelope.request_id = f"py-{self._last}"
                ids.append(envelope.request_id)
                if not self._has_ended:
                    self._waiting[envelope.request_id] = deliver
            has_ended = self._has_ended
        if has_ended:
            for deliver in delivers:
                deliver(None)
        else:
            for envelope in envelopes:
                self.send(envelope)
        return ids

    def forget(self, request_id: str) -> None:
        """The answer is no longer wanted."""
        with self._lock:
            self._waiting.pop(request_id, None)

    def deliver(self, envelope: Envelope) -> None:
        """Gives an answer to the function that waits for it. Unknown ids are ignored."""
        with self._lock:
            deliver = self._waiting.pop(envelope.request_id, None)
        if deliver is not None:
            deliver(envelope)

    def end(self) -> None:
        """Tells all who wait that there is no answer."""
        with self._lock:
            self._has_ended = True
            waiting, self._waiting = self._waiting, {}
        for deliver in waiting.values():
            deliver(None)


def _written(envelope: Envelope) -> bytes:
    try:
        return write_envelope(envelope)
    except UnicodeEncodeError:
        _mend(envelope)
        return write_envelope(envelope)


def _mend(message: Any) -> None:
    """Mends the texts of a message that have no form in UTF-8, such as names of files."""
    for name in message.__slots__:
        value = getattr(message, name)
        if isinstance(value, list):
            setattr(message, name, [mended(each) if isinstance(each, str) else each for each in value])
        elif isinstance(value, str):
            setattr(message, name, mended(value))
        for each in value if isinstance(value, list) else [value]:
            if hasattr(each, "__slots__"):
                _mend(each)


def _has_more(response: CallToolResponse) -> bool:
    """True if a result is more than its text: a payload alone cannot carry it."""
    return bool(
        response.is_error
        or response.structured_content_json
        or response.enable_tools
        or response.disable_tools
        or response.error is not None
        or response.metadata_json
    )


def _threshold(name: str) -> int:
    """A number of bytes that the user has set."""
    try:
        return max(int(os.environ.get(name, "")), 0)
    except ValueError:
        return THRESHOLD
