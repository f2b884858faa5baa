"""Resources, prompts and completion: the values that they take as text, and the results that they have."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from protomcp import PromptMessage, PromptResult, ResourceResult, completion, prompt, resource, resource_template
from protomcp.testing import Harness


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


VALUES: list[tuple[Any, str, str]] = [
    (int | None, "5", "5"),
    (bool | None, "true", "True"),
    (Level, "2", "<Level.HIGH: 2>"),
    (Level | None, "2", "<Level.HIGH: 2>"),
    (float | int, "1.5", "1.5"),
    (int | str, "5", "'5'"),
    (str | None, "5", "'5'"),
    (Any, "5", "'5'"),
]


@pytest.mark.parametrize(("hint", "text", "value"), VALUES, ids=[str(each[0]) for each in VALUES])
def test_text_is_read_for_its_type(hint: Any, text: str, value: str) -> None:
    def ask(of: Any = None) -> str:
        return repr(of)

    def read(of: Any) -> str:
        return repr(of)

    ask.__annotations__["of"] = read.__annotations__["of"] = hint
    prompt(ask)
    resource_template("a://{of}")(read)
    with Harness() as tools:
        assert tools.get("ask", of=text)[0][1]["text"] == value
        assert tools.get("ask")[0][1]["text"] == "None"
        assert tools.read(f"a://{text}") == [value]


def test_none_is_a_resource_that_does_not_exist() -> None:
    resource("a://b")(lambda: None)
    resource("a://c")(lambda: ResourceResult(None))
    with Harness() as tools:
        assert (tools.read("a://b"), tools.read("a://c")) == ([], [])


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "None"),
        (PromptResult(None), "None"),
        ({"content": "x"}, "a value of type dict"),
        (["a", 5], "a value of type int"),
        (PromptMessage(None, "x"), "a value of type PromptMessage"),  # type: ignore[arg-type]
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_prompt_without_messages_is_an_error(value: Any, named: str) -> None:
    prompt(name="ask")(lambda: value)
    with Harness() as tools, pytest.raises(LookupError) as failure:
        tools.get("ask")
    expected = f"a prompt returns text, messages with a role, or a list of them, not {named}"
    assert str(failure.value) == expected


def test_messages_of_a_prompt_have_many_forms() -> None:
    block = {"type": "text", "text": "c"}
    values = [
        "a",
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": block},
        PromptMessage("user", "d"),
    ]
    prompt(name="ask")(lambda: iter(values))
    with Harness() as tools:
        found = tools.get("ask")
        assert [(role, each["text"]) for role, each in found] == [
            ("user", "a"),
            ("assistant", "b"),
            ("user", "c"),
            ("user", "d"),
        ]


def test_a_completion_that_is_a_text_is_one_value() -> None:
    completion("ref/prompt", "ask", "of")(lambda typed: "tea")
    with Harness() as tools:
        assert tools.complete("ref/prompt", "ask", "of", "") == ["tea"]


def test_lists_and_objects_of_prompts_are_read_from_text() -> None:
    prompt(name="ask")(_ask)
    with Harness() as tools:
        assert tools.get("ask", tags='["a"]', limits='{"a": 1}')[0][1]["text"] == "['a'] {'a': 1}"
        with pytest.raises(LookupError, match='expected array, got "a"'):
            tools.get("ask", tags="a")


def _ask(tags: list[str], limits: dict[str, int] | None = None) -> str:
    return f"{tags} {limits}"


def test_any_names_of_a_template_are_passed() -> None:
    resource_template("a://{of}/{user-id}")(lambda **values: repr(values))
    with Harness() as tools:
        assert tools.read("a://b/c") == ["{'of': 'b', 'user-id': 'c'}"]
