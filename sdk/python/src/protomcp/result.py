"""The result of a tool, in full."""

from __future__ import annotations

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class ToolResult:
    """A result with more than its text: an error with its code, structured content, changes of the tool list.

    `result` is the text, or any content that a handler may return. `error_code`, `message`, `suggestion` and
    `retryable` count if `is_error` is set. `meta` is the `_meta` of the result.
    """

    __slots__ = (
        "disable_tools",
        "enable_tools",
        "error_code",
        "is_error",
        "message",
        "meta",
        "result",
        "retryable",
        "structured_content",
        "suggestion",
    )

    def __init__(
        self,
        result: Any = "",
        is_error: bool = False,
        enable_tools: list[str] | None = None,
        disable_tools: list[str] | None = None,
        error_code: str | None = None,
        message: str | None = None,
        suggestion: str | None = None,
        retryable: bool = False,
        structured_content: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.result = result
        self.is_error = is_error
        self.enable_tools = enable_tools
        self.disable_tools = disable_tools
        self.error_code = error_code
        self.message = message
        self.suggestion = suggestion
        self.retryable = retryable
        self.structured_content = structured_content
        self.meta = meta

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolResult):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__ if getattr(self, name))
        return f"ToolResult({members})"
