"""Stands at the end of the search path, and gives way to every other `protomcp` that this interpreter can import.

Without one it loads the SDK that `pmcp` keeps next to this folder. It is read by any version of Python 3.
"""


def _lend():
    import os
    import sys
    from importlib.machinery import ModuleSpec, SourceFileLoader

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
            file = os.path.join(folder, "__init__.py")
            spec = ModuleSpec(name, SourceFileLoader(name, file), origin=file, is_package=True)
            spec.submodule_search_locations.append(folder)
            spec.has_location = True
    finally:
        sys.path[:] = path
    if is_lent:
        # As `importlib.util` does it: the import of that module takes a tenth of a start.
        module = type(sys)(name)
        module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, name
        module.__file__, module.__cached__, module.__path__ = file, spec.cached, [folder]
    else:
        from importlib.util import module_from_spec

        module = module_from_spec(spec)
    sys.modules[name] = module
    keeps_none = sys.dont_write_bytecode
    if is_lent:
        # The folder is there for such files; without the compiled ones each start takes a tenth of a second more.
        sys.dont_write_bytecode = False
    try:
        spec.loader.exec_module(module)
        if is_lent and keeps_none:
            # It comes later otherwise.
            __import__(name + "._server")
    finally:
        sys.dont_write_bytecode = keeps_none


_lend()
