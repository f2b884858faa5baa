"""Types as schemas, arguments as values, results as structured content."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict

import pydantic
import pytest

from protomcp import (
    Audio,
    Content,
    Depends,
    Field,
    File,
    Form,
    Image,
    Link,
    Refused,
    ToolContext,
    ToolError,
    ToolResult,
    _types,
    prompt,
    tool,
)
from protomcp._faults import Faults, nearest
from protomcp._json import to_plain
from protomcp._types import Types, UnknownType, load_members
from protomcp._wire import CallToolRequest, ElicitationResponse, Envelope
from protomcp.testing import Harness


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Node:
    """A tree."""

    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


class Options(TypedDict, total=False):
    depth: int
    name: str


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Model(pydantic.BaseModel):
    size: int = pydantic.Field(ge=3)
    inner: Model | None = None


UserId = NewType("UserId", int)
WHEN = datetime.datetime(2026, 7, 28, 9, 30, tzinfo=datetime.timezone.utc)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")

VALUES: list[tuple[Any, Any, Any]] = [
    (str, "a", "a"),
    (int, 5.0, 5),
    (float, 5, 5.0),
    (bool, True, True),
    (bytes, "AAE=", b"\0\1"),
    (None, None, None),
    (Any, {"a": [1]}, {"a": [1]}),
    (list[int], [1, 2], [1, 2]),
    (Sequence[int], [1], [1]),
    (set[str], ["a", "a"], {"a"}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], [1, 2], (1, 2)),
    (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (int | str, "a", "a"),
    (int | None, None, None),
    (Literal["a", 1], 1, 1),
    (Color, "red", Color.RED),
    (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
    (Options, {"depth": 1}, {"depth": 1}),
    (Point, {"x": 1}, Point(1.0)),
    (Model, {"size": 3, "inner": {"size": 4}}, Model(size=3, inner=Model(size=4))),
    (list[Model], [{"size": 3}], [Model(size=3)]),
    (datetime.datetime, "2026-07-28T09:30:00Z", WHEN),
    (datetime.date, "2026-07-28", datetime.date(2026, 7, 28)),
    (datetime.timedelta, 1.5, datetime.timedelta(seconds=1.5)),
    (pathlib.Path, "/tmp", pathlib.Path("/tmp")),
    (uuid.UUID, str(ID), ID),
    (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
    (UserId, 7, 7),
    (Annotated[int, Field("How many", ge=1, le=5)], 5, 5),
    (Annotated[str, pydantic.Field(min_length=2)], "ab", "ab"),
]


@pytest.mark.parametrize(("hint", "plain", "value"), VALUES, ids=[str(each[0]) for each in VALUES])
def test_a_value_is_read_and_written(hint: Any, plain: Any, value: Any) -> None:
    faults = Faults()
    loaded = Types(globals()).of(hint).load(plain, "", faults)
    assert not faults, faults.list()
    assert loaded == value and type(loaded) is type(value)
    again = Types(globals()).of(hint).load(to_plain(value), "", faults)
    assert not faults, faults.list()
    assert again == value


FAULTS: list[tuple[Any, Any, str]] = [
    (str, 5, "expected string, got 5"),
    (int, "5", 'expected integer, got "5"'),
    (int, True, "expected integer, got true"),
    (int, 1.5, "expected integer, got 1.5"),
    (bool, 1, "expected boolean, got 1"),
    (bytes, "ä", 'expected bytes in base64, got "ä"'),
    (list[int], [1, "b"], 'at /1: expected integer, got "b"'),
    (tuple[int, str], [1], "expected an array of 2 elements, got [1]"),
    (Color, "rad", 'expected one of "red", "blue", got "rad"; did you mean "red"?'),
    (Literal["fast", "slow"], "fats", 'expected one of "fast", "slow", got "fats"; did you mean "fast"?'),
    (Node, {"valu": 1}, '"value" is missing (integer)\n- unknown argument "valu"; did you mean "value"?'),
    (Node | None, {"value": "1"}, 'at /value: expected integer, got "1"'),
    (int | str, [], "expected integer or string, got []"),
    (Model, {"size": 1}, "at /size: Input should be greater than or equal to 3"),
    (datetime.date, "today", 'expected a date such as 2026-07-28, got "today"'),
    (Annotated[int, Field(ge=1)], 0, "expected at least 1, got 0"),
    (Annotated[str, Field(max_length=2)], "abc", 'expected 2 characters at most, got "abc"'),
    (Annotated[str, Field(pattern="^a")], "b", 'expected text that matches ^a, got "b"'),
    (decimal.Decimal | bool, "x", 'expected number or string or boolean, got "x"'),
    (str, ["x" * 100], "expected string, got an array of 1 elements"),
]


@pytest.mark.parametrize(("hint", "plain", "text"), FAULTS, ids=[f"{each[0]} {each[2][:20]}" for each in FAULTS])
def test_a_fault_says_what_is_expected(hint: Any, plain: Any, text: str) -> None:
    faults = Faults()
    Types(globals()).of(hint).load(plain, "", faults)
    assert faults.list() == f"- {text}"


def test_many_faults_are_counted() -> None:
    faults = Faults()
    Types().of(list[int]).load(["x"] * 20, "", faults)
    assert faults.list().count("\n") == 8 and faults.list().endswith("- and 12 more")


def test_a_type_without_a_form_in_json_is_refused() -> None:
    with pytest.raises(UnknownType, match="Condition has no form in JSON"):
        import threading

        Types().of(threading.Condition)


@pytest.mark.parametrize(
    ("wrong", "meant"), [("nmae", "name"), ("userName", "user_name"), ("Name", "name"), ("password", None)]
)
def test_a_slip_is_recognised_and_another_word_is_not(wrong: str, meant: str | None) -> None:
    assert nearest(wrong, ["name", "user_name", "count"]) == meant


def test_the_schema_of_a_tool() -> None:
    @tool
    def book(name: str, nights: Annotated[int, Field(ge=1)] = 1, node: Node | None = None, *, ctx: ToolContext) -> str:
        """Books a room.

        Args:
            name: The name of
                the guest.
        """
        return name

    with Harness() as tools:
        found = tools.tools["book"]
        schema = __import__("json").loads(found.input_schema_json)
    assert found.description == "Books a room."
    assert schema["properties"] == {
        "name": {"type": "string", "description": "The name of the guest."},
        "nights": {"type": "integer", "minimum": 1, "default": 1},
        "node": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None},
    }
    assert schema["required"] == ["name"]
    assert schema["$defs"]["Node"]["description"] == "A tree."
    assert found.output_schema_json == ""


RESULTS: list[tuple[Any, Any, str, Any]] = [
    (str, "text", "text", None),
    (None, None, "", None),
    (int, 5, "5", {"result": 5}),
    (bool, True, "true", {"result": True}),
    (list[str], ["a"], '["a"]', {"result": ["a"]}),
    (Node, Node(1), '{"value":1,"children":[]}', {"value": 1, "children": []}),
    (Options, {"depth": 1}, '{"depth":1}', {"depth": 1}),
    (Model, Model(size=3), '{"size":3,"inner":null}', {"size": 3, "inner": None}),
    (Color, Color.RED, "red", {"result": "red"}),
    (Node | None, None, "null", {"result": None}),
    (datetime.datetime, WHEN, "2026-07-28T09:30:00+00:00", {"result": "2026-07-28T09:30:00+00:00"}),
    (Any, {"a": 1}, '{"a":1}', {"a": 1}),
    (Any, [1], "[1]", None),
    (dict[str, int], {"a": 1}, '{"a":1}', {"a": 1}),
]


@pytest.mark.parametrize(("hint", "value", "text", "structured"), RESULTS, ids=[str(each[0]) for each in RESULTS])
def test_a_result_has_text_and_structure(hint: Any, value: Any, text: str, structured: Any) -> None:
    def give() -> Any:
        return value

    give.__annotations__["return"] = hint
    tool(give)
    with Harness() as tools:
        result = tools.call(give)
        promised = tools.tools["give"].output_schema_json
    assert not result.is_error
    assert (result.text, result.structured) == (text, structured)
    if promised:
        import jsonschema

        jsonschema.validate(result.structured, __import__("json").loads(promised))


def test_a_broken_promise_is_an_error() -> None:
    @tool
    def wrong() -> Node:
        return {"value": "x"}  # type: ignore[return-value]

    with Harness() as tools:
        result = tools.call(wrong)
    assert result.is_error and "at /value: expected integer" in result.text


def test_contents_are_blocks(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_text("hello")

    @tool
    def several() -> list[str | Content]:
        return ["a", Image(b"\1"), Audio(b"\2", "audio/ogg"), File(tmp_path / "a.txt"), Link("notes://a", size=3)]

    with Harness() as tools:
        blocks = tools.call(several).content
    assert blocks == [
        {"type": "text", "text": "a"},
        {"type": "image", "data": "AQ==", "mimeType": "image/png"},
        {"type": "audio", "data": "Ag==", "mimeType": "audio/ogg"},
        {
            "type": "resource",
            "resource": {"uri": (tmp_path / "a.txt").as_uri(), "mimeType": "text/plain", "text": "hello"},
        },
        {"type": "resource_link", "uri": "notes://a", "name": "a", "size": 3},
    ]


def test_errors_carry_their_details() -> None:
    @tool
    def fail() -> None:
        raise ToolError("no such city", code="NOT_FOUND", suggestion="Try Ulm.", retryable=True)

    @tool
    def result() -> ToolResult:
        return ToolResult("text", structured_content={"a": 1}, meta={"b": 2}, enable_tools=["c"])

    with Harness() as tools:
        failed, full = tools.call(fail), tools.call(result)
    assert failed.error == {
        "error_code": "NOT_FOUND",
        "message": "no such city",
        "suggestion": "Try Ulm.",
        "retryable": True,
    }
    assert (full.text, full.structured, full.meta, full.enable_tools) == ("text", {"a": 1}, {"b": 2}, ["c"])


STEPS: list[str] = []


def connection() -> Any:
    STEPS.append("open")
    yield "connection"
    STEPS.append("close")


async def user_of(db: str = Depends(connection)) -> str:
    return f"user of {db}"


def test_values_of_functions_are_not_in_the_schema() -> None:
    STEPS.clear()

    @tool
    async def query(
        text: str, user: Annotated[str, Depends(user_of)], db: str = Depends(connection), ctx: ToolContext | None = None
    ) -> str:
        return f"{text} {user} {db} {ctx is not None}"

    with Harness() as tools:
        assert '"properties":{"text":{"type":"string"}}' in tools.tools["query"].input_schema_json
        assert tools.call(query, text="a").text == "a user of connection connection True"
        assert tools.call(query, text="a", db="x").is_error
    assert STEPS == ["open", "close"]


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


BEYOND = "expected a number within ±1.8e308, got "
NUMBERS: list[tuple[str, str]] = [
    ("1e999", "1e999"),
    ("-1e999", "-1e999"),
    ("NaN", "NaN"),
    ("-Infinity", "-Infinity"),
    ("9" * 400 + ".5", "a number of 402 characters"),
    ("9" * 4301, "a number of 4301 characters"),
]


class Loose(pydantic.BaseModel):
    of: float


@pytest.mark.parametrize(("number", "text"), NUMBERS, ids=[each[1] for each in NUMBERS])
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
            assert f"at /{name}: {BEYOND}{text}" in found and "invalid arguments" in found
        for name in ("of", "model"):
            assert f"at /{name}/of: {BEYOND}{text}" in call("take", f'{{"{name}":{{"of":{number}}}}}')
        with pytest.raises(Exception, match="at /of: expected number, got"):
            tools.get("ask", of=number)
    answer = ElicitationResponse("accept", f'{{"of":{number}}}')
    with pytest.raises(Refused, match=f"at /of: {BEYOND}{text}"):
        Form("How much?", Loose)._read(answer)


@pytest.mark.parametrize(
    ("hint", "plain", "text"),
    [
        (float, 10**400, f"{BEYOND}a number of 401 characters"),
        (float, -(10**400), f"{BEYOND}a number of 402 characters"),
        (str, 10**400, "expected string, got a number of 401 digits"),
        (decimal.Decimal, "Infinity", 'expected a number, or a number as text, got "Infinity"'),
        (decimal.Decimal, "NaN", 'expected a number, or a number as text, got "NaN"'),
        (datetime.timedelta, 1e300, "expected a number of seconds, got 1e+300"),
        (datetime.timedelta, 10**400, "expected a number of seconds, got a number of 401 digits"),
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
