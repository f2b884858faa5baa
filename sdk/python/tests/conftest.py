"""Each test has its own registries."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from protomcp import (
    _lifespan,
    clear_context_registry,
    clear_group_registry,
    clear_local_middleware,
    clear_middleware_registry,
    clear_registry,
    clear_sidecar_registry,
    clear_telemetry_sinks,
    clear_workflow_registry,
    discovery,
)
from protomcp.completion import clear_completion_registry
from protomcp.handover import clear_handover
from protomcp.prompt import clear_prompt_registry
from protomcp.resource import clear_resource_registry, clear_template_registry
from protomcp.skills import clear_skills

if runs := os.environ.get("FUZZ_RUNS"):
    # `scripts/soak fuzz` has more inputs than the tests of each change, and none of the last run.
    from hypothesis import settings

    settings.register_profile("soak", max_examples=int(runs), deadline=None, database=None)
    settings.load_profile("soak")


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    yield
    clear_registry()
    clear_group_registry()
    clear_workflow_registry()
    clear_context_registry()
    clear_local_middleware()
    clear_middleware_registry()
    clear_telemetry_sinks()
    clear_sidecar_registry()
    clear_completion_registry()
    clear_prompt_registry()
    clear_resource_registry()
    clear_template_registry()
    _lifespan.clear_lifespans()
    clear_handover()
    clear_skills()
    discovery.reset_config()
