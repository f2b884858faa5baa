"""Processes that handlers fork: a child that leaves its handler ends, because its parent answers."""

from __future__ import annotations

import os
import sys

from ._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn

count = 0
"""Another number in a child than in its parent."""


def _forked() -> None:
    global count
    count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def leave(error: BaseException | None, about: str) -> NoReturn:
    """Ends this child. `error` is the exception with which the handler has ended in it."""
    status = 0
    try:
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            status = 1
            import traceback

            text = f"{about} has failed in a process that it has forked"
            print(f"protomcp: {text}", file=sys.stderr)
            traceback.print_exception(error)
        for each in (sys.stdout, sys.stderr):
            each.flush()
    finally:
        os._exit(status & 0xFF)
