"""Messages for the log of the client."""

from __future__ import annotations

from ._json import dump, to_plain
from ._typing import TYPE_CHECKING
from ._wire import Envelope, LogMessage

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class ServerLogger:
    """Sends log messages to the client of the running call; outside a call, to whom the bridge thinks they concern.

    Each method takes a text, or an exception, and `data=` with any value: a dict has the text as its `message`. A dict
    that has a `message`, too, and any other value, is the `data` next to the text. A value without a form in JSON is
    sent as its text.

    MCP 2026-07-28 deprecates log messages to clients: they stay for a year at least. What only the operator needs
    belongs to standard error, which is in the log of `pmcp`.
    """

    def __init__(self, send_fn: Callable[[Envelope], None], name: str = "") -> None:
        self._send_fn = send_fn
        self._name = name

    def _log(self, level: str, message: object, data: Any = None) -> None:
        from .context import current

        context = current.get()
        try:
            text = dump(_content(message, to_plain(data)))
        except Exception:
            # A message does not fail the call.
            text = dump(_content(_Shown().of(message), _Shown().of(data)))
        self._send_fn(
            Envelope("log", LogMessage(level, self._name, text), for_call=context.request_id if context else "")
        )

    def debug(self, message: object, **kwargs: Any) -> None:
        self._log("debug", message, kwargs.get("data"))

    def info(self, message: object, **kwargs: Any) -> None:
        self._log("info", message, kwargs.get("data"))

    def notice(self, message: object, **kwargs: Any) -> None:
        self._log("notice", message, kwargs.get("data"))

    def warning(self, message: object, **kwargs: Any) -> None:
        self._log("warning", message, kwargs.get("data"))

    def error(self, message: object, **kwargs: Any) -> None:
        self._log("error", message, kwargs.get("data"))

    def critical(self, message: object, **kwargs: Any) -> None:
        self._log("critical", message, kwargs.get("data"))

    def alert(self, message: object, **kwargs: Any) -> None:
        self._log("alert", message, kwargs.get("data"))

    def emergency(self, message: object, **kwargs: Any) -> None:
        self._log("emergency", message, kwargs.get("data"))


MAX_PARTS = 1_000
"""The parts of a value that are sent if some of it has no form in JSON."""
_LEFT_OUT = "…"
"""In place of a container beyond them, and of one inside itself."""


class _Shown:
    """Values as JSON has them, and their text where JSON has none. `_around` are the containers around a part."""

    def __init__(self) -> None:
        self._left = MAX_PARTS
        self._around: set[int] = set()

    def of(self, value: Any) -> Any:
        self._left -= 1
        try:
            if isinstance(value, BaseException):
                return f"{type(value).__name__}: {value}"
            if isinstance(value, (dict, list, tuple, set, frozenset)):
                return self._container(value) if self._left > 0 and id(value) not in self._around else _LEFT_OUT
            plain = to_plain(value)
            dump(plain)
            return plain
        except Exception:
            try:
                return repr(value)
            except Exception:
                return f"a value of type {type(value).__name__}"

    def _container(self, value: Any) -> Any:
        self._around.add(id(value))
        try:
            if isinstance(value, dict):
                return {str(name): self.of(each) for name, each in value.items()}
            return [self.of(each) for each in value]
        finally:
            self._around.discard(id(value))


def _content(message: Any, data: Any) -> Any:
    if data is None:
        return {"message": message}
    if not message:
        return data
    if isinstance(data, dict) and "message" not in data:
        return {"message": message} | data
    return {"message": message, "data": data}
