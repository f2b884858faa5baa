"""Folders of skills."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from protomcp import skills
from protomcp.skills import MAX_FOLDERS, MAX_PATH
from protomcp.testing import FEATURES, Harness

LINE = "protomcp: this pmcp does not serve the skills of a tool file"


def announced() -> list[str]:
    """The folders that the process announces."""
    with Harness() as tools:
        [info] = [each.message for each in tools.sent if each.kind == "sdk_info"]
    return list(info.skill_folders)


def test_each_folder_is_announced_once(capfd: pytest.CaptureFixture[str]) -> None:
    skills("skills")
    skills(Path("more") / "skills")
    skills("skills")
    assert announced() == ["skills", os.path.join("more", "skills")]
    assert LINE not in capfd.readouterr().err


def test_a_file_without_skills_announces_none() -> None:
    assert announced() == []


def test_a_path_that_names_no_folder_is_an_error() -> None:
    wrong: list[tuple[Any, type[Exception], str]] = [
        (None, TypeError, "as a text, not NoneType"),
        (b"skills", TypeError, "as a text, not bytes"),
        (["skills"], TypeError, "as a text, not list"),
        ("", ValueError, "it is empty"),
        ("a\0b", ValueError, "a NUL"),
        ("x" * (MAX_PATH + 1), ValueError, f"has {MAX_PATH + 1} bytes, more than the limit of {MAX_PATH}"),
    ]
    for path, kind, text in wrong:
        with pytest.raises(kind, match=text):
            skills(path)
    skills("x" * MAX_PATH)


def test_the_number_of_folders_is_bounded() -> None:
    for number in range(MAX_FOLDERS):
        skills(f"skills{number}")
    skills("skills0")
    with pytest.raises(ValueError, match="more than 64 folders of skills"):
        skills("one more")


def test_folders_are_final_when_the_process_has_started() -> None:
    skills("skills")
    with Harness():
        skills("skills")
        with pytest.raises(RuntimeError, match="after the start of the process"):
            skills("late")


def test_an_older_bridge_is_noted_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    skills("skills")
    with Harness(features=[each for each in FEATURES if each != "skill-folders"]) as tools:
        assert tools.resources() == []
    assert capfd.readouterr().err.count(LINE) == 1
