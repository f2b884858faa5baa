"""Descriptions and bounds of parameters, for `Annotated`."""

from __future__ import annotations

from typing import Any


class Field:
    """`Annotated[int, Field("How many", ge=1, le=10)]`: a description, bounds, a pattern, examples.

    Numbers: `ge`, `gt`, `le`, `lt`, `multiple_of`. Text, arrays and objects: `min_length`, `max_length`. Text:
    `pattern`, an expression that is searched for. `json_schema` is added to the schema as it is.
    """

    __slots__ = (
        "description",
        "examples",
        "ge",
        "gt",
        "json_schema",
        "le",
        "lt",
        "max_length",
        "min_length",
        "multiple_of",
        "pattern",
        "title",
    )

    def __init__(
        self,
        description: str | None = None,
        *,
        title: str | None = None,
        examples: list[Any] | None = None,
        ge: float | None = None,
        gt: float | None = None,
        le: float | None = None,
        lt: float | None = None,
        multiple_of: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str | None = None,
        json_schema: dict[str, Any] | None = None,
    ) -> None:
        self.description = description
        self.title = title
        self.examples = examples
        self.ge = ge
        self.gt = gt
        self.le = le
        self.lt = lt
        self.multiple_of = multiple_of
        self.min_length = min_length
        self.max_length = max_length
        self.pattern = pattern
        self.json_schema = json_schema
