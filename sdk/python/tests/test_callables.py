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
        @staticmethod
        def square(self: Any, a: int) -> int:
            return a


def stepped() -> None:
    @workflow("flow")
    class Flow:
        @step(description="Begins.", initial=True, terminal=True)
        @staticmethod
        def begin(self: Any, a: int) -> str:
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
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: tool(max), "tool 'max': its parameters are not known to Python"),
    (lambda: tool(Owner.method), "tool 'method': nothing fills in self"),
    (lambda: tool(Owner.bare), "tool 'bare': nothing fills in self"),
    (lambda: tool(dependent), "tool 'dependent': nothing fills in self"),
    (tool_of_class, "tool 'made': a classmethod cannot be called by itself"),
    (class_of_tool, "tool 'made': nothing fills in cls"),
    (tool_of_property, "tool 'made': a property cannot be called by itself"),
    (property_of_tool, "tool 'made': nothing fills in self"),
    (tool_of_cached_property, "tool 'made': a cached_property cannot be called by itself"),
    (grouped, "tool 'shapes.square': nothing fills in self"),
    (lambda: grouped("union"), "tool 'shapes.square': nothing fills in self"),
    (action_of_property, "tool 'shapes.made': a property cannot be called by itself"),
    (property_of_action, "tool 'shapes.made': a property cannot be called by itself"),
    (stepped, "tool 'flow.begin': nothing fills in self"),
    (lambda: prompt(getter), "prompt 'bare': a property cannot be called by itself"),
    (lambda: prompt(Owner.method), "prompt 'method': nothing fills in self"),
    (lambda: resource("a://b")(lambda uri, b: ""), "resource 'a://b': nothing fills in b: give it a default"),
    (lambda: resource_template("a://{a}")(Owner.method), "resource template 'a://{a}': nothing fills in self"),
    (lambda: completion("ref/prompt", "p", "x")(Owner.method), "completion of 'x' of 'p': nothing fills in self"),
    (lambda: middleware("m")(lambda self, **others: None), "middleware 'm': nothing fills in self"),
]


@pytest.mark.parametrize(("declare", "message"), REFUSED, ids=[each[1] for each in REFUSED])
def test_a_part_that_cannot_be_called_is_named_at_the_start(declare: Callable[[], Any], message: str) -> None:
    declare()
    with pytest.raises(DeclarationError) as found, Harness():
        pass
    text = str(found.value)
    assert message in text and "\n" not in text, text
    assert re.match(rf"{re.escape(__file__)}:\d+: |<built-in|<class|functools", text), text


class Taker:
    """Without a hash, as each class with `__eq__`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taker)

    def __call__(self, value: str = "", /) -> str:
        return f"{self.name} {value}"


async def coroutine(a: int, /, *, b: int = Depends(Taker("given"))) -> str:
    return f"{a} {b}"


def test_positional_only_parameters_are_passed_by_place() -> None:
    handlers: dict[str, Callable[..., Any]] = {
        "plain": taken,
        "wrapping": wrapping,
        "partial": functools.partial(taken, b=2),
        "add": operator.add,
        "keys": dict.fromkeys,
        "later": coroutine,
        "context": lambda ctx, a=1, b=2, /, *, c=3: f"{type(ctx).__name__} {a} {b} {c}",
    }
    for name, handler in handlers.items():
        tool(name=name)(handler)

    @tool_group("shapes")
    class Shapes:
        @action("square")
        def square(self, a: int, /) -> str:
            return f"{a * a}"

    @middleware("m")
    def around(phase: str, tool_name: str, /, **others: Any) -> None: ...

    with Harness() as tools:
        schema = json.loads(tools.tools["plain"].input_schema_json)
        assert (schema["properties"]["a"], schema["required"]) == ({"type": "integer"}, ["a"])
        assert tools.call("plain", a=1, b=3).text == tools.call("wrapping", a=1, b=3).text == "1 3"
        assert '"a" is missing' in tools.call("plain", b=3).text
        assert tools.call("partial", a=1).text == "1 2"
        assert tools.call("add", a=1, b=2).text == "3"
        assert tools.call("keys", iterable=["x"], value=1).structured == {"x": 1}
        assert tools.call("later", a=1).text == "1 given "
        assert tools.call("context", b=5).text == "ToolContext 1 5 3"
        assert tools.call("shapes.square", a=3).text == "9"


def test_handlers_need_no_hash() -> None:
    for name in ("a", "b"):
        tool(name=name)(Taker(name))
        prompt(name=name)(Taker(name))
        resource(f"{name}://x")(Taker(name))
        resource_template(f"{name}://y/{{value}}")(Taker(name))
        completion("ref/prompt", name, "value")(Taker(name))

    @tool(name="annotated")
    def annotated(value: Annotated[int, {"no": "hash"}, Field(ge=1)]) -> int:
        return value

    with Harness() as tools:
        for name in ("a", "b"):
            assert tools.call(name, value="v").text == tools.get(name, value="v")[0][1]["text"] == f"{name} v"
            assert (tools.read(f"{name}://x"), tools.read(f"{name}://y/z")) == ([f"{name} {name}://x"], [f"{name} z"])
            assert "".join(tools.complete("ref/prompt", name, "value", "t")) == f"{name} t"
        assert tools.call("annotated", value=2).structured == {"result": 2}
        assert tools.call("annotated", value=0).is_error


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


def test_an_annotated_parameter_that_may_be_none_is_optional() -> None:
    @tool
    def take(a: Annotated[int | None, Field("A number.", ge=1)], b: Annotated[int, Field(ge=1)]) -> str:
        return f"{a} {b}"

    with Harness() as tools:
        assert json.loads(tools.tools["take"].input_schema_json)["required"] == ["b"]
        assert tools.call(take, b=1).text == "None 1"
