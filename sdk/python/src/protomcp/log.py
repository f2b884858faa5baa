"""Messages for the log of the client."""

from __future__ import annotations

from ._json import dump
from ._typing import TYPE_CHECKING
from ._wire import Envelope, LogMessage

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class ServerLogger:
    """Sends log messages to the client of the running call; outside a call, to whom the bridge thinks they concern.

    Each method takes a text, or `data=` with any value that has a form in JSON.

    MCP 2026-07-28 deprecates log messages to clients: they stay for a year at least. What only the operator needs
    belongs to standard error, which is in the log of `pmcp`.
    """

    def __init__(self, send_fn: Callable[[Envelope], None], name: str = "") -> None:
        self._send_fn = send_fn
        self._name = name

    def _log(self, level: str, message: str, data: Any = None) -> None:
        from .context import current

        context = current.get()
        text = dump(data) if data else dump({"message": message})
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
