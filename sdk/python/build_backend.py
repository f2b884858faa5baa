"""Builds the package (PEP 517 and 660). It needs nothing but Python, so that building downloads nothing.

The tree keeps the metadata in `pyproject.toml`, which Python reads from 3.11 on; the sdist has it as `PKG-INFO`, too.
Files are sorted and have one date, so that the same tree makes the same archive.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parent
_PACKAGE = _ROOT / "src" / "protomcp"
_SDIST = ("README.md", "build_backend.py", "pyproject.toml")
_DATE = (1980, 1, 1, 0, 0, 0)
_TAG = "py3-none-any"

_Settings = dict[str, object] | None


def build_wheel(wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None) -> str:
    """Writes the wheel; returns its name."""
    return _wheel(wheel_directory, _modules())


def build_wheel_with_program(wheel_directory: str, program: bytes, platform: str) -> str:
    """Writes the wheel for one platform, which installs `pmcp`, too; returns its name. `scripts/package` calls it."""
    files = {f"protomcp-{_version(_metadata())}.data/scripts/pmcp": program, **_modules()}
    return _wheel(wheel_directory, files, f"py3-none-{platform}")


def build_editable(
    wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None
) -> str:
    """Writes a wheel that refers to this folder; returns its name."""
    return _wheel(wheel_directory, {"protomcp.pth": f"{_PACKAGE.parent}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: _Settings = None) -> str:
    """Writes the sources; returns the name of the archive."""
    metadata = _metadata()
    folder = f"protomcp-{_version(metadata)}"
    files = {name: (_ROOT / name).read_bytes() for name in _SDIST}
    files |= {each.relative_to(_ROOT).as_posix(): each.read_bytes() for each in _sources()}
    files |= {each.name: each.read_bytes() for each in _licenses()}
    files["PKG-INFO"] = metadata.encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(files[name])
            archive.addfile(entry, io.BytesIO(files[name]))
    name = f"{folder}.tar.gz"
    (Path(sdist_directory) / name).write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return name


def _modules() -> dict[str, bytes]:
    return {f"protomcp/{each.relative_to(_PACKAGE).as_posix()}": each.read_bytes() for each in _sources()}


def _sources() -> list[Path]:
    found = [*_PACKAGE.rglob("*.py"), _PACKAGE / "py.typed"]
    return sorted(found)


def _licenses() -> list[Path]:
    """They are at the root of the repository, or next to this file in an sdist."""
    found = sorted(_ROOT.glob("LICENSE-*")) or sorted(_ROOT.parents[1].glob("LICENSE-*"))
    if not found:
        raise FileNotFoundError("there is no LICENSE-* next to the package or at the root of the repository")
    return found


def _wheel(directory: str, files: dict[str, bytes], tag: str = _TAG) -> str:
    metadata = _metadata()
    stem = f"protomcp-{_version(metadata)}"
    info = f"{stem}.dist-info"
    files |= {f"{info}/licenses/{each.name}": each.read_bytes() for each in _licenses()}
    files[f"{info}/METADATA"] = metadata.encode()
    facts = ["Wheel-Version: 1.0", "Generator: protomcp", f"Root-Is-Purelib: {str(tag == _TAG).lower()}", f"Tag: {tag}"]
    files[f"{info}/WHEEL"] = "\n".join([*facts, ""]).encode()
    lines = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in sorted(files.items())]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    name = f"{stem}-{tag}.whl"
    with zipfile.ZipFile(Path(directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if ".data/scripts/" in path else 0o100644) << 16
            archive.writestr(entry, data)
    return name


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _version(metadata: str) -> str:
    found = re.search(r"^Version: (.+)$", metadata, flags=re.MULTILINE)
    assert found is not None
    return found[1]


def _metadata() -> str:
    """The text of METADATA and PKG-INFO (Core Metadata 2.4)."""
    kept = _ROOT / "PKG-INFO"
    if kept.exists():
        return kept.read_text()
    try:
        tomllib = importlib.import_module("tomllib")
    except ImportError:
        raise RuntimeError("building from the tree needs Python 3.11; the sdist can be built by older ones") from None
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    version = re.search(r'^__version__ = "(.+)"$', (_PACKAGE / "_version.py").read_text(), flags=re.MULTILINE)
    assert version is not None
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version[1]}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {each.name}" for each in _licenses()),
        *(f"Classifier: {each}" for each in project["classifiers"]),
        *(f"Project-URL: {name}, {url}" for name, url in project["urls"].items()),
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
        "",
        (_ROOT / project["readme"]).read_text(),
    ]
    return "\n".join(lines)
