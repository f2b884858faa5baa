"""Relative paths in tool files."""

from __future__ import annotations

import os
import sys


def from_caller(path: str) -> str:
    """A relative path, from the folder of the file that calls the caller of this function.

    The published SDK starts at the working directory, which counts for a path that is only there.
    """
    file = sys._getframe(2).f_globals.get("__file__")
    if not file or os.path.isabs(path):
        return path
    found = os.path.join(os.path.dirname(os.path.abspath(file)), path)
    return path if os.path.exists(path) and not os.path.exists(found) else found
