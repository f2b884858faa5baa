"""Settings of the process, and handlers in a folder."""

from __future__ import annotations

import sys

from ._paths import from_caller
from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ._paths import Place
    from ._reload import Registered

_config: dict[str, Any] = {}
_loaded_modules: dict[str, Any] = {}
_concurrency = 1
_folder: Place | None = None
# All that was registered before the folder was loaded, and afterwards.
_before: Registered | None = None
_after: Registered | None = None


def configure(handlers_dir: str = "", hot_reload: bool = False, *, concurrency: int | None = None) -> None:
    """Sets the folder whose Python files are loaded at the start, and how many plain handlers may run concurrently.

    A relative path is relative to the folder of the tool file.
    Files whose names begin with an underscore are not loaded. With `hot_reload` the folder is loaded again in the
    running process when a file changes. With a `concurrency` above 1 all plain handlers overlap, in threads.
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
    global _after, _before, _concurrency, _folder
    _config.clear()
    _loaded_modules.clear()
    _concurrency = 1
    _folder = None
    _before = _after = None


def concurrency() -> int:
    """The number of threads for handlers that may overlap: the handlers of tools with `concurrent`, or of all."""
    return _concurrency if _concurrency > 1 else 64


def all_overlap() -> bool:
    """True if plain handlers overlap without saying so themselves."""
    return _concurrency > 1


def discover_handlers() -> None:
    """Loads the files of the folder, in the order of their names. With `hot_reload` they replace those from before."""
    global _before
    if _before is not None and _after is not None:
        _before.restore(_after)
        _before = None
    load_handlers()


def load_handlers() -> None:
    """Loads the files of the folder. With `hot_reload` there is nothing else then but what the tool file registers."""
    global _after, _before
    folder = get_config().get("handlers_dir")
    if not folder:
        return
    import importlib.util
    from pathlib import Path

    path = Path(folder).resolve()
    if not path.is_dir():
        print(f"protomcp: handlers_dir: {folder} is not a folder", file=sys.stderr, flush=True)
        return
    if _config.get("hot_reload"):
        from ._reload import Registered

        if _before is None:
            _before = Registered()
        else:
            _before.restore()
    for file in sorted(path.glob("*.py")):
        if file.name.startswith("_"):
            continue
        name = f"_protomcp_handler_{file.stem}"
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            continue
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = _loaded_modules[str(file)] = module
        spec.loader.exec_module(module)
    if _config.get("hot_reload"):
        _after = Registered()
