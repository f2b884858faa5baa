"""State that survives a reload: a process hands it over to the one with the next version of the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._json import dump, parse

_F = TypeVar("_F", bound=Callable[..., Any])
_hand_over: Callable[[], Any] | None = None
_take_over: Callable[[Any], Any] | None = None

STATE_MAX = 1 << 20
"""The largest state, in bytes of JSON."""
_LIMIT = 0.8
"""Seconds for which cancelled calls may still run: the bridge waits five for the state, or for this reason."""


def hand_over(func: _F) -> _F:
    """Asks the function for the state of this process when another one is about to replace it.

    It returns anything that has a form in JSON, at most 1 MiB, and is called when no tool runs. The bridge waits
    five seconds for it. The process goes on with its state if the next version fails. There is one such function.
    """
    global _hand_over
    _hand_over = func
    return func


def take_over(func: _F) -> _F:
    """Gives the function the state of the process before, before the tools are listed.

    It has five seconds: if it takes longer, the process before goes on with its state. The annotation of its parameter
    decides the type, as for tools. It is not called at the first start, nor after a crash. If it raises an exception,
    the process serves without the state, and the log has the reason.
    """
    global _take_over
    _take_over = func
    return func


def clear_handover() -> None:
    global _hand_over, _take_over
    _hand_over = _take_over = None


def functions() -> list[Callable[..., Any]]:
    """Those that the file has registered."""
    return [each for each in (_hand_over, _take_over) if each is not None]


async def state(has_calls: Callable[[], bool]) -> bytes:
    """The state, when the last call has ended: one that was cancelled may still run. Empty if there is none."""
    import asyncio

    loop = asyncio.get_running_loop()
    until = loop.time() + _LIMIT
    while has_calls():
        if loop.time() > until:
            raise TimeoutError("a call that was cancelled still runs")
        await asyncio.sleep(0.01)
    if _hand_over is None:
        return b""
    found = dump(await _awaited(_hand_over())).encode()
    if len(found) > STATE_MAX:
        raise ValueError(f"the state has {len(found)} bytes, more than the limit of {STATE_MAX}")
    return found


async def resume(data: bytes) -> None:
    """Gives a state to the function of the file."""
    if _take_over is None:
        raise LookupError("no function takes the state over")
    await _awaited(_take_over(_typed(_take_over, parse(data.decode()))))


def _typed(func: Callable[..., Any], value: Any) -> Any:
    from ._faults import Faults
    from ._input import input_of

    fields = input_of(func).fields
    if not fields:
        return value
    faults = Faults()
    value = fields[0].kind.load(value, "", faults)
    if faults:
        raise ValueError(f"the state does not fit:\n{faults.list()}")
    return value


async def _awaited(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value
