"""Errors that tools raise on purpose, and errors that their context raises."""

from __future__ import annotations


def _text(value: object) -> str:
    """Many pass the exception that they have caught."""
    return value if isinstance(value, str) else "" if value is None else str(value)


class ToolError(Exception):
    """Fails a call with a text for the model, and with details for programs.

    `code` is a word such as NOT_FOUND, `suggestion` is the next step for the caller, and `retryable` says that the
    same call may succeed later.
    """

    def __init__(self, message: str, *, code: str = "", suggestion: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.message = _text(message)
        self.code = _text(code)
        self.suggestion = _text(suggestion)
        self.retryable = bool(retryable)


class TaskError(ToolError):
    """Ends a task without a result, as if the server had failed. In a call that is not a task it is a ToolError."""


class AskError(ToolError):
    """The client was not asked, or did not answer: it cannot, its user declined, or the call has ended."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="QUESTION_FAILED")


class DeclarationError(TypeError):
    """A tool, or another part of a file, cannot be served as it is written. The text names its place."""


def leaf_of(error: BaseException) -> BaseException:
    """The exception in a group of one, such as the group that a `TaskGroup` raises; any other one as it is."""
    while type(error).__name__ in ("ExceptionGroup", "BaseExceptionGroup"):
        inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
        if len(inner) != 1:
            break
        error = inner[0]
    return error


class Cancelled(BaseException):
    """The caller no longer wants the result. Raised by `ctx.check()` in plain handlers; `finally` blocks run."""
