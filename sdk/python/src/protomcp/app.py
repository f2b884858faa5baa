"""MCP Apps: pages that a host shows for a tool (`io.modelcontextprotocol/ui`)."""

from __future__ import annotations

import os
from typing import Any

from ._paths import from_caller
from .resource import ResourceContent, ResourceDef, _resource_registry

MIME_TYPE = "text/html;profile=mcp-app"


class App:
    """A page of HTML, registered as a resource, that hosts show for the tools with `@tool(app=...)`.

    `html` is the page itself, or the path of its file, which is read whenever a host asks; a relative one starts at the
    folder of the tool file. `csp` and `permissions` are the extension's: the origins that the page may use, and the
    abilities that it may have.
    """

    def __init__(
        self,
        name: str,
        html: str | os.PathLike[str],
        *,
        uri: str = "",
        title: str = "",
        description: str = "",
        csp: dict[str, Any] | None = None,
        permissions: dict[str, Any] | None = None,
        domain: str = "",
        prefers_border: bool | None = None,
    ) -> None:
        self.name = name
        self.uri = uri or f"ui://{name}"
        path = os.fspath(html)
        self._html = path
        self._place = None if path.lstrip().startswith("<") else from_caller(path)
        ui: dict[str, Any] = {}
        if csp:
            ui["csp"] = csp
        if permissions:
            ui["permissions"] = permissions
        if domain:
            ui["domain"] = domain
        if prefers_border is not None:
            ui["prefersBorder"] = prefers_border
        self._meta = {"ui": ui} if ui else None
        _resource_registry.append(
            ResourceDef(self.uri, name, description, self._read, MIME_TYPE, title=title, meta=self._meta)
        )

    def html(self) -> str:
        """The page."""
        if self._place is None:
            return self._html
        with open(self._place.path(), encoding="utf-8") as file:
            return file.read()

    def _read(self) -> ResourceContent:
        return ResourceContent(self.uri, self.html(), mime_type=MIME_TYPE, meta=self._meta)


def meta_of(app: Any) -> dict[str, Any]:
    """The member `ui` of the `_meta` of a tool: an App, the URI of one, or `AppOnly`."""
    if isinstance(app, AppOnly):
        return {"resourceUri": app.uri, "visibility": ["app"]} if app.uri else {"visibility": ["app"]}
    return {"resourceUri": app.uri if isinstance(app, App) else str(app)}


class AppOnly:
    """A tool that only an app may call: `@tool(app=AppOnly(app))`."""

    def __init__(self, app: App | str = "") -> None:
        self.uri = app.uri if isinstance(app, App) else app
