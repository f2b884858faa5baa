"""Relative paths in tool files."""

from __future__ import annotations

import os
import sys


class Place:
    """A path as it was given, and the same from the folder of the tool file."""

    __slots__ = ("_given", "_next_to_file")

    def __init__(self, given: str, next_to_file: str) -> None:
        self._given = given
        self._next_to_file = next_to_file

    def path(self) -> str:
        """The path that is there now. One that is next to the file goes before the working directory.

        The published SDK starts at the working directory, which counts for a path that is only there.
        """
        given, found = self._given, self._next_to_file
        return given if os.path.exists(given) and not os.path.exists(found) else found


def from_caller(path: str) -> Place:
    """A path, where a relative one starts at the folder of the file that calls the caller of this function."""
    file = sys._getframe(2).f_globals.get("__file__")
    if not file or os.path.isabs(path):
        return Place(path, path)
    return Place(path, os.path.join(os.path.dirname(os.path.abspath(file)), path))
