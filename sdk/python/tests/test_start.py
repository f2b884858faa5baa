"""The start of a plain file imports what it needs and no more, and names that come later are those that they were."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import protomcp
from bridge import SDK
from protomcp._frames import FrameReader
from protomcp._wire import Envelope, ListToolsRequest, write_envelope

PLAIN = """
from protomcp import ToolContext, run, tool

@tool("Adds two numbers.")
def add(a: int, b: int, ctx: ToolContext) -> str:
    return str(a + b)
"""

# Modules of the library that take a part of a millisecond each, or bring others.
COSTLY = [
    "argparse",
    "asyncio",
    "base64",
    "contextlib",
    "dataclasses",
    "datetime",
    "decimal",
    "email",
    "enum",
    "http",
    "importlib.util",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "random",
    "re",
    "socket",
    "ssl",
    "subprocess",
    "traceback",
    "typing",
    "urllib",
    "uuid",
]

OWN = [
    "_dependencies",
    "_event_loop",
    "_lifespan",
    "_requests",
    "_tasks",
    "_uris",
    "_workflow_calls",
    "_workflow_definitions",
    "_workflow_runs",
    "app",
    "changes",
    "completion",
    "fields",
    "group",
    "handover",
    "local_middleware",
    "middleware",
    "prompt",
    "questions",
    "resource",
    "server_context",
    "sidecar",
    "skills",
    "telemetry",
    "testing",
    "workflow",
]


def modules_of(text: str, tmp_path: Path) -> set[str]:
    """The modules of a process that has run this file and listed its tools."""
    file, modules = tmp_path / "tools.py", tmp_path / "modules"
    said = f"import atexit, sys\natexit.register(lambda: open({str(modules)!r}, 'w').write(' '.join(sys.modules)))\n"
    file.write_text(said + text + "\nrun()\n")
    # Paths of sockets are short.
    path = os.path.relpath(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(1)
        server.settimeout(60)
        environment = dict(os.environ) | {"PYTHONPATH": str(SDK), "PROTOMCP_SOCKET": path}
        # Without the files of an environment, which may import anything.
        process = subprocess.Popen([sys.executable, "-S", str(file)], env=environment)
        connection, _ = server.accept()
        connection.settimeout(60)
        with connection:
            connection.sendall(write_envelope(Envelope("list_tools", ListToolsRequest(), "1")))
            assert "add" in tools_of(connection)
    assert process.wait(60) == 0
    return set(modules.read_text().split())


def tools_of(connection: socket.socket) -> list[str]:
    reader = FrameReader()
    while True:
        reader.feed(connection.recv(1 << 16))
        while (frame := reader.next()) is not None:
            if isinstance(frame, Envelope) and frame.kind == "tool_list":
                return [each.name for each in frame.message.tools]


def test_a_plain_file_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    found = modules_of(PLAIN, tmp_path)
    assert "protomcp.tool" in found
    assert sorted(found.intersection(COSTLY)) == []
    assert sorted(found.intersection(f"protomcp.{each}" for each in OWN)) == []


def test_a_module_comes_with_its_first_name(tmp_path: Path) -> None:
    found = modules_of(PLAIN + "from protomcp import middleware", tmp_path)
    assert "protomcp.middleware" in found


@pytest.mark.parametrize(
    "name", ["completion", "log", "middleware", "prompt", "resource", "sidecar", "tool", "workflow"]
)
def test_a_module_does_not_hide_the_name_it_shares(name: str) -> None:
    script = f"import protomcp.{name}, protomcp.testing; print(type(protomcp.{name}).__name__, protomcp.testing)"
    expected = "ServerLogger" if name == "log" else "function"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=dict(os.environ) | {"PYTHONPATH": str(SDK)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{expected} <module")


def test_the_names_match_the_package() -> None:
    assert set(protomcp.__all__) <= set(dir(protomcp))
    with pytest.raises(AttributeError, match="module 'protomcp' has no attribute 'nothing'"):
        _ = protomcp.nothing  # type: ignore[attr-defined]


JSON = """
import json, sys, types
if sys.argv[1] != "own":
    # As in an interpreter without these functions, and in one where they take other arguments.
    sys.modules["_json"] = types.ModuleType("_json")
if sys.argv[1] == "other":
    sys.modules["_json"].make_scanner = sys.modules["_json"].make_encoder = sys.modules["_json"].encode_basestring = abs
from protomcp._json import Beyond, dump, parse, parse_finite, quote

def kind(call, value):
    try:
        return repr(call(value))
    except (ValueError, TypeError, RecursionError) as error:
        return type(error).__name__

values = [{"a": [1, 2.5, None, True, chr(0xD800), chr(252)], "b": {1: "x", None: 2}}]
values += ["text", float("nan"), {1}, 10**400, object()]
texts = ["{}", " [1, 2.5, NaN] ", "1e400", '{"a": -Infinity}', '["' + chr(252) + '"]', "[1", "", "[1] 2", "1" * 5000]
print(json.dumps([[kind(dump, each) for each in values], [kind(quote, each) for each in ["a", chr(252), chr(0xD800)]],
    [kind(parse, each) for each in texts], [kind(parse_finite, each) for each in texts]]))
"""


def test_json_is_the_same_without_the_functions_in_c() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", JSON, kind],
            env=dict(os.environ) | {"PYTHONPATH": str(SDK)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kind in ("own", "missing", "other")
    ]
    assert said[0].count("Error") > 5
    assert said[1:] == said[:1] * 2
