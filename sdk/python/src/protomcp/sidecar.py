"""Programs that live as long as the tools need them."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from . import _registry
from ._registry import check_text
from .errors import ToolError

if TYPE_CHECKING:
    import subprocess

_F = TypeVar("_F", bound=Callable[..., Any])
_sidecar_registry = _registry.sidecars
_running_processes: dict[str, subprocess.Popen[bytes]] = {}
_starting = threading.Lock()


class SidecarDef:
    """A program and how it is started: `start_on` is first_tool_call or server_start."""

    def __init__(
        self,
        name: str,
        command: list[str],
        health_check: str = "",
        start_on: str = "first_tool_call",
        restart_on_version_mismatch: bool = False,
        health_timeout: float = 30.0,
        health_interval: float = 1.0,
        shutdown_timeout: float = 3.0,
    ) -> None:
        self.name = name
        self.command = command
        self.health_check = health_check
        self.start_on = start_on
        self.restart_on_version_mismatch = restart_on_version_mismatch
        self.health_timeout = health_timeout
        self.health_interval = health_interval
        self.shutdown_timeout = shutdown_timeout

    @property
    def pid_file_path(self) -> str:
        """The file with the number of the process."""
        return os.path.expanduser(f"~/.protomcp/sidecars/{self.name}.pid")


def sidecar(
    name: str,
    command: list[str],
    health_check: str = "",
    start_on: str = "first_tool_call",
    restart_on_version_mismatch: bool = False,
    health_timeout: float = 30.0,
) -> Callable[[_F], _F]:
    """Starts a program before the first call, or with the server (`start_on="server_start"`), once for each name. If it
    ends with an error, the next call starts it again.

    `health_check` is a URL: the start waits until it answers with status 200, `health_timeout` seconds at most. The
    program is stopped with the process. `restart_on_version_mismatch` has no effect, like in the published SDK.
    """
    check_text("sidecar", "a name", name)

    def decorator(func: _F) -> _F:
        if not _sidecar_registry:
            atexit.register(stop_all_sidecars)
        _sidecar_registry.append(
            SidecarDef(name, command, health_check, start_on, restart_on_version_mismatch, health_timeout)
        )
        return func

    return decorator


def get_registered_sidecars() -> list[SidecarDef]:
    return list(_sidecar_registry)


def clear_sidecar_registry() -> None:
    _sidecar_registry.clear()


def is_waiting() -> bool:
    """True if there are sidecars that a call has to start."""
    return any(_is_due(each, "first_tool_call") for each in _sidecar_registry)


def start_sidecars(trigger: str) -> None:
    """Starts the sidecars of this trigger that were not started, and those that have ended with an error.

    A second caller waits until they run.
    """
    with _starting:
        for each in list(_sidecar_registry):
            if _is_due(each, trigger):
                _start(each)


def stop_all_sidecars() -> None:
    """Stops all that run: with SIGTERM, and with SIGKILL after the `shutdown_timeout`."""
    for each in _sidecar_registry:
        _stop(each)


def _is_due(each: SidecarDef, trigger: str) -> bool:
    process = _running_processes.get(each.name)
    if process is None:
        return each.start_on == trigger
    # With status 0 it has started a program that runs by itself. An error may be over: after a save the sidecar of the
    # version before has the port until that version has ended.
    return bool(process.poll())


def _is_healthy(each: SidecarDef) -> bool:
    if not each.health_check:
        return True
    import urllib.request

    try:
        with urllib.request.urlopen(each.health_check, timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False


def _start(each: SidecarDef) -> None:
    import subprocess

    os.makedirs(os.path.dirname(each.pid_file_path), exist_ok=True)
    # A separate session: signals for the tools are not for the sidecar.
    try:
        process = subprocess.Popen(
            each.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        raise ToolError(_say(f"the sidecar {each.name!r} cannot be started: {error}")) from error
    _running_processes[each.name] = process
    with open(each.pid_file_path, "w") as file:
        file.write(str(process.pid))
    deadline = time.monotonic() + each.health_timeout
    pause = 0.02
    while each.health_check and time.monotonic() < deadline and process.poll() is None:
        if _is_healthy(each):
            return
        time.sleep(pause)
        pause = min(pause * 2, each.health_interval)
    if each.health_check:
        status = process.poll()
        ended = f"it has ended with status {status}" if status is not None else f"waited {each.health_timeout:g} s"
        _say(f"the sidecar {each.name!r} does not answer {each.health_check}: {ended}")


def _say(text: str) -> str:
    """Writes a message to the log of `pmcp`."""
    print(f"protomcp: {text}", file=sys.stderr, flush=True)
    return text


def _stop(each: SidecarDef) -> None:
    import subprocess

    process = _running_processes.pop(each.name, None)
    if process is not None and process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=each.shutdown_timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=5)
    try:
        os.remove(each.pid_file_path)
    except FileNotFoundError:
        return
