"""Runs tool files behind the real `pmcp`, with the official Python client as their host."""

from __future__ import annotations

import atexit
import functools
import itertools
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SDK = ROOT / "sdk/python/src"
PEERS = ROOT / ".peers"
SCRIPT = ROOT / "conformance/hosts/script.py"
PUBLISHED = PEERS / "py/bin/python"
# The seconds that a visit has: the limit of all tests.
PATIENCE = float(os.environ.get("PMCP_PATIENCE", 120))


def pmcp() -> str:
    """The command: $PMCP, or one on the path. Without it these tests are skipped; `scripts/test` sets it."""
    found = os.environ.get("PMCP") or shutil.which("pmcp")
    if not found:
        pytest.skip("there is no pmcp: set PMCP to the path of the command")
    return found


@functools.cache
def runtime() -> Path:
    """The folder of sockets: their paths must be short."""
    folder = Path(tempfile.mkdtemp(prefix="pmcp-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment(tmp_path: Path, *, is_published: bool = False) -> dict[str, str]:
    """The environment in which `pmcp` starts files with this SDK, or with the published one."""
    found = dict(os.environ) | {
        "HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": str(runtime()),
        "NOTES_USER": "ann",
        "WORK_LOG": str(tmp_path / "work.log"),
        "PROTOMCP_PYTHON": str(PUBLISHED) if is_published else sys.executable,
    }
    found.pop("PYTHONPATH", None)
    if not is_published:
        found["PYTHONPATH"] = str(SDK)
    return found


class Visit:
    """The results of the steps, and the output on standard error."""

    def __init__(self, given: list[Any], stderr: str) -> None:
        self.given = given
        self.stderr = stderr


class Visiting:
    """A visit that is under way."""

    def __init__(self, answer: queue.Queue[dict[str, Any]], stderr: Path) -> None:
        self._answer = answer
        self._stderr = stderr

    def result(self) -> Visit:
        """Waits for the end of the visit."""
        found = self._answer.get(timeout=PATIENCE)
        said = self._stderr.read_text()
        assert "given" in found, f"{found}\n{said}"
        return Visit(found["given"], said)


class Hosts:
    """One process in which all hosts are: loading the official client takes longer than most visits."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [PEERS / "mcp/bin/python", SCRIPT, "--visits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._ids = itertools.count()
        self._waiting: dict[int, queue.Queue[dict[str, Any]]] = {}
        threading.Thread(target=self._read, daemon=True).start()
        atexit.register(self._end)

    def begin(self, wish: dict[str, Any]) -> queue.Queue[dict[str, Any]]:
        id, answer = next(self._ids), queue.Queue[dict[str, Any]]()
        self._waiting[id] = answer
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wish | {"id": id}) + "\n")
        self._process.stdin.flush()
        return answer

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = json.loads(line)
            self._waiting.pop(found["id"]).put(found)
        for each in self._waiting.values():
            each.put({"error": "the process of the hosts has ended"})

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


@functools.cache
def hosts() -> Hosts:
    return Hosts()


def begin_visit(
    file: Path | str,
    steps: list[dict[str, Any]],
    tmp_path: Path,
    *flags: str,
    command: str = "run",
    is_published: bool = False,
    cwd: Path | None = None,
    **env: str,
) -> Visiting:
    """A host follows the steps of conformance/hosts/script.py, in addition to those that already do."""
    stderr = tmp_path / "stderr.txt"
    wish = {
        "script": steps,
        "command": [pmcp(), command, str(file), *flags],
        "env": environment(tmp_path, is_published=is_published) | env,
        "cwd": str(cwd) if cwd else None,
        "stderr": str(stderr),
    }
    return Visiting(hosts().begin(wish), stderr)


def visit(file: Path | str, steps: list[dict[str, Any]], tmp_path: Path, *flags: str, **others: Any) -> Visit:
    """The same, to its end."""
    return begin_visit(file, steps, tmp_path, *flags, **others).result()
