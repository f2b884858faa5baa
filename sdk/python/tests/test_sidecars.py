"""Sidecars follow a reload of a folder of handlers."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from protomcp import clear_sidecar_registry
from protomcp.sidecar import stop_all_sidecars
from reloading import TOOL, Reloading

module: Any = sys.modules["protomcp.sidecar"]


def write_sidecars(folder: Path, *sidecars: tuple[str, str]) -> None:
    """A tool with sidecars: their names, and when they start."""
    lines = ["from protomcp import sidecar"]
    for name, start in sidecars:
        command = [sys.executable, "-c", f"import time; {name!r}; time.sleep(600)"]
        lines.append(f"@sidecar({name.lower()!r}, {command}, start_on={start!r})\ndef use(): ...\n")
    (folder / "a.py").write_text("\n".join([*lines, TOOL.format(name="add", answer="1")]))


def numbers(folder: Path) -> dict[str, int]:
    """The numbers of the processes by the names of their sidecars."""
    return {each.stem: int(each.read_text()) for each in sorted(folder.glob("*.pid"))}


def wait_for_sidecars() -> None:
    """Waits until they have followed each reload."""
    for each in threading.enumerate():
        if each.name == "protomcp-sidecars":
            each.join(30)
            assert not each.is_alive()


def test_sidecars_follow_a_reload(folder: Path, sidecars: Path) -> None:
    def runs(number: int) -> bool:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return False
        return True

    call, server = "first_tool_call", "server_start"
    write_sidecars(folder, ("old", call), ("kept", call), ("changed", call), ("early", server))
    with Reloading() as tools:
        assert list(numbers(sidecars)) == ["early"]
        tools.call("add")
        first = numbers(sidecars)
        assert sorted(first) == ["changed", "early", "kept", "old"]
        write_sidecars(folder, ("kept", call), ("CHANGED", call), ("new", call), ("late", server))
        assert tools.reload() == ""
        wait_for_sidecars()
        assert list(numbers(sidecars)) == ["kept", "late"]
        assert [name for name, number in first.items() if runs(number)] == ["kept"]
        tools.call("add")
        second = numbers(sidecars)
        assert sorted(second) == ["changed", "kept", "late", "new"]
        assert second["kept"] == first["kept"]
        (folder / "a.py").write_text("def")
        assert tools.reload().startswith("SyntaxError: ")
        assert numbers(sidecars) == second
        assert all(map(runs, second.values()))
    clear_sidecar_registry()
    stop_all_sidecars()
    assert (numbers(sidecars), any(map(runs, second.values()))) == ({}, False)


def test_a_reload_works_without_its_sidecar(folder: Path, sidecars: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """And starts the others."""
    (folder / "a.py").write_text(TOOL.format(name="add", answer="1"))
    with Reloading() as tools:
        line = "from protomcp import sidecar\nsidecar('lost', ['/no/such/program'], start_on='server_start')(print)\n"
        (folder / "0.py").write_text(line)
        write_sidecars(folder, ("other", "server_start"))
        assert tools.reload() == ""
        wait_for_sidecars()
        assert tools.call("add").text == "1"
        assert list(numbers(sidecars)) == ["other"]
    assert "the sidecar 'lost' cannot be started" in capfd.readouterr().err


def test_a_reload_is_answered_before_sidecars_stop(
    folder: Path, sidecars: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    answered = threading.Event()
    stopped = []

    def stop(name: str) -> None:
        stopped.append((name, answered.wait(30)))
        really_stop(name)
        if name == "first":
            raise PermissionError("not yours")

    really_stop = module._stop
    monkeypatch.setattr(module, "_stop", stop)
    write_sidecars(folder, ("first", "server_start"), ("second", "server_start"))
    with Reloading() as tools:
        write_sidecars(folder, ("third", "server_start"))
        assert tools.reload() == ""
        answered.set()
        wait_for_sidecars()
        assert stopped == [("first", True), ("second", True)]
        assert list(numbers(sidecars)) == ["third"]
        assert "PermissionError: not yours" in capfd.readouterr().err


def test_a_call_starts_its_new_sidecar_at_any_time(
    folder: Path, sidecars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before the others have followed the reload."""
    call = "first_tool_call"
    write_sidecars(folder, ("kept", call), ("changed", call))
    monkeypatch.setattr(module, "follow_reload", lambda *_: None)
    with Reloading() as tools:
        tools.call("add")
        first = numbers(sidecars)
        write_sidecars(folder, ("kept", call), ("CHANGED", call), ("new", call))
        assert tools.reload() == ""
        tools.call("add")
        second = numbers(sidecars)
        assert list(second) == ["changed", "kept", "new"]
        assert [name for name in first if first[name] == second[name]] == ["kept"]


def test_calls_wait_for_no_sidecar_of_the_server(folder: Path, sidecars: Path) -> None:
    """And the end of the process does not: the next sidecar is not started then."""
    (folder / "a.py").write_text(TOOL.format(name="add", answer="1"))
    with Reloading() as tools:
        checked = "health_check='http://127.0.0.1:9/', health_timeout=600"
        line = "sidecar({!r}, ['sleep', '600'], start_on='server_start', {})(print)\n"
        lines = [line.format("first", checked), line.format("second", checked)]
        (folder / "0.py").write_text("".join(["from protomcp import sidecar\n", *lines]))
        assert tools.reload() == ""
        assert tools.call("add").text == "1"
    wait_for_sidecars()
    assert "second" not in numbers(sidecars)


def test_a_later_reload_ends_the_wait_for_a_sidecar(
    folder: Path, sidecars: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.py").write_text(TOOL.format(name="add", answer="1"))
    line = "from protomcp import sidecar\nsidecar('slow', ['sleep', '600'], start_on='server_start', {})(print)\n"
    with Reloading() as tools:
        (folder / "0.py").write_text(line.format("health_check='http://127.0.0.1:9/', health_timeout=600"))
        assert tools.reload() == ""
        (folder / "0.py").unlink()
        write_sidecars(folder, ("other", "server_start"))
        assert tools.reload() == ""
        wait_for_sidecars()
        assert list(numbers(sidecars)) == ["other"]
    assert "does not answer" not in capfd.readouterr().err


def test_a_later_reload_keeps_what_an_older_one_stops(folder: Path, sidecars: Path) -> None:
    write_sidecars(folder, ("kept", "server_start"))
    with Reloading() as tools:
        before = numbers(sidecars)
        assert list(before) == ["kept"]
        # The threads of both wait, and run in any order.
        with module._changing:
            write_sidecars(folder, ("other", "server_start"))
            assert tools.reload() == ""
            write_sidecars(folder, ("kept", "server_start"))
            assert tools.reload() == ""
        wait_for_sidecars()
        assert numbers(sidecars) == before
