"""Results and their schemas: models, dataclasses, times; and definitions that share a name."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pathlib
from typing import Any, ClassVar, Generic, TypeVar

import pydantic
import pytest

from protomcp import tool
from protomcp.testing import Harness, Result

T = TypeVar("T")
DAY = datetime.date(2026, 7, 28)


class Secret(pydantic.BaseModel):
    name: str
    password: str = pydantic.Field(exclude=True)


class Aliased(pydantic.BaseModel):
    size: int = pydantic.Field(validation_alias="in", serialization_alias="out")


class Computed(pydantic.BaseModel, extra="forbid"):
    side: int

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.side**2


class Strict(pydantic.BaseModel, strict=True):
    day: datetime.date
    sizes: tuple[int, ...] = ()


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]
    next: Page[T] | None = None


@dataclasses.dataclass
class Whole:
    limit: ClassVar[int] = 3
    factor: dataclasses.InitVar[int]
    side: int
    area: int = dataclasses.field(init=False)
    _secret: str = "x"

    def __post_init__(self, factor: int) -> None:
        self.area = self.side * factor


class Inner(pydantic.BaseModel):
    here: int


def other_inner() -> Any:
    class Inner(pydantic.BaseModel):
        there: str

    return Inner


Other = other_inner()


class Middle(pydantic.BaseModel):
    inner: Inner


def other_middle() -> Any:
    class Middle(pydantic.BaseModel):
        inner: Other  # type: ignore[valid-type]

    return Middle


class Outer(pydantic.BaseModel):
    middle: Middle


class OtherOuter(pydantic.BaseModel):
    middle: other_middle()  # type: ignore[valid-type]


@dataclasses.dataclass
class Times:
    at: datetime.datetime
    day: datetime.date
    hour: datetime.time
    folder: pathlib.Path


class TimesModel(pydantic.BaseModel):
    at: datetime.datetime
    folder: pathlib.Path
    format: str = "path"


def schema_of(tools: Harness, name: str) -> Any:
    return json.loads(tools.tools[name].output_schema_json)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Secret(name="a", password="x"), {"name": "a"}),
        (Aliased.model_validate({"in": 3}), {"out": 3}),
        (Computed(side=3), {"side": 3, "area": 9}),
        (Strict(day=DAY, sizes=(1,)), {"day": "2026-07-28", "sizes": [1]}),
        (Page[int](items=[1]), {"items": [1], "next": None}),
        (Whole(2, 3), {"side": 3, "area": 6}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_of_its_type_is_a_result(value: Any, expected: dict[str, Any]) -> None:
    def one() -> Any:
        return value

    def many() -> Any:
        return {"a": [value]}

    kind = type(value)
    one.__annotations__["return"], many.__annotations__["return"] = kind, dict[str, list[kind]]  # type: ignore[valid-type]
    tool(one)
    tool(many)
    with Harness() as tools:
        assert tools.call(one).structured == expected
        assert tools.call(many).structured == {"a": [expected]}
        schema = schema_of(tools, "one")
        assert set(schema["properties"]) == set(expected)
        assert set(schema.get("required", ())) <= set(expected)


def test_a_result_of_another_type_is_an_error() -> None:
    @tool
    def model() -> Computed:
        return Secret(name="a", password="x")  # type: ignore[return-value]

    @tool
    def whole() -> Whole:
        return {"side": 1, "_secret": "x"}  # type: ignore[return-value]

    with Harness() as tools:
        assert "at /side: Field required" in tools.call(model).text
        assert 'unknown argument "_secret"' in tools.call(whole).text


def test_a_strict_model_takes_json() -> None:
    @tool
    def take(model: Strict) -> str:
        return str(model)

    with Harness() as tools:
        assert tools.call(take, model={"day": "2026-07-28", "sizes": [1]}).text == f"day={DAY!r} sizes=(1,)"
        result = tools.call(take, model={"day": 5})
        assert (result.is_error, "at /model/day: " in result.text) == (True, True)
        assert tools.call(take, model={"day": 10**400}).is_error


def test_times_without_a_zone_have_no_format() -> None:
    now = datetime.datetime(2026, 7, 28, 9, 30)

    @tool
    def plain(of: Times) -> Times:
        return of

    @tool
    def model(of: TimesModel) -> TimesModel:
        return TimesModel(at=now, folder=pathlib.Path("a"))

    with Harness() as tools:
        given = Times(now, DAY, datetime.time(9, 30), pathlib.Path("a"))
        values = {"at": now.isoformat(), "day": "2026-07-28", "hour": "09:30:00", "folder": "a"}
        assert tools.call(plain, of=values).structured == values
        assert given.folder == pathlib.Path("a")
        for name in ("plain", "model"):
            schema = schema_of(tools, name)["properties"]
            formats = {key: each["format"] for key, each in schema.items() if "format" in each}
            assert formats == ({"day": "date"} if name == "plain" else {})
            inputs = json.loads(tools.tools[name].input_schema_json)["$defs"].values()
            found = {each.get("format") for one in inputs for each in one["properties"].values()}
            assert "date-time" in found and "path" not in found


@pytest.mark.parametrize("kinds", [(Outer, OtherOuter), (OtherOuter, Outer), (Inner, OtherOuter), (OtherOuter, Inner)])
def test_models_that_share_a_name_have_their_definitions(kinds: tuple[Any, Any]) -> None:
    def take(a: Any, b: Any) -> str:
        return ""

    take.__annotations__.update(a=kinds[0], b=kinds[1])
    tool(take)
    with Harness() as tools:
        schema = json.loads(tools.tools["take"].input_schema_json)

    def resolved(part: Any) -> Any:
        if isinstance(part, dict) and "$ref" in part:
            return resolved(schema["$defs"][part["$ref"].removeprefix("#/$defs/")])
        if isinstance(part, dict):
            return {key: resolved(each) for key, each in part.items()}
        return part

    leaves = {Outer: "here", Inner: "here", OtherOuter: "there"}
    for name, kind in zip("ab", kinds, strict=True):
        found = resolved(schema["properties"][name])
        while "inner" in found["properties"] or "middle" in found["properties"]:
            found = next(iter(found["properties"].values()))
        assert list(found["properties"]) == [leaves[kind]]


def test_a_generic_model_has_a_name_for_references() -> None:
    @tool
    def take(page: Page[int]) -> Page[int]:
        return page

    with Harness() as tools:
        schema = json.loads(tools.tools["take"].input_schema_json)
        assert schema["properties"]["page"] == {"$ref": "#/$defs/Page_int"}
        assert set(schema["$defs"]) == {"Page_int"}
        page = {"items": [1], "next": {"items": [], "next": None}}
        result: Result = tools.call(take, page=page)
        assert result.structured == page


def test_only_a_strict_model_is_read_a_second_time() -> None:
    seen = []

    class Checked(pydantic.BaseModel):
        size: int

        @pydantic.field_validator("size")
        @classmethod
        def check(cls, size: int) -> int:
            seen.append(size)
            raise ValueError("too large")

    def take(model: Any) -> str:
        return str(model)

    take.__annotations__["model"] = Checked
    tool(take)
    with Harness() as tools:
        assert "at /model/size: Value error, too large" in tools.call("take", model={"size": 1}).text
    assert seen == [1]
