"""Runs the tools of a file: connects to the bridge and serves until it closes the connection."""

from __future__ import annotations

import os
import sys

from . import manager
from ._typing import TYPE_CHECKING
from ._wire import Envelope
from .errors import DeclarationError
from .log import ServerLogger

if TYPE_CHECKING:
    from typing import Any

_send: Any = None


def _to_bridge(envelope: Envelope) -> None:
    if _send is not None:
        _send(envelope)


log: ServerLogger = ServerLogger(_to_bridge)
"""Sends messages to the log of the client."""


def run() -> None:
    """Serves the registered tools, resources and prompts. `pmcp` starts the file; by hand it ends with an error."""
    path = os.environ.get("PROTOMCP_SOCKET")
    if not path:
        print("PROTOMCP_SOCKET is not set: run this file with `pmcp dev`", file=sys.stderr)
        sys.exit(1)
    # Without `socket` around it, whose import takes a tenth of a start.
    import _socket

    stream = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    stream.connect(path)
    try:
        serve(stream)
    except DeclarationError as error:
        # The place in the file says more than the way here.
        sys.exit(f"protomcp: {error}")
    except KeyboardInterrupt as error:
        # The log has the place in the handler already.
        raise error.with_traceback(None) from error.__cause__


def serve(stream: Any) -> None:
    """Serves over a connected socket, until its other end is closed."""
    global _send
    from . import _server

    try:
        server = _server.Server(stream)
        _send = server.link.send
        manager._init(server)
        server.run()
    finally:
        _send = None
        manager._init(None)
        stream.close()
