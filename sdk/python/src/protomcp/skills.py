"""Folders of skills, which `pmcp` serves in addition to the tools."""

from __future__ import annotations

import os

MAX_FOLDERS = 64
"""The most folders of a file."""
MAX_PATH = 4096
"""The longest path of one, in bytes."""

_folders: list[str] = []
_announced: list[str] | None = None


def skills(folder: str | os.PathLike[str]) -> None:
    """Serves the Agent Skills in a folder: the folder itself if it has a `SKILL.md`, or each one below it that has one.

    A relative path is relative to the folder of the tool file. Several calls add folders, at most 64. `pmcp` reads the
    files: it loads them when the process starts, and `pmcp dev` again after each save. The folders are announced at the
    start of the process, so the call belongs to the level of the module.
    """
    path = os.fspath(folder) if isinstance(folder, (str, os.PathLike)) else folder
    if not isinstance(path, str):
        raise TypeError(f"skills() needs the path of a folder as a text, not {type(path).__name__}")
    if not path or "\0" in path:
        raise ValueError("skills() needs the path of a folder: it is empty, or has a NUL in it")
    size = len(path.encode())
    if size > MAX_PATH:
        raise ValueError(f"the path of a folder of skills has {size} bytes, more than the limit of {MAX_PATH}")
    if path in _folders:
        return
    if _announced is not None and path not in _announced:
        raise RuntimeError("skills() was called after the start of the process: call it at the level of the module")
    if len(_folders) == MAX_FOLDERS:
        raise ValueError(f"there are more than {MAX_FOLDERS} folders of skills: name the folder above them")
    _folders.append(path)


def announce() -> list[str]:
    """The folders, which are final now."""
    global _announced
    _announced = list(_folders)
    return _announced


def clear_skills() -> None:
    global _announced
    _folders.clear()
    _announced = None
