"""Records of `logging` become log messages for the client, if the file has not set up logging itself."""

from __future__ import annotations

import sys

from ._link import Link
from ._typing import TYPE_CHECKING
from ._wire import Envelope, LogMessage

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def forward_logging(link: Link) -> Callable[[], None]:
    """Adds a handler to the root logger if the file has imported `logging` and added none. Returns the way back."""
    logging: Any = sys.modules.get("logging")
    if logging is None or logging.getLogger().handlers:
        return lambda: None
    from ._json import dump
    from .context import current

    class ToClient(logging.Handler):  # type: ignore[misc]
        def emit(self, record: Any) -> None:
            try:
                text = self.format(record)
                context = current.get()
                message = LogMessage(_level(record.levelno), record.name, dump(text))
                link.send(Envelope("log", message, for_call=context.request_id if context else ""))
            except Exception:
                self.handleError(record)

    handler = ToClient()
    root = logging.getLogger()
    root.addHandler(handler)
    return lambda: root.removeHandler(handler)


def _level(number: int) -> str:
    for bound, level in ((50, "critical"), (40, "error"), (30, "warning"), (20, "info")):
        if number >= bound:
            return level
    return "debug"
