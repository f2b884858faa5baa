"""The packages are built from the tree, and install without a network into an empty environment."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from bridge import ROOT, SDK, pmcp, runtime
from test_readme import BLOCKS

builds = pytest.mark.skipif(sys.version_info < (3, 11), reason="building from the tree needs Python 3.11")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files that `scripts/package` has built, by the end of their names."""
    folder = tmp_path_factory.mktemp("packages")
    command: list[str | Path] = [sys.executable, ROOT / "scripts/package", "--to", folder, "python"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {path.suffix: path for path in map(Path, output.split())}


@builds
@pytest.mark.parametrize("kind", [".whl", ".gz"])
def test_a_package_serves_the_first_example(kind: str, packages: dict[str, Path], tmp_path: Path) -> None:
    """The wheel, and the sdist, which pip builds."""
    venv.create(tmp_path / "env")
    python = tmp_path / "env/bin/python"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--isolated",
        "--python",
        python,
        "--disable-pip-version-check",
    ]
    install = [*pip, "install", "--quiet", "--no-index", "--no-deps", packages[kind]]
    subprocess.run(install, check=True, env=clean, cwd=tmp_path)
    (tmp_path / "tools.py").write_text(BLOCKS[0])
    given = subprocess.run(
        [pmcp(), "call", "tools.py", "add", "a=2", "b=3"],
        cwd=tmp_path,
        env=clean | {"PROTOMCP_PYTHON": str(python), "XDG_RUNTIME_DIR": str(runtime())},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert given.stdout == "5\n", given.stderr
    check = "import protomcp; from importlib.metadata import version as v; assert v('protomcp') == protomcp.__version__"
    subprocess.run([python, "-c", check], check=True, env=clean, cwd=tmp_path)


@builds
def test_a_tree_makes_the_same_packages_each_time(packages: dict[str, Path], tmp_path: Path) -> None:
    command: list[str | Path] = [sys.executable, ROOT / "scripts/package", "--to", tmp_path, "python"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for path in packages.values():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_an_older_python_says_the_reason() -> None:
    code = "import sys; sys.version_info = (3, 9, 1); import protomcp"
    given = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(SDK)}, capture_output=True, text=True)
    assert "protomcp needs Python 3.10 or later" in given.stderr and "PROTOMCP_PYTHON" in given.stderr
