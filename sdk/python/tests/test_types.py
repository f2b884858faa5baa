"""Types as schemas, arguments as values, results as structured content."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, NewType, TypedDict, Union

import pydantic
import pytest

from protomcp import (
    Audio,
    Content,
    Depends,
    Field,
    File,
    Image,
    Link,
    ToolContext,
    ToolError,
    ToolResult,
    tool,
)
from protomcp._faults import Faults, nearest
from protomcp._json import to_plain
from protomcp._types import Types, UnknownType
from protomcp.testing import Harness


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Node:
    """A tree."""

    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


class Plain:
    """A type without a form in JSON."""


@dataclasses.dataclass
class Box:
    size: dataclasses.InitVar[int]
    area: int = 0
    kind: ClassVar[str] = "box"
    maker: dataclasses.InitVar[Plain | None] = None
    bare: dataclasses.InitVar = None  # type: ignore[type-arg]

    def __post_init__(self, size: int, maker: Plain | None, bare: Any) -> None:
        self.area = size * size


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
    (Model, {"size": 1}, "at /size: Input should be greater than or equal to 3, got 1"),
    (Model, {}, "at /size: Field required"),
    (Model, {"size": []}, "at /size: Input should be a valid integer, got []"),
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


JSON = Union[str, int, None, "list[JSON]", "dict[str, JSON]"]


def test_an_alias_may_hold_itself() -> None:
    types = Types({"JSON": JSON})
    schema = types.complete(types.of(JSON).schema)
    choices = [
        *({"type": each} for each in ("string", "integer", "null")),
        *({"$ref": f"#/$defs/{each}"} for each in ("list_JSON", "dict_str__JSON")),
    ]
    assert schema == {
        "anyOf": choices,
        "$defs": {
            "list_JSON": {"type": "array", "items": {"anyOf": choices}},
            "dict_str__JSON": {"type": "object", "additionalProperties": {"anyOf": choices}},
        },
    }

    @tool
    def show(value: JSON) -> str:
        return repr(value)

    with Harness() as tools:
        assert tools.call(show, value=[1, {"a": [None]}]).text == "[1, {'a': [None]}]"
        assert "at /value/0/a/0: expected string" in tools.call(show, value=[{"a": [1.5]}]).text


def test_a_type_as_text_is_the_type() -> None:
    types = Types({})
    assert types.complete(types.of("list[int]").schema) == {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize("hint", [Any, list, None])
def test_a_cyclic_result_is_an_error(hint: Any) -> None:
    @tool(output_type=hint)
    def cyclic(in_object: bool) -> Any:
        result: list[Any] = []
        result.append(result)
        return {"result": result} if in_object else result

    with Harness() as tools:
        for in_object in (False, True):
            found = tools.call(cyclic, in_object=in_object)
            assert found.is_error and "it is cyclic, or nested too deeply" in found.text


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


def test_a_dataclass_takes_what_its_init_takes() -> None:
    @tool
    def box(box: Box) -> int:
        return box.area

    with Harness() as tools:
        assert tools.call(box, box={"size": 3}).text == "9"
        assert '"size" is missing' in tools.call(box, box={"area": 3}).text
        schema = json.loads(tools.tools["box"].input_schema_json)
    assert sorted(schema["$defs"]["Box"]["properties"]) == ["area", "bare", "size"]


def test_the_keys_of_an_enum_are_in_the_schema_of_the_object() -> None:
    assert Types(globals()).of(dict[Color, int]).schema["propertyNames"]["enum"] == ["red", "blue"]
