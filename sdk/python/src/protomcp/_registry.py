"""The number of changes to the registries of a file. Values that are derived from them are made anew."""

from __future__ import annotations

revision = 0


def changed() -> None:
    """A decorator has added something, or a registry was cleared."""
    global revision
    revision += 1
