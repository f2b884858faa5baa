"""Mistakes in a file: the message names the place, and says the remedy."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pydantic
import pytest
from typing_extensions import NotRequired, ReadOnly, Required

import protomcp
from protomcp import (
    Depends,
    Field,
    ToolError,
    action,
    local_middleware,
    middleware,
    prompt,
    resource,
    resource_template,
    step,
    tool,
    tool_group,
    workflow,
)
from protomcp._types import Types
from protomcp.errors import DeclarationError
from protomcp.testing import Harness


class Plain:
    def __init__(self, value: int) -> None:
        self.value = value


def provider(size: int) -> int:
    return size


async def later() -> int:
    return 1


class Unspoken(pydantic.BaseModel):
    then: Callable[[int], int]


class Things(enum.Enum):
    ONE = object()


def unspoken(items: list[Unspoken]) -> None: ...
def things(thing: Things | None = None) -> None: ...
def pattern(text: Annotated[str, Field(pattern="(")]) -> None: ...
def callback(then: Callable[[int], int]) -> None: ...
def instance(item: Plain) -> None: ...
def nested(items: list[dict[str, Plain]]) -> None: ...
def produces(a: int) -> Any:
    yield a


async def produces_later(a: int) -> Any:
    yield a


def dependent(a: int = Depends(provider)) -> None: ...
def impatient(a: int = Depends(later)) -> None: ...


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (callback, r"the parameter then: Callable\[\[int\], int\] has no form in JSON"),
        (
            instance,
            "the parameter item: Plain has no form in JSON: a dataclass, a TypedDict or a pydantic model has one",
        ),
        (nested, "the parameter items: Plain has no form in JSON"),
        (unspoken, "the parameter items: Unspoken has no form in JSON: Cannot generate a JsonSchema for "),
        (things, "the parameter thing: Things has no form in JSON: a value of type object has no form in JSON"),
        (pattern, "the parameter text: .* has no form in JSON: missing \\), unterminated subpattern"),
        (dependent, "nothing fills in size: give it a default, or `Depends`"),
        (produces, "it yields, and a call has one result: return a list"),
        (produces_later, "it yields"),
        (impatient, "depends on an async function, so it has to be async itself"),
    ],
)
def test_a_wrong_handler_is_named_with_its_place(handler: Any, message: str) -> None:
    tool(handler)
    with pytest.raises(DeclarationError) as found, Harness():
        pass
    text = str(found.value)
    assert re.match(rf"{re.escape(__file__)}:\d+: tool '{handler.__name__}': ", text) and re.search(message, text), text


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("@tool\ndef f(a: type) -> str: ...", "tool 'f': the parameter a: type has no form in JSON"),
        ("@prompt\ndef f(a: type) -> str: ...", "prompt 'f': the parameter a: type has no form in JSON"),
        ("@resource_template('a://{a}')\ndef f(self, a) -> str: ...", "resource template 'a://{a}': nothing fills in"),
        ("@tool(meta={'x': 1e999})\ndef f() -> str: ...", "tool 'f': meta['x'] has no form in JSON: "),
    ],
)
def test_the_log_has_the_message_alone(tmp_path: Any, declaration: str, message: str) -> None:
    """No traceback through the SDK: the place in the file says more."""
    file = tmp_path / "tools.py"
    file.write_text(f"from protomcp import prompt, resource_template, tool\n\n{declaration}\n")
    code = (
        "import os, runpy, socket, threading\n"
        "listener = socket.socket(socket.AF_UNIX); listener.bind('s'); listener.listen()\n"
        "threading.Thread(target=listener.accept, daemon=True).start()\n"
        "os.environ['PROTOMCP_SOCKET'] = 's'\n"
        "runpy.run_path('tools.py')\n"
        "import protomcp; protomcp.run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(protomcp.__path__[0]) + "/.."},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"protomcp: tools.py:3: {message}") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "name",
    [
        "resource",
        "resource_template",
        "tool_group",
        "action",
        "workflow",
        "middleware",
        "server_context",
        "sidecar",
        "completion",
    ],
)
def test_a_decorator_without_its_parentheses_says_so(name: str) -> None:
    decorator: Any = getattr(protomcp, name)
    with pytest.raises(TypeError, match=rf'@{name}\("…"\)'):
        decorator(callback) if name not in ("sidecar", "completion") else decorator(callback, [], "")


@pytest.mark.parametrize("size", [1.5, True, -1, 1 << 63, "1", None])
def test_the_size_of_a_resource_is_a_number_of_bytes(size: Any) -> None:
    with pytest.raises(TypeError, match=f"resource 'a://b': size is a number of bytes, .* and not {size!r}"):
        resource("a://b", size=size)


def test_decorators_with_nothing_to_say_need_no_parentheses() -> None:
    @local_middleware
    def louder(ctx: Any, tool_name: str, args: dict[str, Any], following: Any) -> Any:
        return following(ctx, args).upper()

    @prompt
    def ask() -> str:
        return "What?"

    @tool
    def greet() -> str:
        return "hello"

    with Harness() as tools:
        assert (tools.call(greet).text, tools.get("ask")[0][1]["text"]) == ("HELLO", "What?")


def action_twice(strategy: str) -> None:
    @tool_group("shapes", strategy=strategy)
    class Shapes:
        one = action("same")(lambda self: "")
        two = action("same")(lambda self: "")


def tool_of_group() -> None:
    tool(name="shapes.same")(lambda: "")

    @tool_group("shapes")
    class Shapes:
        one = action("same")(lambda self: "")


def in_a_loop() -> None:
    for value in ("first", "second"):
        tool(name="same")(lambda value=value: value)


@pytest.mark.parametrize(
    ("declare", "about"),
    [
        (lambda: [tool(name="same")(each) for each in (later, produces)], "tool 'same'"),
        (in_a_loop, "tool 'same'"),
        (lambda: action_twice("separate"), "tool 'shapes.same'"),
        (lambda: action_twice("union"), "action of 'shapes', 'same'"),
        (tool_of_group, "tool 'shapes.same'"),
        (lambda: [prompt(name="same")(each) for each in (later, callback)], "prompt 'same'"),
        (lambda: [resource("a://b")(each) for each in (later, callback)], "resource 'a://b'"),
        (lambda: [resource_template("a://{b}")(each) for each in (later, callback)], "resource template 'a://{b}'"),
        (lambda: [middleware("same")(each) for each in (later, callback)], "middleware 'same'"),
    ],
)
def test_two_parts_with_one_name_are_an_error_with_both_places(declare: Callable[[], Any], about: str) -> None:
    declare()
    with pytest.raises(DeclarationError) as found, Harness():
        pass
    place = rf"{re.escape(__file__)}:\d+"
    assert re.fullmatch(rf"{place}: {re.escape(about)}: the name is taken by the one at {place}", str(found.value))


def test_a_file_that_is_run_twice_has_its_tools_once(capfd: pytest.CaptureFixture[str]) -> None:
    """As the program, and as the module that another one imports."""
    text = "from protomcp import tool\n@tool\ndef same() -> str:\n    return __name__\n"
    for name, path in (("__main__", "tools.py"), ("tools", os.path.abspath("tools.py"))):
        exec(compile(text, path, "exec"), {"__name__": name})
    tool(name="other")(later)
    tool(name="other")(later)
    with Harness() as tools:
        assert tools.call("same").text == "tools"
    assert capfd.readouterr().err == ""


def test_a_tool_that_is_registered_again_while_calls_run_is_named_once(capfd: pytest.CaptureFixture[str]) -> None:
    tool(name="same")(lambda: "first")
    with Harness() as tools:
        tool(name="same")(lambda: "second")
        assert tools.call("same").text == "second"
        tool(name="other")(lambda: "other")
        assert tools.call("same").text == "second"
    said = capfd.readouterr().err
    assert said.count("two tools are named 'same'") == 1 and f"{__file__}:" in said


def unknown(first: Missing, rest: list[Missing] | None = None, *, when: later.Missing = 1) -> Missing:  # type: ignore[name-defined]  # noqa: F821
    return [first, rest, when]


@dataclasses.dataclass
class Unknown:
    inner: Missing  # type: ignore[name-defined]  # noqa: F821


def test_an_annotation_for_type_checkers_alone_is_any_value(capfd: pytest.CaptureFixture[str]) -> None:
    tool(unknown)

    @tool
    async def injected(
        how: protomcp.AsyncContext,
        value: Annotated[Missing, Depends(lambda: 1)],  # type: ignore[name-defined]  # noqa: F821
    ) -> str:
        return f"{value} {type(how).__name__}"

    @tool
    def inside(item: Unknown, how: AsyncContext) -> str:  # type: ignore[name-defined]  # noqa: F821
        return f"{item} {type(how).__name__}"

    @prompt
    def ask(topic: Missing) -> str:  # type: ignore[name-defined]  # noqa: F821
        return f"about {topic}"

    with Harness() as tools:
        assert tools.call(unknown, first=[1]).structured is None
        assert tools.call(unknown, first=[1], rest=[{"a": 2}]).text == '[[1],[{"a":2}],1]'
        assert "at /rest: expected array" in tools.call(unknown, first=1, rest=2).text
        assert tools.call(injected).text == "1 AsyncContext"
        assert json.loads(tools.tools["injected"].input_schema_json)["properties"] == {}
        assert tools.call(inside, item={"inner": 1}).text == "{'inner': 1} AsyncContext"
        assert tools.get("ask", topic="tea")[0][1]["text"] == "about tea"
        tool(name="other")(lambda: "")
        tools.call("other")
    said = capfd.readouterr().err
    anything = "takes any value where its type is not known"
    place = f"{__file__}:{unknown.__code__.co_firstlineno}"
    for name, text in (("first", "Missing"), ("rest", "list[Missing] | None"), ("when", "later.Missing")):
        assert said.count(f"{place}: the parameter {name} {anything}: {text} cannot be resolved: ") == 1
    assert said.count(f"the parameter item {anything}: Unknown cannot be resolved: name 'Missing'") == 1
    assert said.count(anything) == 5


class Base(TypedDict, total=False):
    note: str
    id: Required[int]


class Derived(Base):
    name: str
    children: NotRequired[list[Derived]]
    frozen: ReadOnly[NotRequired[int]]


def test_keys_are_required_as_they_are_marked() -> None:
    """All annotations of this file are text, in which the class does not see the marks."""
    types = Types(globals())
    types.of(Derived)
    assert sorted(types.definitions["Derived"]["required"]) == ["id", "name"]


def test_a_step_that_fails_is_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    @workflow("flow")
    class Flow:
        @step(description="Begins.", initial=True, next=["end"])
        def begin(self, how: str) -> str:
            if how == "expected":
                raise ToolError("not today")
            return {"good": "begun"}[how]

        @step(description="Ends.", terminal=True)
        def end(self) -> None: ...

    with Harness() as tools:
        assert "not today" in tools.call("flow.begin", how="expected").text
        assert capfd.readouterr().err == ""
        assert "KeyError: 'bad'" in tools.call("flow.begin", how="bad").text
        assert 'return {"good": "begun"}[how]' in capfd.readouterr().err


def test_an_action_has_parameters_that_arrive() -> None:
    @tool_group("union", strategy="union")
    class Union:
        @action("run")
        def run(self, action: str) -> str:
            return action

    with pytest.raises(DeclarationError, match="the parameter action chooses the action: give it another name"):
        Harness().__enter__()


@dataclasses.dataclass
class Options:
    name: str


def other_options() -> type:
    @dataclasses.dataclass
    class Options:
        depth: int

    return Options


def test_actions_may_have_types_of_one_name() -> None:
    def first(self: Any, options: Options) -> str:
        return repr(options)

    def second(self: Any, options: Any, more: Options | None = None) -> str:
        return repr(options)

    second.__annotations__["options"] = other_options()
    tool_group("union", strategy="union")(type("Union", (), {"a": action("a")(first), "b": action("b")(second)}))
    with Harness() as tools:
        schema = json.loads(tools.tools["union"].input_schema_json)
        found = [each["$ref"].rpartition("/")[2] for each in schema["properties"]["options"]["anyOf"]]
        assert [list(schema["$defs"][each]["properties"]) for each in found] == [["name"], ["depth"]]
        assert "depth=1" in tools.call("union", action="b", options={"depth": 1}).text
