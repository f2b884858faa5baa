"""The number of changes to what a file has registered. Whoever derives something from it compares the number."""

from __future__ import annotations

revision = 0


def changed() -> None:
    """A decorator has added something, or a registry was cleared."""
    global revision
    revision += 1
