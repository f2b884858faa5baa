"""Tells clients that something has changed while the process runs."""

from __future__ import annotations

from ._wire import PromptListChanged, ResourceChangedNotification, ResourceListChanged


def resource_changed(uri: str) -> None:
    """Clients that have subscribed to this resource are notified."""
    _send("resource_changed", ResourceChangedNotification(uri))


def tools_changed() -> None:
    """The registered tools have changed: clients get the new list."""
    from . import manager

    if manager._server is not None:
        manager._server.process.send_tools()


def prompts_changed() -> None:
    """The registered prompts have changed."""
    _send("prompt_list_changed", PromptListChanged())


def resources_changed() -> None:
    """The registered resources or templates have changed."""
    _send("resource_list_changed", ResourceListChanged())


def _send(kind: str, message: object) -> None:
    from . import manager
    from ._wire import Envelope

    server = manager._server
    if server is None or (kind != "resource_changed" and "list-changed" not in server.link.features):
        return
    server.link.send(Envelope(kind, message))
