"""Imported first: an older Python would fail with an error that does not say the reason."""

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - a file can be run with any interpreter
    raise ImportError(
        "protomcp needs Python 3.10 or later; {} is {}.{}: set PROTOMCP_PYTHON to a newer one".format(
            sys.executable, *sys.version_info[:2]
        )
    )
