"""All that a process has registered, to go back to: a reload begins with what the tool file has registered itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from . import _registry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_REGISTRIES = {
    "tool": ("_registry_of_tools",),
    "group": ("_group_registry",),
    "workflow": ("_workflow_registry",),
    "server_context": ("_context_registry",),
    "local_middleware": ("_local_mw_registry",),
    "resource": ("_resource_registry", "_resource_template_registry"),
    "prompt": ("_prompt_registry",),
    "completion": ("_completion_registry",),
    "telemetry": ("_sink_registry",),
    "sidecar": ("_sidecar_registry",),
    "middleware": ("_middleware_registry",),
    "handover": ("_hand_over", "_take_over"),
    "_lifespan": ("_lifespans",),
    "discovery": ("_loaded_modules",),
}
"""The names of the registries, by module."""


class Registered:
    """A copy of all registries, and the modules of the folder."""

    def __init__(self) -> None:
        self._values = {
            (module.__name__, name): value.copy() if isinstance(value, (list, dict)) else value
            for module, name, value in _registries()
        }

    def restore(self, until: Registered | None = None) -> None:
        """Makes the registries as they were; a registry of a module that was not loaded then becomes empty.

        What was registered after the copy `until` stays.
        """
        for name in _handler_modules():
            sys.modules.pop(name, None)
        for module, name, value in _registries():
            before: Any = self._values.get((module.__name__, name))
            after: Any = until._values.get((module.__name__, name)) if until is not None else value
            if isinstance(value, list):
                known = {id(each) for each in after or ()}
                value[:] = [*(before or ()), *(each for each in value if id(each) not in known)]
            elif isinstance(value, dict):
                added = {key: each for key, each in value.items() if (after or {}).get(key) is not each}
                value.clear()
                value.update((before or {}) | added)
            elif value is after:
                setattr(module, name, before)
        sys.modules.update(_handler_modules())
        _registry.changed()


def update_runs(changes: dict[str, bool]) -> None:
    """Forgets the runs of workflows that were loaded again or are gone. Workflows of the tool file go on.

    `changes` are the tools that are new, or no longer hidden, and those that are hidden now.
    """
    if workflow := sys.modules.get(f"{__package__}.workflow"):
        workflow.keep_runs({id(each.instance) for each in workflow.get_registered_workflows()})
        workflow.note("", changes)


def _registries() -> Iterator[tuple[ModuleType, str, Any]]:
    for module_name, names in _REGISTRIES.items():
        # By their full names: the package has functions under the same names as these modules.
        if module := sys.modules.get(f"{__package__}.{module_name}"):
            for name in names:
                yield module, name, getattr(module, name)


def _handler_modules() -> dict[str, ModuleType]:
    from .discovery import _loaded_modules

    return {each.__name__: each for each in _loaded_modules.values()}
