"""Settings of the process, and handlers in a folder."""

from __future__ import annotations

import sys

from ._paths import from_caller
from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ._paths import Place

_config: dict[str, Any] = {}
_concurrency = 1
_folder: Place | None = None


def configure(handlers_dir: str = "", hot_reload: bool = False, *, concurrency: int | None = None) -> None:
    """Sets the folder whose Python files are loaded at the start, and how many plain handlers may run concurrently.

    A relative path is relative to the folder of the tool file.
    Files whose names begin with an underscore are not loaded. With a `concurrency` above 1 all plain handlers overlap,
    in threads. `hot_reload` is accepted and changes nothing: `pmcp dev` loads all files again after each save, in a new
    process.
    """
    global _concurrency, _folder
    if handlers_dir or concurrency is None:
        _folder = from_caller(handlers_dir) if handlers_dir else None
        _config["handlers_dir"] = _folder.path() if _folder else ""
        _config["hot_reload"] = hot_reload
    if concurrency is not None:
        if concurrency < 1:
            raise ValueError("concurrency is the number of plain handlers that may run concurrently: at least 1")
        _concurrency = concurrency
        _config["concurrency"] = concurrency


def get_config() -> dict[str, Any]:
    return _config | ({"handlers_dir": _folder.path()} if _folder else {})


def reset_config() -> None:
    global _concurrency, _folder
    _config.clear()
    _concurrency = 1
    _folder = None


def concurrency() -> int:
    """The number of threads for handlers that may overlap: the handlers of tools with `concurrent`, or of all."""
    return _concurrency if _concurrency > 1 else 64


def all_overlap() -> bool:
    """True if plain handlers overlap without saying so themselves."""
    return _concurrency > 1


def discover_handlers() -> None:
    """Loads the files of the folder, in the order of their names. Raises NotADirectoryError if there is none."""
    folder = get_config().get("handlers_dir")
    if not folder:
        return
    import importlib.util
    from pathlib import Path

    path = Path(folder).resolve()
    if not path.is_dir():
        raise NotADirectoryError(f"handlers_dir: {folder} is not a folder")
    for file in sorted(path.glob("*.py")):
        if file.name.startswith("_"):
            continue
        name = f"_protomcp_handler_{file.stem}"
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            continue
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
