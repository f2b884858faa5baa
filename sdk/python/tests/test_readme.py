"""Every block of Python in the README runs, and its tools do what the text says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge import environment, pmcp
from protomcp.testing import Harness

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^```sh\n(.*?)^```", README.read_text(), flags=re.MULTILINE | re.DOTALL)[0].splitlines()


def confirm(message: str, form: Any) -> dict[str, Any]:
    return {"really": True, "name": "Ann"}


def adds(tools: Harness) -> None:
    assert tools.call("add", a=1, b=2).text == "3"
    failed = tools.call("add", a=1, bb=2).text
    assert '"b" is missing (integer)' in failed
    assert 'unknown argument "bb"; did you mean "b"?' in failed


def books(tools: Harness) -> None:
    guest = {"name": "Ann", "email": "ann@example.org"}
    result = tools.call("book", guests=[guest], day="2026-07-28", nights=2, size="large")
    assert result.text == "Ann, 28 July, 2 nights, LARGE"
    assert tools.call("book", guests=[guest], day="2026-07-28", nights=15).is_error
    assert '"description":"The day of arrival."' in tools.tools["book"].input_schema_json


def tells(tools: Harness) -> None:
    assert tools.call("weather", city="Ulm").structured == {"city": "Ulm", "degrees": 21.5}
    failed = tools.call("weather", city="Bonn")
    assert failed.error and failed.error["error_code"] == "NOT_FOUND"
    assert [each["type"] for each in tools.call("draw").content] == ["text", "image"]


def overlaps(tools: Harness) -> None:
    calls = [tools.start("wait") for _ in range(64)] + [tools.start("crunch") for _ in range(8)]
    assert {each.result().text for each in calls} == {"done"}


def asks(tools: Harness) -> None:
    call = tools.start("count", to=3)
    assert call.result().text == "counted to 3"
    assert call.progress[-1] == (3, "at 3")
    assert tools.logs == [("info", {"message": "counted", "to": 3, "client": "protomcp-testing"})]
    assert tools.call("delete", path="a").text == "deleted a"
    assert tools.call("plan").text == "Ann works in 1 folders"


def queries(tools: Harness) -> None:
    assert tools.call("query", sql="select 1, 'a'").structured == {"result": [["1", "a"]]}


def counts(tools: Harness) -> None:
    assert tools.call("visit", name="Ann").text == "1"
    assert tools.hand_over() == ["Ann"]
    tools.take_over(["Bob", "Eve"])
    assert tools.call("visit", name="Ann").text == "4"


def offers(tools: Harness) -> None:
    assert tools.read("notes://all") == ["tea, cake"]
    assert tools.read("notes://one/tea") == ["Steep for four minutes."]
    assert tools.read("notes://one/coal") == []
    assert tools.get("summarize", name="cake")[0][1]["text"].endswith("Bake for forty minutes.")
    assert tools.complete("ref/prompt", "summarize", "name", "t") == ["tea"]


def steps(tools: Harness) -> None:
    assert tools.call("shapes_square", side=3).text == "9.0"
    begun = tools.call("release.choose", version="1.2")
    assert begun.structured and begun.structured["next"] == ["release.publish"]
    assert tools.call("release.publish", handle="another").is_error
    assert tools.call("release.publish", handle=begun.structured["handle"]).text == "it is out"
    assert tools.call("release.publish", handle=begun.structured["handle"]).is_error


def greets(tools: Harness) -> None:
    assert tools.call("greet").text == "Hello, Ann!"
    sys.modules["readme"].test_greet()


CHECKS: list[Callable[[Harness], None]] = [adds, books, tells, overlaps, asks, queries, counts, offers, steps, greets]


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    found = types.ModuleType("readme")
    sys.modules["readme"] = found
    yield found
    del sys.modules["readme"]


@pytest.mark.parametrize(
    ("block", "check"), list(zip(BLOCKS, CHECKS, strict=True)), ids=[each.__name__ for each in CHECKS]
)
def test_a_block_runs(block: str, check: Callable[[Harness], None], module: types.ModuleType) -> None:
    exec(compile(block, str(README), "exec"), vars(module))
    with Harness(ask=confirm, roots=["file:///work"]) as tools:
        check(tools)


@pytest.mark.parametrize(("line", "output"), list(zip(COMMANDS, ["", "5\n"], strict=True)))
def test_a_command_runs(line: str, output: str, tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(BLOCKS[0])
    _, *arguments = shlex.split(line, comments=True)
    command, env = [pmcp(), *arguments], environment(tmp_path)
    # A host that leaves immediately.
    given = subprocess.run(command, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (given.returncode, given.stdout) == (0, output), given.stderr
