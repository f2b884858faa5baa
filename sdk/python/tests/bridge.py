"""Runs tool files behind the real `pmcp`, with the official Python client as their host."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SDK = ROOT / "sdk/python/src"
PEERS = ROOT / ".peers"
SCRIPT = ROOT / "conformance/hosts/script.py"
PUBLISHED = PEERS / "py/bin/python"


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


def visit(
    file: Path | str,
    steps: list[dict[str, Any]],
    tmp_path: Path,
    *flags: str,
    is_published: bool = False,
    cwd: Path | None = None,
    **env: str,
) -> Visit:
    """A host follows the steps of conformance/hosts/script.py."""
    host = PEERS / "mcp/bin/python"
    done = subprocess.run(
        [host, SCRIPT, json.dumps(steps), pmcp(), "run", str(file), *flags],
        env=environment(tmp_path, is_published=is_published) | env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return Visit(json.loads(done.stdout), done.stderr)
