"""Every public name of the published SDK 0.3.1 is here, with its parameters and their defaults.

The published package is asked in its own interpreter. New parameters stand behind the old ones, or are keyword-only.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
from typing import Any

import pytest

from bridge import PUBLISHED

# The modules with the machinery behind `run()` deal in objects of the library protobuf.
MACHINERY = {"execution", "protomcp_pb2", "transport"}

DESCRIBE = """
import importlib, inspect, json, pkgutil, sys
import protomcp

def parameters(value):
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    def default(each):
        if each.default is each.empty:
            return None
        return "factory" if type(each.default).__name__ == "_HAS_DEFAULT_FACTORY_CLASS" else repr(each.default)
    return [[each.name, each.kind.name, default(each)] for each in signature.parameters.values()]

found = {}
for name in ["", *[each.name for each in pkgutil.iter_modules(protomcp.__path__)]]:
    if name in MACHINERY:
        continue
    module = importlib.import_module("protomcp" + ("." + name if name else ""))
    for attribute in dir(module):
        value = getattr(module, attribute)
        home = getattr(value, "__module__", "")
        is_shown = home == module.__name__ if name else attribute in protomcp.__all__
        if attribute.startswith("_") or not is_shown:
            continue
        methods = {
            each: parameters(method) for each, method in inspect.getmembers(value)
            if callable(method) and not each.startswith("_")
        } if inspect.isclass(value) else {}
        found[f"{name}:{attribute}"] = {
            "parameters": parameters(value) if callable(value) else None, "methods": methods,
        }
print(json.dumps(found))
"""


def describe(python: str, path: str = "") -> dict[str, Any]:
    script = f"MACHINERY = {MACHINERY!r}\n" + DESCRIBE
    environment = {"PYTHONPATH": path} if path else {}
    done = subprocess.run([python, "-c", script], env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def covers(ours: list[list[str]] | None, theirs: list[list[str]] | None) -> bool:
    """True if every call that fits the published parameters fits ours and means the same."""
    if theirs is None:
        return True
    if ours is None:
        return False
    for at, (name, kind, default) in enumerate(theirs):
        if kind == "VAR_KEYWORD":
            return any(each[1] == kind for each in ours)
        if at >= len(ours) or ours[at][0] != name:
            return False
        if default == "factory":
            # A list that is made anew for each instance.
            default = "None"
        if default is not None and ours[at][2] != default:
            return False
    return all(each[2] is not None or each[1].startswith("VAR") for each in ours[len(theirs) :])


def test_every_public_name_has_its_parameters() -> None:
    theirs, ours = describe(str(PUBLISHED)), describe(sys.executable, str(importlib.import_module("bridge").SDK))
    assert len(theirs) > 100
    wrong = []
    for name, about in theirs.items():
        mine = ours.get(name)
        if mine is None:
            wrong.append(f"{name} is missing")
        elif not covers(mine["parameters"], about["parameters"]):
            wrong.append(f"{name} has {mine['parameters']}, published {about['parameters']}")
        else:
            for method, parameters in about["methods"].items():
                if not covers(mine["methods"].get(method), parameters):
                    wrong.append(f"{name}.{method} has {mine['methods'].get(method)}, published {parameters}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("ours", "theirs", "fits"),
    [
        ([["a", "POSITIONAL_OR_KEYWORD", None]], [["a", "POSITIONAL_OR_KEYWORD", None]], True),
        ([["b", "POSITIONAL_OR_KEYWORD", None]], [["a", "POSITIONAL_OR_KEYWORD", None]], False),
        ([["a", "POSITIONAL_OR_KEYWORD", "2"]], [["a", "POSITIONAL_OR_KEYWORD", "1"]], False),
        ([["a", "POSITIONAL_OR_KEYWORD", "1"]], [["a", "POSITIONAL_OR_KEYWORD", None]], True),
        (
            [["a", "POSITIONAL_OR_KEYWORD", None], ["b", "KEYWORD_ONLY", "0"]],
            [["a", "POSITIONAL_OR_KEYWORD", None]],
            True,
        ),
        (
            [["a", "POSITIONAL_OR_KEYWORD", None], ["b", "KEYWORD_ONLY", None]],
            [["a", "POSITIONAL_OR_KEYWORD", None]],
            False,
        ),
    ],
)
def test_a_difference_is_found(ours: Any, theirs: Any, fits: bool) -> None:
    assert covers(ours, theirs) is fits


def test_the_bridge_knows_the_keywords_that_are_new() -> None:
    """A file that uses one with the published SDK ends with a remedy: the table of `pmcp` has all of them."""
    bridge = importlib.import_module("bridge")
    advice = (bridge.ROOT / "crates/bridge/src/diagnostics/advice.rs").read_text()
    _, table = advice.split("const KEYWORDS", 1)
    rows = re.findall(r'\("([a-z_]+)", &\[([^]]*)\]\)', table.split("];\n", 1)[0])
    known = {function: re.findall(r'"(\w+)"', keywords) for function, keywords in rows}
    theirs, ours = describe(str(PUBLISHED)), describe(sys.executable, str(bridge.SDK))
    new: dict[str, list[str]] = {}
    for name, about in theirs.items():
        module, function = name.split(":")
        names = {each[0] for each in about["parameters"] or []}
        added = sorted(each[0] for each in ours[name]["parameters"] or [] if each[0] not in names)
        # Errors of classes have another form, and most of them are raised by handlers.
        if added and not module and function.islower():
            new[function] = added
    assert known == new


def test_all_lists_what_there_is() -> None:
    import protomcp

    assert all(hasattr(protomcp, name) for name in protomcp.__all__)
    assert next(iter(inspect.signature(protomcp.tool).parameters)) == "description"
