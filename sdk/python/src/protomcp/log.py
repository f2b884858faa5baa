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

    Each method takes a text, and `data=` with any value that has a form in JSON: a dict has the text as its `message`.
    A dict that has a `message`, too, and any other value, is the `data` next to the text.

    MCP 2026-07-28 deprecates log messages to clients: they stay for a year at least. What only the operator needs
    belongs to standard error, which is in the log of `pmcp`.
    """

    def __init__(self, send_fn: Callable[[Envelope], None], name: str = "") -> None:
        self._send_fn = send_fn
        self._name = name

    def _log(self, level: str, message: str, data: Any = None) -> None:
        from .context import current

        context = current.get()
        text = dump(_content(message, to_plain(data)))
        self._send_fn(
            Envelope("log", LogMessage(level, self._name, text), for_call=context.request_id if context else "")
        )

    def debug(self, message: str, **kwargs: Any) -> None:
        self._log("debug", message, kwargs.get("data"))

    def info(self, message: str, **kwargs: Any) -> None:
        self._log("info", message, kwargs.get("data"))

    def notice(self, message: str, **kwargs: Any) -> None:
        self._log("notice", message, kwargs.get("data"))

    def warning(self, message: str, **kwargs: Any) -> None:
        self._log("warning", message, kwargs.get("data"))

    def error(self, message: str, **kwargs: Any) -> None:
        self._log("error", message, kwargs.get("data"))

    def critical(self, message: str, **kwargs: Any) -> None:
        self._log("critical", message, kwargs.get("data"))

    def alert(self, message: str, **kwargs: Any) -> None:
        self._log("alert", message, kwargs.get("data"))

    def emergency(self, message: str, **kwargs: Any) -> None:
        self._log("emergency", message, kwargs.get("data"))


def _content(message: str, data: Any) -> Any:
    if data is None:
        return {"message": message}
    if not message:
        return data
    if isinstance(data, dict) and "message" not in data:
        return {"message": message} | data
    return {"message": message, "data": data}
