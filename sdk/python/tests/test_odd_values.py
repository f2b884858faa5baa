"""Results that are not plain: names of files, long integers, iterators, models, pictures with hints."""

from __future__ import annotations

import collections
import ipaddress
import itertools
import types
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from protomcp import (
    Image,
    ResourceContent,
    ToolContext,
    ToolError,
    ToolResult,
    action,
    completion,
    prompt,
    resource,
    step,
    tool,
    tool_group,
    workflow,
)
from protomcp.testing import Harness

NAME = "caf\udcff\ud83d\ude00"
MENDED = "caf\ufffd\U0001f600"


def test_halves_of_surrogates_are_replaced() -> None:
    @tool
    def text() -> str:
        return NAME

    @tool
    def names() -> list[str]:
        return [NAME]

    @tool
    def sizes() -> dict[str, int]:
        return {NAME: 1}

    @tool
    def full() -> ToolResult:
        return ToolResult(NAME, structured_content={"name": NAME}, meta={"name": NAME})

    @tool
    def fails() -> str:
        raise ToolError(NAME, code="X", suggestion=NAME)

    @tool
    def logs(ctx: ToolContext) -> str:
        ctx.log.info(NAME)
        ctx.report_progress(1, 2, NAME)
        return NAME * 100_000

    resource("a://b")(lambda: [NAME, ResourceContent("a://b", NAME)])
    prompt(name="ask")(lambda: NAME)
    completion("ref/prompt", "ask", "x")(lambda typed: [NAME])
    with Harness() as tools:
        assert tools.call(text).text == MENDED
        assert tools.call(names).structured == {"result": [MENDED]}
        assert tools.call(sizes).structured == {MENDED: 1}
        result = tools.call(full)
        assert (result.text, result.structured, result.meta) == (MENDED, {"name": MENDED}, {"name": MENDED})
        result = tools.call(fails)
        assert result.error is not None
        assert (result.text, result.error["message"], result.error["suggestion"]) == (MENDED,) * 3
        call = tools.start(logs)
        assert call.result().text == MENDED * 100_000
        assert (tools.logs, call.progress) == ([("info", {"message": MENDED})], [(1, MENDED)])
        assert tools.read("a://b") == [MENDED, MENDED]
        assert tools.get("ask") == [("user", {"type": "text", "text": MENDED})]
        assert tools.complete("ref/prompt", "ask", "x", "") == [MENDED]


@pytest.mark.parametrize("value", [10**400, [-(10**309)], {"a": 10**400}, {10**400: "key"}], ids=lambda value: "")
def test_an_integer_beyond_json_is_an_error(value: Any) -> None:
    @tool
    def give() -> Any:
        return value

    @tool
    def full() -> ToolResult:
        return ToolResult(value)

    with Harness() as tools:
        if isinstance(value, dict) and 10**400 in value:
            assert tools.call(give).structured == {str(10**400): "key"}
            return
        for each in (give, full):
            result = tools.call(each)
            if value == 10**400:
                assert (result.is_error, result.text) == (False, str(value))
                continue
            assert result.is_error
            expected = "the result has no form in JSON: an integer is beyond the range of numbers in JSON"
            assert result.text == expected


def test_a_text_of_many_digits_is_a_text() -> None:
    @tool
    def give() -> list[str]:
        return ["7" * 5000, str(10**400)]

    with Harness() as tools:
        assert tools.call(give).structured == {"result": ["7" * 5000, str(10**400)]}


def test_iterators_are_lists() -> None:
    cases: dict[str, Callable[[], Any]] = {
        "map": lambda: map(str, [1, 2]),
        "generator": lambda: (str(each) for each in (1, 2)),
        "keys": lambda: {"1": 0, "2": 0}.keys(),
        "values": lambda: {0: "1", 1: "2"}.values(),
        "items": lambda: [list(each) for each in {"1": 0, "2": 0}.items()],
        "deque": lambda: collections.deque(["1", "2"]),
    }
    for name, make in cases.items():
        tool(name=name)(make)

    @tool
    def typed() -> Iterable[str]:
        return map(str, [1, 2])

    @tool
    def proxied() -> dict[str, int]:
        return types.MappingProxyType({"a": 1})  # type: ignore[return-value]

    @tool
    def pictures() -> Any:
        return (Image(b"png") for _ in range(2))

    with Harness() as tools:
        for name in cases:
            expected = '[["1",0],["2",0]]' if name == "items" else '["1","2"]'
            assert tools.call(name).text == expected
        assert tools.call(typed).structured == {"result": ["1", "2"]}
        assert tools.call(proxied).structured == {"a": 1}
        assert [each["type"] for each in tools.call(pictures).content] == ["image", "image"]


def test_a_result_without_a_form_in_json_is_an_error() -> None:
    @tool
    def give() -> Any:
        return object()

    @tool
    def full() -> ToolResult:
        return ToolResult(object())

    with Harness() as tools:
        for each in (give, full):
            result = tools.call(each)
            expected = "the result has no form in JSON: a value of type object has no form in JSON"
            assert (result.is_error, result.text) == (True, expected)


def test_hints_stand_behind_pictures() -> None:
    hints = {"small": {"condition": lambda arguments: True, "message": "it is small"}}

    @tool_group("group")
    class Group:
        @action("draw", hints=hints)
        def draw(self) -> Image:
            return Image(b"png")

        @action("write", hints=hints)
        def write(self) -> Any:
            return ToolResult(["a", Image(b"png")])

        @action("odd", hints=hints)
        def odd(self) -> Any:
            return object()

    with Harness() as tools:
        assert [each["type"] for each in tools.call("group.draw").content] == ["image", "text"]
        result = tools.call("group.write")
        assert [each["type"] for each in result.content] == ["text", "image", "text"]
        assert result.text == "a\n**Hints:**\n- it is small"
        assert tools.call("group.odd").is_error


class Table:
    """A table cannot be asked whether it is true, and has no form in JSON."""

    def __bool__(self) -> bool:
        raise ValueError("the truth of a table is ambiguous")

    def __str__(self) -> str:
        return "a table"


class Letters(collections.abc.Sequence[Any]):
    """Each element is a sequence again."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, at: Any) -> Any:
        if at:
            raise IndexError
        return self

    def __str__(self) -> str:
        return "letters"


OWN = [
    (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
    (ValueError("no disk"), "no disk"),
    (Table(), "a table"),
    (Letters(), "letters"),
    (1 + 2j, "(1+2j)"),
    (float("nan"), "nan"),
    (10**400, str(10**400)),
    (collections.UserString("text"), "text"),
]


@pytest.mark.parametrize(("value", "text"), OWN, ids=[type(each[0]).__name__ for each in OWN])
def test_a_value_with_its_own_text_is_that_text(value: Any, text: str) -> None:
    @tool
    def give() -> Any:
        return value

    @tool
    def full() -> ToolResult:
        return ToolResult(value)

    @tool
    def nested() -> Any:
        return [value]

    @tool_group("group")
    class Group:
        @action("draw", hints={"small": {"condition": lambda arguments: True, "message": "it is small"}})
        def draw(self) -> Any:
            return value

    @workflow("flow")
    class Flow:
        @step("only", initial=True, terminal=True)
        def only(self) -> Any:
            return value

        @step("full", terminal=True)
        def full(self) -> Any:
            return ToolResult(value)

    with Harness() as tools:
        assert [tools.call(each).text for each in (give, full, "flow.only")] == [text] * 3
        assert tools.call("group.draw").text.startswith(f"{text}\n")
        assert tools.call(nested).is_error is not isinstance(value, collections.UserString)


def test_a_user_string_is_text_in_lists_and_objects() -> None:
    text = collections.UserString("text")

    @tool
    def give() -> Any:
        return {"a": [text], "b": text}

    with Harness() as tools:
        assert tools.call(give).structured == {"a": ["text"], "b": "text"}


def test_values_without_their_own_text_are_errors() -> None:
    cases = [object(), [object()], {"a": object()}, types.MappingProxyType({"a": object()}), lambda: 0, [1j]]

    @tool
    def give(at: int) -> Any:
        return cases[at]

    @tool
    def full(at: int) -> ToolResult:
        return ToolResult(cases[at])

    with Harness() as tools:
        for at in range(len(cases)):
            assert tools.call(give, at=at).is_error and tools.call(full, at=at).is_error


def test_an_iterator_without_an_end_is_an_error() -> None:
    expected = "the result has no form in JSON: an iterator has more than 100,000 elements: return a list"
    cases: dict[str, Callable[[], Any]] = {
        "plain": itertools.count,
        "full": lambda: ToolResult(itertools.count()),
        "nested": lambda: {"a": itertools.count()},
        "most": lambda: iter(range(100_000)),
        "list": lambda: list(range(100_001)),
    }
    for name, make in cases.items():
        tool(name=name)(make)
    with Harness() as tools:
        for name in ("plain", "full", "nested"):
            result = tools.call(name)
            assert (result.is_error, result.text) == (True, expected)
        assert not tools.call("most").is_error and not tools.call("list").is_error
