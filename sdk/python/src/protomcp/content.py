"""Content of results and prompts other than text: pictures, sound, files, links and embedded resources."""

from __future__ import annotations

import os

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

Data = bytes | bytearray | memoryview


class Content:
    """A content block of MCP. `annotations` are the annotations of MCP: audience, priority, lastModified."""

    __slots__ = ("annotations", "meta")

    def __init__(self, *, annotations: dict[str, Any] | None = None, meta: dict[str, Any] | None = None) -> None:
        self.annotations = annotations
        self.meta = meta

    def block(self) -> dict[str, Any]:
        """The content block as JSON."""
        raise NotImplementedError

    def _with_notes(self, block: dict[str, Any]) -> dict[str, Any]:
        if self.annotations:
            block["annotations"] = self.annotations
        if self.meta:
            block["_meta"] = self.meta
        return block


class Text(Content):
    """Text with annotations. A handler can return plain text as a `str`."""

    __slots__ = ("text",)

    def __init__(self, text: str, **notes: Any) -> None:
        super().__init__(**notes)
        self.text = text

    def block(self) -> dict[str, Any]:
        return self._with_notes({"type": "text", "text": self.text})


class _Media(Content):
    """Bytes, or the file that has them."""

    __slots__ = ("data", "mime_type")
    _kind = ""
    _default = ""

    def __init__(self, source: Data | str | os.PathLike[str], mime_type: str = "", **notes: Any) -> None:
        super().__init__(**notes)
        if isinstance(source, (bytes, bytearray, memoryview)):
            self.data = bytes(source)
            self.mime_type = mime_type or self._default
        else:
            with open(source, "rb") as file:
                self.data = file.read()
            self.mime_type = mime_type or _guess(source) or self._default

    def block(self) -> dict[str, Any]:
        return self._with_notes({"type": self._kind, "data": _base64(self.data), "mimeType": self.mime_type})


class Image(_Media):
    """A picture: its bytes, or the path of its file. Without a type it is image/png, or the type of the name."""

    __slots__ = ()
    _kind = "image"
    _default = "image/png"


class Audio(_Media):
    """Sound: its bytes, or the path of its file. Without a type it is audio/wav, or the type of the name."""

    __slots__ = ()
    _kind = "audio"
    _default = "audio/wav"


class Embedded(Content):
    """A resource with its content: text or bytes."""

    __slots__ = ("data", "mime_type", "uri")

    def __init__(self, uri: str, data: str | Data, mime_type: str = "", **notes: Any) -> None:
        super().__init__(**notes)
        self.uri = uri
        self.data = data
        self.mime_type = mime_type

    def block(self) -> dict[str, Any]:
        resource: dict[str, Any] = {"uri": self.uri}
        if self.mime_type:
            resource["mimeType"] = self.mime_type
        if isinstance(self.data, str):
            resource["text"] = self.data
        else:
            resource["blob"] = _base64(bytes(self.data))
        return self._with_notes({"type": "resource", "resource": resource})


class File(Embedded):
    """A file as an embedded resource: text if it is UTF-8, and bytes otherwise."""

    __slots__ = ()

    def __init__(self, path: str | os.PathLike[str], mime_type: str = "", **notes: Any) -> None:
        from pathlib import Path

        found = Path(path)
        data: str | bytes = found.read_bytes()
        try:
            data = bytes(data).decode()  # type: ignore[arg-type]
        except UnicodeDecodeError:
            pass
        super().__init__(found.absolute().as_uri(), data, mime_type or _guess(path), **notes)


class Link(Content):
    """A link to a resource that the client may read."""

    __slots__ = ("description", "mime_type", "name", "size", "title", "uri")

    def __init__(
        self,
        uri: str,
        name: str = "",
        *,
        title: str = "",
        description: str = "",
        mime_type: str = "",
        size: int | None = None,
        **notes: Any,
    ) -> None:
        super().__init__(**notes)
        self.uri = uri
        self.name = name or uri.rstrip("/").rpartition("/")[2] or uri
        self.title = title
        self.description = description
        self.mime_type = mime_type
        self.size = size

    def block(self) -> dict[str, Any]:
        found = {
            "type": "resource_link",
            "uri": self.uri,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
        }
        block: dict[str, Any] = {name: value for name, value in found.items() if value}
        if self.size is not None:
            block["size"] = self.size
        return self._with_notes(block)


def _base64(data: bytes) -> str:
    import binascii

    return binascii.b2a_base64(data, newline=False).decode()


def _guess(path: str | os.PathLike[str]) -> str:
    import mimetypes

    return mimetypes.guess_type(os.fspath(path))[0] or ""
