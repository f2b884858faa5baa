"""The examples that the SDKs have in common answer the same in Python, TypeScript and Rust."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridge import PEERS, ROOT, begin_visit, pmcp

PLACES = {
    "python": ROOT / "sdk/python/examples",
    "typescript": ROOT / "sdk/typescript/examples",
    "rust": ROOT / "crates/sdk/examples",
}
WITHOUT_RUST = {"discovery"}
"""A program in Rust cannot load the files of a folder."""

NODE = PEERS / "suite/node_modules/.bin/node"

Step = dict[str, Any]
SCRIPTS: dict[str, list[Step]] = {
    "tools": [
        {"tools": True},
        {"call": "add", "with": {"a": 2, "b": 3}},
        {"call": "greet", "with": {"name": "Ann"}},
        {"count": "count", "with": {"to": 3}},
    ],
    "structured": [{"call": "forecast", "with": {"city": "Ulm"}}],
    "app": [
        {"tools": True},
        {"call": "forecast", "with": {"city": "Ulm"}},
        {"call": "forecast_day", "with": {"city": "Ulm", "day": 3}},
        {"read": "ui://weather/forecast"},
    ],
    "sampling": [{"call": "title", "with": {"text": "tea and cake"}}],
    "sign_in": [{"call": "connect", "with": {"account": "ann"}}],
    "progress": [
        {"count": "count", "with": {"to": 3}},
        {"give_up": "count", "with": {"to": 5000}},
        {"give_up": "wait", "with": {"seconds": 600}},
        {"count": "count", "with": {"to": 1}},
    ],
    "notes": [
        {"resources": True},
        {"templates": True},
        {"prompts": True},
        {"read": "notes://all"},
        {"read": "notes://one/tea"},
        {"read": "notes://one/coal"},
        {"get": "summarize", "with": {"name": "tea"}},
        {"complete": ["prompt", "summarize", "name", ""]},
        {"complete": ["resource", "notes://one/{name}", "name", "t"]},
    ],
    "retries": [{"call": "weather", "with": {"city": "ulm"}}, {"call": "weather", "with": {"city": "bonn"}}],
    "workflow": [{"tools": True}, {"call": "status"}],
    "server_context": [
        {"tools": True},
        {"call": "whoami"},
        {"call": "whoami", "with": {"workspace": "attic"}},
    ],
    "interception": [{"call": "pay", "with": {"amount": 5}}, {"call": "pay", "with": {"amount": 500}}],
    "telemetry": [{"call": "divide", "with": {"a": 7, "b": 2}}, {"call": "divide", "with": {"a": 7, "b": 0}}],
    "sidecar": [{"call": "ask", "with": {"about": "tea"}}, {"call": "ask", "with": {"about": "cake"}}],
    "discovery": [
        {"tools": True},
        {"call": "total", "with": {"numbers": [1, 2, 3]}},
        {"call": "words", "with": {"text": "a b  c"}},
    ],
    "groups": [
        {"tools": True},
        {"call": "notes", "with": {"action": "write", "title": "a", "text": "hi", "color": "green"}},
        {"call": "notes", "with": {"action": "read", "title": "a"}},
        {"call": "notes", "with": {"action": "read", "all": True}},
        {"call": "notes", "with": {"action": "read", "all": True, "title": "a"}},
        {"call": "shapes_circle", "with": {"radius": 1.5}},
        {"call": "shapes_square", "with": {"side": 3}},
    ],
    "hidden": [
        {"tools": True},
        {"call": "open_vault", "with": {"code": "0"}},
        {"call": "look_inside"},
        {"call": "open_vault", "with": {"code": "1234"}},
        {"until": ["close_vault", "look_inside"]},
        {"call": "look_inside"},
        {"call": "close_vault"},
        {"until": ["open_vault"]},
    ],
    "visits": [
        {"tools": True},
        {"call": "visit", "with": {"name": "Ann"}},
        {"call": "visit", "with": {"name": "Bob", "stay": 1}},
    ],
    "refunds": [
        {"tools": True},
        {"call": "find", "with": {"number": 7}},
        {"resources": True},
        {"read": "skill://refunds/SKILL.md"},
    ],
    "logs": [{"tools": True}, {"log": "import", "with": {"rows": 200}, "messages": 2}],
}


LOGS = {"telemetry": ["divide start", "divide success 3", "divide start", "divide error"]}
"""Lines in the log of `pmcp`."""


def rust() -> Path:
    """The folder of the built examples of protomcp-sdk: SDK_EXAMPLES, or next to `pmcp`."""
    folder = Path(os.environ.get("SDK_EXAMPLES") or Path(pmcp()).parent / "examples")
    assert (folder / "tools").exists(), f"there are no examples in {folder}: cargo build -p protomcp-sdk --examples"
    return folder


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_languages_answer_the_same(name: str, tmp_path: Path) -> None:
    files = {"python": main(name, "python", "py"), "typescript": main(name, "typescript", "ts"), "rust": rust() / name}
    if name in WITHOUT_RUST:
        del files["rust"]
    visits = {}
    for language, file in files.items():
        folder = tmp_path / language
        folder.mkdir()
        # One that reads TypeScript itself: loading `tsx` takes longer than the visit.
        visits[language] = begin_visit(file, SCRIPTS[name], folder, cwd=PLACES["typescript"], PROTOMCP_NODE=str(NODE))
    given = {}
    for language, visit in visits.items():
        found = visit.result()
        given[language] = [meaning(each) for each in found.given]
        assert re.findall(rf"{name}: (.*\S)", found.stderr) == LOGS.get(name, []), found.stderr
        assert given[language] == given["python"], language


def main(name: str, language: str, ending: str) -> Path:
    """The file of an example, or the first one of a folder."""
    folder = PLACES[language] / name
    return folder / f"main.{ending}" if folder.is_dir() else folder.with_suffix(f".{ending}")


def test_the_page_shows_the_examples() -> None:
    subprocess.run([sys.executable, ROOT / "scripts/side-by-side", "--check"], check=True)


def test_the_pages_of_the_app_are_one() -> None:
    assert len({(folder / "app.html").read_bytes() for folder in PLACES.values()}) == 1


def test_every_example_is_compared() -> None:
    for language, folder in PLACES.items():
        names = {path.stem for path in folder.iterdir()} - {"everything", "skills", "__pycache__"}
        # Rust has further ones.
        if language == "rust":
            assert names >= set(SCRIPTS) - WITHOUT_RUST
        else:
            assert names == set(SCRIPTS), language


def meaning(given: Any) -> Any:
    """The common part of answers: the languages may cut a text into blocks, or print a name in another case."""
    if isinstance(given, list):
        return [each.replace(".", "_") for each in given]
    if not isinstance(given, dict):
        return given
    if "levels" in given:
        return meaning(given["result"]), given["levels"]
    if "content" in given:
        texts = "\n".join(each["text"] for each in given["content"]).lower()
        error = given.get("_meta", {}).get("protomcp/error")
        if error and error["error_code"] == "TOOL_ERROR":
            # A name for errors that have none.
            error = None
        return texts, given.get("structuredContent"), given.get("isError", False), error
    if "contents" in given:
        return [(each["uri"], each["text"]) for each in given["contents"]]
    if "completion" in given:
        return given["completion"]["values"]
    return given.get("messages", given)
