"""The number of changes to the registries of a file. Values that are derived from them are made anew."""

from __future__ import annotations

revision = 0


def check_text(decorator: str, what: str, value: object) -> None:
    """A decorator that was written without its parentheses gets the function in place of the text."""
    if not isinstance(value, str):
        raise TypeError(f'@{decorator} is written with {what}: @{decorator}("…")')


def changed() -> None:
    """A decorator has added something, or a registry was cleared."""
    global revision
    revision += 1
