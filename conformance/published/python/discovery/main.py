"""Tools found in a folder: pmcp dev discovery/main.py.

Every file in handlers/ whose name does not begin with an underscore is loaded. Saving one of them reloads the tools.
"""
from pathlib import Path

from protomcp import configure

configure(handlers_dir=str(Path(__file__).parent / "handlers"))
