"""The host of a process that reloads."""

from __future__ import annotations

from typing import Any

from protomcp._wire import Envelope, ReloadRequest
from protomcp.testing import Harness

TOOL = "from protomcp import tool\n\n@tool\ndef {name}() -> str:\n    return {answer!r}\n"


class Reloading(Harness):
    """Calls the registered tools, and reloads them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.errors: list[str] = []
        """The reasons of the reloads, empty for a reload that has worked."""

    def __enter__(self) -> Reloading:
        super().__enter__()
        return self

    def reload(self) -> str:
        """Asks for a reload, and waits for its end."""
        count = len(self.errors)
        self.ask_to_reload()
        self._wait(lambda: len(self.errors) > count, 30.0, "the end of the reload")
        return self.errors[-1]

    def ask_to_reload(self) -> None:
        self._send(Envelope("reload", ReloadRequest(), "reload"))

    def names(self) -> list[str]:
        """The tools of the last list."""
        lists = [each.message.tools for each in self.sent if each.kind == "tool_list"]
        return sorted(each.name for each in (lists or [self._tools])[-1])

    def _receive(self, envelope: Envelope, payloads: dict[str, bytes]) -> None:
        if envelope.kind == "reload_response" and envelope.request_id:
            self.errors.append(envelope.message.error)
        super()._receive(envelope, payloads)
