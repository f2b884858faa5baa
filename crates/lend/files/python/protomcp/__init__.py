"""Stands at the end of the search path, and gives way to every other `protomcp` that this interpreter can import.

Without one it loads the SDK that `pmcp` keeps beside this folder. It is read by any version of Python 3.
"""


def _lend():
    import importlib.util
    import os
    import sys

    name = __name__
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = sys.path[:]
    sys.path[:] = [entry for entry in path if os.path.abspath(entry) != own]
    try:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find and find(name, None)
            # A folder without `__init__.py` has no loader: it only has the name.
            if spec and spec.loader:
                is_lent = False
                break
        else:
            is_lent = True
            folder = os.path.join(os.path.dirname(own), "sdk", name)
            spec = importlib.util.spec_from_file_location(
                name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
            )
    finally:
        sys.path[:] = path
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    keeps_none = sys.dont_write_bytecode
    if is_lent:
        # The folder is there for such files; without the compiled ones each start takes a tenth of a second more.
        sys.dont_write_bytecode = False
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = keeps_none


_lend()
