"""A request to reload. `pmcp` sends none to this SDK, but starts a new process; the original bridge in Go does."""

from __future__ import annotations

from typing import Any

from protomcp import resource, tool
from protomcp._wire import Envelope, ListResourcesRequest, Ping, ReloadRequest, write_envelope
from protomcp.testing import Harness


class Bridge(Harness):
    """Asks for reloads."""

    def __enter__(self) -> Bridge:
        super().__enter__()
        # What follows the first list has come before the answer.
        self.ping()
        return self

    def reload(self) -> tuple[str, list[str], list[str]]:
        """The error, the tools of the list, and those that are hidden after it."""
        before = len(self.sent)
        self._send(Envelope("reload", ReloadRequest(), "reload"))
        self.ping()
        sent = {each.kind: each.message for each in self.sent[before:]}
        names = sorted(each.name for each in sent["tool_list"].tools) if "tool_list" in sent else []
        return sent["reload_response"].error, names, sent["disable_tools"].tool_names if "disable_tools" in sent else []

    def _receive(self, envelope: Envelope, payloads: dict[str, bytes]) -> None:
        if envelope.kind == "reload_response":
            self.sent.append(envelope)
        super()._receive(envelope, payloads)


def test_a_reload_hides_only_what_was_not_hidden_before() -> None:
    """A session may have shown a tool that is hidden at the start."""

    @tool(hidden=True)
    def secret() -> str:
        return "secret"

    @tool
    def grow(name: str, hidden: bool) -> str:
        tool(name=name, hidden=hidden)(lambda: "grown")
        return "grown"

    with Bridge() as tools:
        assert tools.reload() == ("", ["grow", "secret"], [])
        tools.call(grow, name="shown", hidden=False)
        tools.call(grow, name="later", hidden=True)
        assert tools.reload() == ("", ["grow", "later", "secret", "shown"], ["later"])
        assert tools.reload() == ("", ["grow", "later", "secret", "shown"], [])


def test_a_reload_with_a_tool_that_cannot_be_listed_fails() -> None:
    @tool
    def grow() -> str:
        def broken(value: complex) -> str:
            return ""

        tool(broken)
        return "grown"

    with Bridge() as tools:
        assert tools.call(grow).text == "grown"
        error, names, _ = tools.reload()
        assert "broken" in error and names == []
        assert tools.call(grow).text == "grown"


def test_a_list_that_cannot_be_written_holds_up_no_other_frame() -> None:
    number: Any = 1
    resource("tea://kinds", "Kinds", mime_type=number)(lambda: "green")

    @tool
    async def other() -> str:
        return "other"

    with Bridge() as tools:
        # Both are read together.
        both = Envelope("list_resources_request", ListResourcesRequest(), "list"), Envelope("ping", Ping(), "ping")
        tools._stream.sendall(b"".join(map(write_envelope, both)))
        tools._answer("ping", 30.0)
        assert tools.call(other).text == "other"
