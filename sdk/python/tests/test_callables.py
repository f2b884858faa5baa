"""A part of a file that can be listed can be used, or the file says at its start why not."""

from __future__ import annotations

import dataclasses
import functools
import json
import operator
import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import pydantic
import pytest

from protomcp import (
    Depends,
    Field,
    Form,
    ToolContext,
    action,
    completion,
    middleware,
    prompt,
    resource,
    resource_template,
    step,
    tool,
    tool_group,
    workflow,
)
from protomcp.errors import DeclarationError
from protomcp.testing import Harness

INF = float("inf")


def taken(a: int, /, b: int = 1) -> str:
    return f"{a} {b}"


def keyword(a: int, b: int = 2) -> str:
    return f"{a} {b}"


def grouped(strategy: str = "separate") -> None:
    @tool_group("shapes", strategy=strategy)
    class Shapes:
        @action("square")
        def square(self, a: int, /) -> int:
            return a


def stepped() -> None:
    @workflow("flow")
    class Flow:
        @step(description="Begins.", initial=True, terminal=True)
        def begin(self, a: int, /) -> str:
            return ""


class Owner:
    def method(self, a: int) -> str:
        return f"{self} {a}"

    def bare(self) -> str:
        return "bare"


def tool_of_class() -> None:
    class Tools:
        @tool
        @classmethod
        def made(cls, a: int) -> str:
            return ""


def class_of_tool() -> None:
    class Tools:
        @classmethod
        @tool("Has a description.")
        def made(cls, a: int) -> str:
            return ""


def tool_of_property() -> None:
    class Tools:
        @tool  # type: ignore[prop-decorator]
        @property
        def made(self) -> str:
            return ""


def property_of_tool() -> None:
    class Tools:
        @property
        @tool
        def made(self) -> str:
            return ""


def tool_of_cached_property() -> None:
    class Tools:
        @tool  # type: ignore[prop-decorator]
        @functools.cached_property
        def made(self) -> str:
            return ""


def action_of_property() -> None:
    @tool_group("shapes")
    class Shapes:
        @action("made")  # type: ignore[prop-decorator]
        @property
        def made(self) -> str:
            raise AssertionError("it is not evaluated")


def property_of_action() -> None:
    @tool_group("shapes")
    class Shapes:
        @property
        @action("made")
        def made(self) -> str:
            raise AssertionError("it is not evaluated")


def dependent(a: str = Depends(Owner.bare)) -> str:
    return a


@functools.wraps(taken)
def wrapping(*args: Any, **kwargs: Any) -> str:
    return taken(*args, **kwargs)


getter: Any = property(Owner.bare)
POSITIONAL = "the parameter a is positional-only, and arguments are passed by name"
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: tool(taken), f"tool 'taken': {POSITIONAL}"),
    (lambda: tool(wrapping), f"tool 'taken': {POSITIONAL}"),
    (lambda: tool(functools.partial(taken, b=2)), f"tool 'partial': {POSITIONAL}"),
    (lambda: tool(operator.add), f"<built-in function add>: tool 'add': {POSITIONAL}"),
    (lambda: tool(functools.partial(operator.add, 1)), "tool 'partial': the parameter b is positional-only"),
    (lambda: tool(dict.fromkeys), "tool 'fromkeys': the parameter iterable is positional-only"),
    (lambda: tool(max), "tool 'max': its parameters are not known to Python"),
    (lambda: tool(Owner.method), "tool 'method': nothing fills in self"),
    (lambda: tool(Owner.bare), "tool 'bare': nothing fills in self"),
    (lambda: tool(dependent), "tool 'dependent': nothing fills in self"),
    (tool_of_class, "tool 'made': a classmethod cannot be called by itself"),
    (class_of_tool, "tool 'made': nothing fills in cls"),
    (tool_of_property, "tool 'made': a property cannot be called by itself"),
    (property_of_tool, "tool 'made': nothing fills in self"),
    (tool_of_cached_property, "tool 'made': a cached_property cannot be called by itself"),
    (grouped, f"tool 'shapes.square': {POSITIONAL}"),
    (lambda: grouped("union"), f"tool 'shapes.square': {POSITIONAL}"),
    (action_of_property, "tool 'shapes.made': a property cannot be called by itself"),
    (property_of_action, "tool 'shapes.made': a property cannot be called by itself"),
    (stepped, f"tool 'flow.begin': {POSITIONAL}"),
    (lambda: prompt(taken), f"prompt 'taken': {POSITIONAL}"),
    (lambda: prompt(getter), "prompt 'bare': a property cannot be called by itself"),
    (lambda: prompt(Owner.method), "prompt 'method': nothing fills in self"),
    (lambda: resource("a://b")(lambda uri, /: ""), "resource 'a://b': the parameter uri is positional-only"),
    (lambda: resource("a://b")(lambda uri, b: ""), "resource 'a://b': nothing fills in b: give it a default"),
    (lambda: resource_template("a://{a}")(taken), f"resource template 'a://{{a}}': {POSITIONAL}"),
    (lambda: resource_template("a://{a}")(Owner.method), "resource template 'a://{a}': nothing fills in self"),
    (lambda: completion("ref/prompt", "p", "x")(taken), f"completion of 'x' of 'p': {POSITIONAL}"),
    (
        lambda: middleware("m")(lambda phase, /, **others: None),
        "middleware 'm': the parameter phase is positional-only",
    ),
]


@pytest.mark.parametrize(("declare", "message"), REFUSED, ids=[each[1] for each in REFUSED])
def test_a_part_that_cannot_be_called_is_named_at_the_start(declare: Callable[[], Any], message: str) -> None:
    declare()
    with pytest.raises(DeclarationError) as found, Harness():
        pass
    text = str(found.value)
    assert message in text and "\n" not in text, text
    assert re.match(rf"{re.escape(__file__)}:\d+: |<built-in|<class|functools", text), text


def test_the_arguments_of_a_partial_object_are_those_that_are_left() -> None:
    tool(name="bound")(functools.partial(taken, 1))
    tool(name="method")(Owner().method)
    with Harness() as tools:
        assert tools.call("bound", b=2).text == "1 2"
        assert tools.call("method", a=2).text.endswith(" 2")


def test_a_static_method_works_like_its_function() -> None:
    class Tools:
        @tool
        @staticmethod
        def plain(a: int, ctx: ToolContext, b: int = 2) -> str:
            """Adds."""
            return f"{a} {b} {type(ctx).__name__}"

        @tool("Adds later.", name="later")
        @staticmethod
        async def coroutine(a: int, b: int = 2) -> str:
            return f"{a} {b}"

        @staticmethod
        @tool
        def below(a: int) -> str:
            return f"{a}"

        @prompt
        @staticmethod
        def ask(topic: str) -> str:
            return f"about {topic}"

        @resource_template("a://{a}")
        @staticmethod
        async def read(a: int) -> str:
            return f"read {a}"

        @resource("b://c")
        @staticmethod
        def fixed(uri: str) -> str:
            return uri

        @completion("ref/prompt", "ask", "topic")
        @staticmethod
        def suggest(typed: str) -> list[str]:
            return [typed + "!"]

    @tool(name="dependent")
    def uses(value: str = Depends(staticmethod(lambda: "given"))) -> str:
        return value

    with Harness() as tools:
        assert json.loads(tools.tools["plain"].input_schema_json)["required"] == ["a"]
        assert tools.tools["plain"].description == "Adds."
        assert tools.call("plain", a=1).text == "1 2 ToolContext"
        assert tools.call("later", a=1, b=3).text == "1 3"
        assert tools.call("below", a=1).text == tools.call(Tools.below, a=1).text == "1"
        assert tools.call("dependent").text == "given"
        assert tools.get("ask", topic="tea")[0][1]["text"] == "about tea"
        assert (tools.read("a://7"), tools.read("b://c")) == (["read 7"], ["b://c"])
        assert tools.complete("ref/prompt", "ask", "topic", "t") == ["t!"]
    assert Tools.plain(1, None, 3) == "1 3 NoneType"  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", ["separate", "union"])
def test_actions_and_steps_are_found_below_any_method(strategy: str) -> None:
    @tool_group("shapes", strategy=strategy)
    class Shapes:
        kind: ClassVar[str] = "shape"

        @action("static")
        @staticmethod
        def static(a: int) -> str:
            return f"static {a}"

        @action("made")
        @classmethod
        async def made(cls, a: int) -> str:
            return f"{cls.kind} {a}"

        @staticmethod
        @action("below")
        def below(a: int) -> str:
            return f"below {a}"

        @property
        def broken(self) -> str:
            raise AssertionError("it is not evaluated")

    @workflow("flow")
    class Flow:
        @step(description="Begins.", initial=True, terminal=True)
        @staticmethod
        def begin(a: int) -> str:
            return f"begun {a}"

    with Harness() as tools:
        for name, text in (("static", "static 1"), ("made", "shape 1"), ("below", "below 1")):
            found = tools.call("shapes", action=name, a=1) if strategy == "union" else tools.call(f"shapes.{name}", a=1)
            assert found.text == text
        assert tools.call("flow.begin", a=1).text == "begun 1"


@dataclasses.dataclass
class Limits:
    low: float = -INF
    steps: list[float] = dataclasses.field(default_factory=lambda: [INF])
    size: int = 3


class Model(pydantic.BaseModel):
    low: float = -INF
    size: int = 3


class Endless(list[Any]):
    def __init__(self) -> None:
        super().__init__([self])


FORMLESS = [
    INF,
    -INF,
    float("nan"),
    [-INF],
    {"a": [INF]},
    10**5000,
    -(10**400),
    "\ud800",
    ["a\udfff"],
    Endless(),
    object(),
]


@pytest.mark.parametrize("default", FORMLESS, ids=lambda value: type(value).__name__)
def test_a_default_without_a_form_in_json_is_left_out(default: Any) -> None:
    def give(count: int, value: Any = default) -> str:
        return f"{count} {value is default}"

    tool(give)
    tool(name="given", input_schema={"type": "object", "properties": {"default": {"default": default}}})(
        lambda **others: "given"
    )

    @tool_group("group", strategy="union")
    class Group:
        @action("give")
        def give(self, value: Any = default) -> str:
            return f"{value is default}"

    @workflow("flow")
    class Flow:
        @step(description="Begins.", initial=True, terminal=True)
        def begin(self, value: Any = default) -> str:
            return f"{value is default}"

    with Harness() as tools:
        for each in tools.tools.values():
            assert "Infinity" not in each.input_schema_json and "NaN" not in each.input_schema_json
            each.input_schema_json.encode()
            assert '"default":{"default"' not in each.input_schema_json
        found = json.loads(tools.tools["give"].input_schema_json)
        assert (found["properties"]["value"], found["required"]) == ({}, ["count"])
        assert tools.call("give", count=1).text == "1 True"
        assert tools.call("group", action="give").text == tools.call("flow.begin").text == "True"


def test_a_long_default_stays() -> None:
    tool(name="long")(lambda digits="9" * 400, size=10**308: "")
    with Harness() as tools:
        properties = json.loads(tools.tools["long"].input_schema_json)["properties"]
    assert (properties["digits"], properties["size"]) == ({"default": "9" * 400}, {"default": 10**308})


def test_parts_of_types_without_a_form_in_json_are_left_out() -> None:
    @tool
    def limited(limits: Limits, model: Model, size: Annotated[float, Field("A size.", ge=-INF, le=9)] = 1) -> Limits:
        return Limits(0.5, [limits.low, model.low].count(-INF) * [1.5], 4)

    with Harness() as tools:
        found = tools.tools["limited"]
        schema = json.loads(found.input_schema_json)
        result = tools.call("limited", limits={}, model={})
    assert schema["properties"]["size"] == {"type": "number", "description": "A size.", "maximum": 9, "default": 1}
    for name in ("Limits", "Model"):
        properties = schema["$defs"][name]["properties"]
        assert "default" not in properties["low"] and properties["size"]["default"] == 3
    assert "Infinity" not in found.input_schema_json + found.output_schema_json
    assert result.structured == {"low": 0.5, "steps": [1.5, 1.5], "size": 4}
    json.loads(Form("Which?", Limits2)._message().requested_schema_json, parse_constant=pytest.fail)


@dataclasses.dataclass
class Limits2:
    low: float = -INF


class Loose:
    def __repr__(self) -> str:
        return "Loose()"


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: tool(meta={"a": 1, "x": INF})(keyword), "tool 'keyword': meta['x'] has no form in JSON: "),
        (lambda: tool(meta={"x": "\ud800"})(keyword), "tool 'keyword': meta['x'] has no form in JSON: "),
        (lambda: tool(meta={"x": {"y": Loose()}})(keyword), "tool 'keyword': meta['x'] has no form in JSON: "),
        (lambda: tool(annotations={"x": INF})(keyword), "tool 'keyword': annotations['x'] has no form"),
        (lambda: tool(icons=[{"src": INF}])(keyword), "tool 'keyword': icons has no form"),
        (lambda: tool(input_schema={"x": {1, INF}})(keyword), "tool 'keyword': a schema has no form in JSON: "),
        (lambda: prompt("x", meta={"x": INF})(keyword), "prompt 'keyword': meta['x'] has no form"),
        (lambda: resource("a://b", meta={"x": INF})(lambda: ""), "resource '<lambda>': meta['x'] has no form"),
        (
            lambda: resource_template("a://{b}", meta={"x": INF})(lambda b: ""),
            "resource template '<lambda>': meta['x'] has no form",
        ),
    ],
)
def test_a_meta_without_a_form_in_json_is_named(declare: Callable[[], Any], message: str) -> None:
    declare()
    with pytest.raises(DeclarationError) as found, Harness():
        pass
    assert re.match(rf"{re.escape(__file__)}:\d+: {re.escape(message)}", str(found.value)), found.value
