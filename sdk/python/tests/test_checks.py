"""Arguments that are hard to check: recursive unions, numbers beyond a double, long values."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
from typing import Annotated, Any, Literal

import pydantic
import pytest

from protomcp import (
    AskError,
    Field,
    Form,
    _types,
    action,
    local_middleware,
    prompt,
    tool,
    tool_group,
)
from protomcp._faults import Faults
from protomcp._json import to_plain
from protomcp._types import Types, load_members
from protomcp._wire import CallToolRequest, ElicitationResponse, Envelope
from protomcp.testing import Harness


@dataclasses.dataclass
class And:
    kids: list[And | Or | Not]
    kind: Literal["and"]


@dataclasses.dataclass
class Or:
    kids: list[And | Or | Not]
    kind: Literal["or"]


@dataclasses.dataclass
class Not:
    kid: And | Or | Not | bool
    kind: Literal["not"] = "not"


@dataclasses.dataclass
class Left:
    of: Left | Right | None = None


@dataclasses.dataclass
class Right:
    of: Left | Right | None
    right: int = 0


@dataclasses.dataclass
class Circle:
    at: list[int]
    radius: int


@dataclasses.dataclass
class Square:
    at: list[int]
    side: int


@dataclasses.dataclass
class Line:
    at: list[int]
    to: list[int]


LEVELS = 30


def chain(inner: Any, wrap: Any) -> Any:
    for _ in range(LEVELS):
        inner = wrap(inner)
    return inner


def right(inner: Any) -> Any:
    return {"of": inner, "right": 1}


@pytest.mark.parametrize(
    ("hint", "value", "text"),
    [
        (And | Or | Not, chain(True, lambda inner: {"kind": "or", "kids": [{"kid": inner}]}), ""),
        (Not | Or | And, chain({"kid": True}, lambda inner: {"kids": [inner], "kind": "and"}), ""),
        (
            And | Or | Not,
            chain("x", lambda inner: {"kids": [{"kid": inner}], "kind": "and"}),
            '/kids/0/kid: expected And or Or or Not or boolean, got "x"',
        ),
        (Left | Right, chain(None, right), ""),
        (list[Left | Right] | list[Right], [chain(None, right)], ""),
        (Left | Right, chain({"right": "x"}, right), "at /of/of"),
    ],
)
def test_a_value_is_visited_once_for_each_type_of_a_union(
    hint: Any, value: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = 0

    def count(*arguments: Any) -> Any:
        nonlocal visits
        visits += 1
        return load_members(*arguments)

    monkeypatch.setattr(_types, "load_members", count)
    faults = Faults()
    loaded = Types(globals()).of(hint).load(value, "", faults)
    assert text in faults.list() if text else not faults, faults.list()
    assert text or to_plain(loaded) is not None
    assert visits <= 2 * LEVELS * 4


def test_types_of_a_union_whose_names_do_not_fit_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    visits = 0

    def count(*arguments: Any) -> Any:
        nonlocal visits
        visits += 1
        return load_members(*arguments)

    monkeypatch.setattr(_types, "load_members", count)
    kind = Types(globals()).of(Circle | Square | Line)
    for value in ({"at": [1], "side": 2}, {"at": [1], "to": [2]}, {"at": [1], "radius": 3}):
        assert to_plain(kind.load(value, "", Faults())) == value
    assert visits == 3
    faults = Faults()
    kind.load({"at": [1], "top": 1}, "", faults)
    assert visits == 6, "all of them, for the faults"
    assert '"radius" is missing' in faults.list()


BEYOND = "expected a number within ±1.8e308, got "
NUMBERS: list[tuple[str, str]] = [
    ("1e999", f"{BEYOND}1e999"),
    ("-1e999", f"{BEYOND}-1e999"),
    ("NaN", f"{BEYOND}NaN"),
    ("-Infinity", f"{BEYOND}-Infinity"),
    ("9" * 400 + ".5", f"{BEYOND}a number of 402 characters"),
    ("9" * 4301, "expected an integer of at most 4,300 digits, got a number of 4301 characters"),
]


class Loose(pydantic.BaseModel):
    of: float


@pytest.mark.parametrize(("number", "text"), NUMBERS, ids=[each[1].rpartition(" got ")[2] for each in NUMBERS])
def test_a_number_that_cannot_be_read_is_named(number: str, text: str) -> None:
    @tool
    def take(
        real: float = 0,
        count: int = 0,
        exact: decimal.Decimal | None = None,
        any: Any = None,
        of: dict[str, Any] | None = None,
        model: Loose | None = None,
    ) -> str:
        raise AssertionError("it is not called")

    @prompt
    def ask(of: float) -> str:
        raise AssertionError("it is not called")

    def call(name: str, arguments: str) -> str:
        tools._send(Envelope("call_tool", CallToolRequest(name, arguments), "req"))
        return str(tools._answer("req", 30.0).result_json)

    with Harness() as tools:
        for name in ("real", "count", "exact", "any"):
            found = call("take", f'{{"{name}": {number}}}')
            assert f"at /{name}: {text}" in found and "invalid arguments" in found
        for name in ("of", "model"):
            assert f"at /{name}/of: {text}" in call("take", f'{{"{name}":{{"of":{number}}}}}')
        with pytest.raises(Exception, match="at /of: expected number, got"):
            tools.get("ask", of=number)
    answer = ElicitationResponse("accept", f'{{"of":{number}}}')
    with pytest.raises(AskError, match=f"at /of: {text}"):
        Form("How much?", Loose)._read(answer)


@pytest.mark.parametrize(
    ("hint", "plain", "text"),
    [
        (float, 10**400, f"{BEYOND}a number of 401 characters"),
        (float, -(10**400), f"{BEYOND}a number of 402 characters"),
        (str, 10**400, "expected string, got a number of 401 digits"),
        (decimal.Decimal, "Infinity", 'expected a number, or a number as text, got "Infinity"'),
        (decimal.Decimal, "NaN", 'expected a number, or a number as text, got "NaN"'),
        (datetime.timedelta, 1e300, "1e+300 is not within ±999999999 days, in seconds"),
        (datetime.timedelta | None, 1e308, "1e+308 is not within ±999999999 days, in seconds"),
        (datetime.timedelta, 10**400, "a number of 401 digits is not within ±999999999 days, in seconds"),
        (dict[float, int], {"1e999": 1}, 'at /1e999: expected a number as the name, got "1e999"'),
        (dict[float, int], {"inf": 1}, 'at /inf: expected a number as the name, got "inf"'),
        (Annotated[int, Field(multiple_of=0.5)], 10**400, "expected a multiple of 0.5, got a number of 401 digits"),
    ],
)
def test_a_number_that_does_not_fit_its_type_is_a_fault(hint: Any, plain: Any, text: str) -> None:
    faults = Faults()
    Types(globals()).of(hint).load(plain, "", faults)
    assert faults.list() == f"- {text}"


def test_large_numbers_that_fit_are_taken() -> None:
    for hint, plain, value in [(int, 10**400, 10**400), (dict[int, str], {str(2**53 + 1): ""}, {2**53 + 1: ""})]:
        faults = Faults()
        assert Types().of(hint).load(plain, "", faults) == value and not faults


class Counted(list[Any]):
    read = 0

    def __iter__(self) -> Any:
        for each in super().__iter__():
            self.read += 1
            yield each


def test_a_long_value_is_named_by_its_size_and_not_written() -> None:
    faults, value = Faults(), Counted(range(100_000))
    faults.expected("", "string", value)
    assert faults.list() == "- expected string, got an array of 100000 elements" and value.read < 100


def test_constants_tell_the_type_that_was_meant() -> None:
    faults = Faults()
    wrong = {"kind": "and", "kids": [{"kid": 1}, {"kid": 2}, {"kid": 3}, {"kid": 4}]}
    Types(globals()).of(And | Or | Not).load(wrong, "", faults)
    assert [place for place, _ in faults.described] == [f"/kids/{at}/kid" for at in range(4)]


class Lax(pydantic.BaseModel):
    on: bool = False


def test_a_tool_with_a_model_checks_its_arguments() -> None:
    @tool
    def lax(model: Lax, n: int = 0) -> str:
        return f"{model.on} {n}"

    @tool
    def strict(n: int) -> Lax:
        return Lax(on=n > 0)

    @tool(input_schema={"type": "object"})
    def given(model: Lax) -> str:
        return "given"

    @tool_group("group")
    class Group:
        @action("lax")
        def lax(self, model: Lax) -> str:
            return "in a group"

    with Harness() as tools:
        checks = {each.name: each.checks_arguments for each in tools._tools}
        assert checks == {"lax": True, "strict": False, "given": False, "group.lax": False}
        assert tools.call("lax", model={"on": "yes"}).text == "True 0"
        refused = tools.call("lax", model={"on": "perhaps"}, n="1")
        assert refused.error is not None and refused.error["error_code"] == "INVALID_ARGUMENTS"
        assert "at /model/on: " in refused.text and 'at /n: expected integer, got "1"' in refused.text


A = Annotated[str, Field(pattern="^(a+)+$")]
SLOW = "a" * 40 + "b"


@dataclasses.dataclass
class Part:
    a: A


def test_a_pattern_is_matched_unless_the_bridge_has_matched_it() -> None:
    @tool
    def plain(
        a: A = "a", either: A | Part | None = None, part: Part | None = None, by: dict[A, int] | None = None
    ) -> str:
        return "taken"

    @tool
    def twice(a: Annotated[str, Field(pattern="^b"), Field(pattern="^.c")]) -> str:
        return "taken"

    @tool(input_schema={"type": "object"})
    def given(a: A) -> str:
        return "taken"

    @tool_group("group")
    class Group:
        @action("plain")
        def plain(self, a: A) -> str:
            return "taken"

    @tool_group("union", strategy="union")
    class Union:
        @action("plain")
        def plain(self, a: A) -> str:
            return "taken"

    def call(tools: Harness, name: str, arguments: dict[str, Any], *, matches: bool) -> bool:
        request = CallToolRequest(name, json.dumps(arguments), arguments_match=matches)
        tools._send(Envelope("call_tool", request, "req"))
        found = tools._answer("req", 30.0)
        assert found.is_error != ("taken" in found.result_json), found.result_json
        return not found.is_error

    with Harness() as tools:
        for name in ("plain", "group.plain"):
            assert call(tools, name, {"a": SLOW}, matches=True)
            assert not call(tools, name, {"a": 1}, matches=True)
            assert not call(tools, name, {"a": "b"}, matches=False)
        assert call(tools, "plain", {"part": {"a": SLOW}}, matches=True)
        assert call(tools, "plain", {"by": {SLOW: 1}}, matches=True)
        # A pattern may decide between types.
        assert not call(tools, "plain", {"either": "b"}, matches=True)
        # The schema has the last pattern alone.
        assert call(tools, "twice", {"a": "bd"}, matches=True)
        assert not call(tools, "twice", {"a": "cc"}, matches=True)
        # The listed schema is another one.
        assert not call(tools, "given", {"a": "b"}, matches=True)
        assert not call(tools, "union", {"action": "plain", "a": "b"}, matches=True)

    @local_middleware
    def change(ctx: Any, name: str, arguments: dict[str, Any], following: Any) -> Any:
        return following(ctx, {"a": "b"})

    @tool
    def changed(a: A) -> str:
        return "taken"

    with Harness() as tools:
        assert not call(tools, "changed", {"a": "a"}, matches=True)


class Step(enum.Enum):
    HALF = 0.5
    WHOLE = 1.0


BOUNDS: list[tuple[Any, list[Any], list[Any], dict[str, Any]]] = [
    (Annotated[str | None, Field(max_length=5)], [None, "12345"], ["123456"], {"maxLength": 5}),
    (Annotated[list[int] | None, Field(min_length=1)], [None, [1]], [[]], {"minItems": 1}),
    (Annotated[str | list[int], Field(max_length=2)], ["ab", [1, 2]], ["abc"], {"maxLength": 2, "maxItems": 2}),
    (
        Annotated[bytes, Field(max_length=2, min_length=1)],
        ["YQ==", "YWI="],
        ["YWJj", ""],
        {"maxLength": 4, "minLength": 4},
    ),
    (Annotated[bytes | str, Field(max_length=2)], ["YWI=", "ab"], ["YWJj"], {}),
    (Annotated[float, Field(multiple_of=0.1)], [0.3, 0.7, 1, 1e6], [0.35], {"multipleOf": 0.1}),
    (
        Annotated[float, Field(multiple_of=0.01)],
        [0.07, 1.15, 1234567.89, 99999999.99, 999999999.99, 1e9],
        [0.075, 1234567.895, 99999999.995, 999999999.995, 1e308],
        {"multipleOf": 0.01},
    ),
    (Annotated[int, Field(multiple_of=3)], [9, 3 * 10**30], [10, 3 * 10**30 + 1], {"multipleOf": 3}),
    (Literal[1, 2], [1, 1.0, 2], [True, 1.5], {"enum": [1, 2]}),
    (Step, [1, 1.0, 0.5], [True, 2], {}),
    (Literal[True], [True], [1, 1.0], {"enum": [True]}),
]


@pytest.mark.parametrize(("hint", "good", "bad", "bounds"), BOUNDS, ids=[str(each[0])[:40] for each in BOUNDS])
def test_bounds_fit_their_type(hint: Any, good: list[Any], bad: list[Any], bounds: dict[str, Any]) -> None:
    kind = Types(globals()).of(hint)
    assert {name: kind.schema.get(name) for name in bounds} == bounds
    lengths = {"minLength", "maxLength", "minItems", "maxItems"} & set(kind.schema)
    assert lengths <= set(bounds)
    for value, is_good in [*((each, True) for each in good), *((each, False) for each in bad)]:
        faults = Faults()
        kind.load(value, "", faults)
        assert bool(faults) is not is_good, (value, faults.list())
