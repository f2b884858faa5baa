"""Relative paths in tool files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from protomcp.discovery import discover_handlers, get_config
from protomcp.testing import Harness

SOURCE = """
from protomcp import App, configure

page = App("page", "page.html")
configure(handlers_dir="handlers")
"""


def run(file: Path) -> dict[str, Any]:
    scope: dict[str, Any] = {"__file__": str(file)}
    exec(compile(SOURCE, str(file), "exec"), scope)
    return scope


@pytest.mark.parametrize("is_next_to_file", [True, False], ids=["file", "working directory"])
def test_paths_are_relative_to_the_tool_file(
    is_next_to_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for each in (here, there):
        each.mkdir()
    monkeypatch.chdir(there)
    folder = here if is_next_to_file else there
    (folder / "page.html").write_text("<p>page</p>")
    (folder / "handlers").mkdir()
    (folder / "handlers/add.py").write_text(
        "from protomcp import tool\n\n@tool\ndef add() -> str:\n    return 'added'\n"
    )
    scope = run(here / "tools.py")
    assert scope["page"].html() == "<p>page</p>"
    discover_handlers()
    with Harness() as tools:
        assert tools.call("add").text == "added"
        assert tools.read("ui://page") == ["<p>page</p>"]


def test_a_path_is_looked_for_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for each in (here, there):
        each.mkdir()
    monkeypatch.chdir(there)
    page = run(here / "tools.py")["page"]
    for folder, expected in ((there, "handlers"), (here, str(here / "handlers"))):
        (folder / "page.html").write_text(f"<p>{folder.name}</p>")
        (folder / "handlers").mkdir()
        assert page.html() == f"<p>{folder.name}</p>"
        assert get_config()["handlers_dir"] == expected


def test_a_missing_folder_is_looked_for_next_to_the_file(tmp_path: Path) -> None:
    run(tmp_path / "tools.py")
    assert get_config()["handlers_dir"] == str(tmp_path / "handlers")
