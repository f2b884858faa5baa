"""Resources: data that a client reads by its URI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import _docstring
from ._registry import check_text
from ._signature import doc_of, name_of

_F = TypeVar("_F", bound=Callable[..., Any])
_resource_registry: list[ResourceDef] = []
_resource_template_registry: list[ResourceTemplateDef] = []


class ResourceDef:
    """A resource as it was registered. `size` is its length in bytes, 0 if unknown."""

    def __init__(
        self,
        uri: str,
        name: str,
        description: str,
        handler: Callable[..., Any],
        mime_type: str = "",
        size: int = 0,
        title: str = "",
        icons: list[dict[str, Any]] | None = None,
        annotations: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.uri = uri
        self.name = name
        self.description = description
        self.handler = handler
        self.mime_type = mime_type
        self.size = size
        self.title = title
        self.icons = icons
        self.annotations = annotations
        self.meta = meta


class ResourceContent:
    """One part of a resource: text or bytes. `meta` is its `_meta`."""

    def __init__(
        self,
        uri: str,
        text: str = "",
        blob: bytes = b"",
        mime_type: str = "",
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.uri = uri
        self.text = text
        self.blob = blob
        self.mime_type = mime_type
        self.meta = meta


class ResourceResult:
    """The answer to a read, with more than its parts.

    `contents` is the value that a handler returns otherwise; `meta` is the `_meta` of the answer.
    """

    def __init__(self, contents: Any, meta: dict[str, Any] | None = None) -> None:
        self.contents = contents
        self.meta = meta


class ResourceTemplateDef:
    """A resource template as it was registered."""

    def __init__(
        self,
        uri_template: str,
        name: str,
        description: str,
        handler: Callable[..., Any],
        mime_type: str = "",
        title: str = "",
        icons: list[dict[str, Any]] | None = None,
        annotations: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.uri_template = uri_template
        self.name = name
        self.description = description
        self.handler = handler
        self.mime_type = mime_type
        self.title = title
        self.icons = icons
        self.annotations = annotations
        self.meta = meta


def resource(
    uri: str,
    description: str = "",
    name: str = "",
    mime_type: str = "",
    *,
    size: int = 0,
    title: str = "",
    icons: list[dict[str, Any]] | None = None,
    annotations: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
) -> Callable[[_F], _F]:
    """Registers a resource. The function is called with the URI, or with nothing if it has no parameter.

    It returns text, bytes, a ResourceContent, a list of these, a ResourceResult, or a value that becomes JSON. None and
    an empty list mean that the resource does not exist. `size` is its length in bytes, 0 if unknown.
    """
    check_text("resource", "the URI", uri)
    # Numbers of numpy are integers by this method.
    length = size.__index__() if hasattr(size, "__index__") and not isinstance(size, bool) else -1
    if not 0 <= length < 1 << 63:
        raise TypeError(f"resource {uri!r}: size is a number of bytes, 0 if unknown, and not {size!r}")

    def decorator(func: _F) -> _F:
        text = description or _docstring.summary(doc_of(func))
        _resource_registry.append(
            ResourceDef(uri, name or name_of(func), text, func, mime_type, length, title, icons, annotations, meta)
        )
        return func

    return decorator


def resource_template(
    uri_template: str,
    description: str = "",
    name: str = "",
    mime_type: str = "",
    *,
    title: str = "",
    icons: list[dict[str, Any]] | None = None,
    annotations: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
) -> Callable[[_F], _F]:
    """Registers a family of resources by an RFC 6570 template such as `notes://{id}`.

    The function is called with the URI if it has a parameter `uri` (or only one that is not in the template), and with
    the values of the template by name. It returns what the function of a resource does.
    """
    check_text("resource_template", "the template", uri_template)

    def decorator(func: _F) -> _F:
        text = description or _docstring.summary(doc_of(func))
        _resource_template_registry.append(
            ResourceTemplateDef(
                uri_template, name or name_of(func), text, func, mime_type, title, icons, annotations, meta
            )
        )
        return func

    return decorator


def get_registered_resources() -> list[ResourceDef]:
    return list(_resource_registry)


def get_registered_resource_templates() -> list[ResourceTemplateDef]:
    return list(_resource_template_registry)


def clear_resource_registry() -> None:
    _resource_registry.clear()


def clear_template_registry() -> None:
    _resource_template_registry.clear()
