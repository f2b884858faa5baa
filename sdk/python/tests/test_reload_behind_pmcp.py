"""A folder of handlers that changes, as the client of `pmcp dev` sees it: each version has a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridge import begin_visit

MAIN = """
from pathlib import Path
from protomcp import configure, run, tool

configure(handlers_dir="handlers", hot_reload=True)

@tool
def save(texts: dict[str, str]) -> str:
    for name, text in texts.items():
        (Path(__file__).parent / name).write_text(text)
    return "saved"

{more}
if __name__ == "__main__":
    run()
"""
HANDLER = "from lib import {name}\nfrom protomcp import tool\n\n@tool\ndef {tool}() -> str:\n    return {name}()\n"
LIB = "def {name}() -> str:\n    return {name!r}\n"
LOADED = "from pathlib import Path\nPath({marker!r}).touch()\n"
"""A marker shows that the file is being loaded. It is not in the folder of the tool file, which is watched."""
MORE = '@tool\ndef more() -> str:\n    return "more"\n'


def write(folder: Path) -> Path:
    (folder / "handlers").mkdir()
    (folder / "handlers/a.py").write_text(HANDLER.format(name="old", tool="use"))
    (folder / "lib.py").write_text(LIB.format(name="old"))
    file = folder / "main.py"
    file.write_text(MAIN.format(more=""))
    return file


@pytest.fixture
def marker(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("markers") / "loaded")


def test_a_save_reads_all_files_again(tmp_path: Path, marker: str) -> None:
    """A handler, a module that it imports, and the tool file itself."""
    handlers = {f"handlers/{each}.py": HANDLER.format(name="new", tool=each) for each in ("a", "b")}
    texts = handlers | {"lib.py": LIB.format(name="new"), "main.py": MAIN.format(more=MORE)}
    steps: list[dict[str, Any]] = [
        {"call": "use"},
        {"call": "save", "with": {"texts": texts}},
        {"until": ["a", "b", "more", "save"]},
        {"call": "a"},
        # A version that cannot be loaded changes nothing.
        {"call": "save", "with": {"texts": {"handlers/b.py": LOADED.format(marker=marker) + "import nothing"}}},
        {"file": marker},
        {"call": "b"},
        {"call": "save", "with": {"texts": {"handlers/b.py": HANDLER.format(name="new", tool="mended")}}},
        {"until": ["a", "mended", "more", "save"]},
    ]
    given = begin_visit(write(tmp_path), steps, tmp_path, command="dev").result().given
    texts_of = [given[each]["content"][0]["text"] for each in (0, 3, 6)]
    assert texts_of == ["old", "new", "new"]


def test_a_handler_that_hangs_while_it_is_loaded_holds_up_no_call(tmp_path: Path, marker: str) -> None:
    steps: list[dict[str, Any]] = [
        {"call": "save", "with": {"texts": {"handlers/b.py": LOADED.format(marker=marker) + "while True: pass"}}},
        {"file": marker},
        {"call": "use"},
        {"call": "save", "with": {"texts": {"handlers/b.py": HANDLER.format(name="old", tool="mended")}}},
        {"until": ["mended", "save", "use"]},
    ]
    given = begin_visit(write(tmp_path), steps, tmp_path, command="dev").result().given
    assert given[2]["content"][0]["text"] == "old"
