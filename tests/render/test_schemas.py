"""Tool schemas: lowered with a report, or refused; never thinned out in silence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from inline_snapshot import snapshot

from mentis.errors import RenderError
from mentis.render.schemas import Dialect, lower_schema, lower_schemas
from mentis.values.tool import ToolDeclaration

DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic", "gemini")


def tool(**schema: object) -> ToolDeclaration:
    return ToolDeclaration("t", "d", schema)


def referring(where: str) -> dict[str, Any]:
    node = {"type": "object", "properties": {"next": {"$ref": f"#/{where}/node"}}}
    return {
        "type": "object",
        "properties": {"head": {"$ref": f"#/{where}/node"}},
        where: {"node": node},
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_every_provider_takes_is_left_alone(dialect: Dialect) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "exclusiveMinimum": 0, "enum": list(range(1000))}},
        "additionalProperties": False,
    }
    lowered = lower_schema(ToolDeclaration("t", "d", schema), dialect)
    assert (lowered.schema, lowered.losses) == (schema, ())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_empty_schema_becomes_an_object_without_properties(dialect: Dialect) -> None:
    assert lower_schema(tool(), dialect).schema == {"type": "object", "properties": {}}


def test_20_references_of_the_old_kind_are_inlined() -> None:
    schema = tool(
        type="object",
        properties={"a": {"$ref": "#/definitions/word", "description": "A word."}},
        definitions={"word": {"type": "string", "minLength": 1}},
    )
    assert lower_schema(schema, "anthropic").schema == snapshot(
        {
            "type": "object",
            "properties": {"a": {"type": "string", "minLength": 1, "description": "A word."}},
        }
    )


@pytest.mark.parametrize("where", ["$defs", "definitions"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_circle_stays_a_reference_that_leads_somewhere(dialect: Dialect, where: str) -> None:
    lowered = lower_schema(ToolDeclaration("t", "d", referring(where)), dialect).schema
    assert "definitions" not in lowered
    assert "node" in lowered["$defs"]  # pyright: ignore[reportOperatorIssue]  # a dict


def test_a_root_that_is_a_reference_is_resolved() -> None:
    schema = tool(**{"$ref": "#/$defs/args", "$defs": {"args": {"type": "object", "title": "A"}}})
    assert lower_schema(schema, "openai").schema["title"] == "A"


def test_little_stands_beside_a_reference_in_gemini() -> None:
    schema = referring("$defs")
    schema["properties"]["head"] |= {"minProperties": 1}
    lowered: Any = lower_schema(ToolDeclaration("t", "d", schema), "gemini").schema
    assert lowered["properties"]["head"] == snapshot(
        {"anyOf": [{"$ref": "#/$defs/node"}], "minProperties": 1}
    )


def test_a_union_at_the_root_is_told_as_text_where_the_schema_may_not_hold_it() -> None:
    schema = tool(type="object", properties={}, anyOf=[{"required": ["a"]}, {"required": ["b"]}])
    lowered = lower_schema(schema, "anthropic")
    assert "anyOf" not in lowered.schema
    assert '"required":["a"]' in lowered.beside
    assert [loss.code for loss in lowered.losses] == ["schema"]
    assert "anyOf" in lower_schema(schema, "gemini").schema


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "object", "properties": [1]}, r"'properties' is \[1\], and no object"),
        ({"type": "object", "required": "a"}, "'required' cannot be 'a'"),
        ({"type": "object", "properties": {"a": 1}}, "1 stands where a schema belongs"),
        ({"type": "object", "anyOf": 1}, "'anyOf' is 1, and no list"),
        ({"type": 1}, "'type' cannot be 1"),
        ({"properties": {"a": {"enum": "x"}}}, "'enum' cannot be 'x'"),
        ({"type": "array"}, "root is of type 'array'"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/no"}}}, "leads nowhere"),
        ({"type": "object", "properties": {"a": {"$ref": "https://h/s"}}}, "not inside it"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "in a circle"),
        ({"type": "object", "default": float("nan")}, "cannot be written as JSON"),
        ({"type": "object", "title": "\ud800"}, "cannot be written as JSON"),
    ],
)
def test_what_cannot_be_said_is_refused(schema: dict[str, object], reason: str) -> None:
    with pytest.raises(RenderError, match=reason):
        lower_schema(ToolDeclaration("t", "d", schema), "openai")


def test_names_of_properties_and_values_are_no_keywords() -> None:
    data = {"properties": 1, "required": "x", "type": 5}
    names = {name: {"type": "string", "default": data, "enum": [data]} for name in data}
    schema = {"type": "object", "properties": {**names, "items": True}, "examples": [data]}
    for dialect in DIALECTS:
        (made,) = lower_schemas([ToolDeclaration("t", "d", schema)], dialect)
        assert made.schema == schema


def test_a_schema_nested_too_deeply_is_refused() -> None:
    deep: dict[str, object] = {"$ref": "#"}
    for _ in range(80):
        deep = {"items": deep}
    with pytest.raises(RenderError, match="nested more than 64 levels"):
        lower_schema(tool(type="object", properties={"a": deep}), "openai")


@pytest.mark.parametrize("name", ["anyOf", "oneOf", "allOf", "not", "enum", "const"])
def test_what_openai_refuses_at_the_root_is_told_as_text(name: str) -> None:
    parts: dict[str, object] = {
        "not": {"required": ["a"]},
        "enum": [{"a": "x"}],
        "const": {"a": "x"},
    }
    part = parts.get(name, [{"required": ["a"]}])
    lowered = lower_schema(tool(type="object", properties={"a": {}}, **{name: part}), "openai")
    assert lowered.schema == {"type": "object", "properties": {"a": {}}}
    assert f'"{name}":' in lowered.beside
    assert [loss.code for loss in lowered.losses] == ["schema"]


def in_a_property(schema: Mapping[str, object], dialect: Dialect) -> object:
    given = ToolDeclaration("t", "d", {"type": "object", "properties": {"a": schema}})
    one, (many,) = lower_schema(given, dialect), lower_schemas([given], dialect)
    assert one.schema == many.schema
    assert (one.losses, many.losses) == ((), ())
    return one.schema["properties"]["a"]  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]  # a dict


def test_a_list_without_items_says_for_openai_that_they_may_be_anything() -> None:
    assert in_a_property({"type": "array"}, "openai") == {"type": "array", "items": {}}
    nullable = {"type": ["array", "null"], "prefixItems": [{"type": "string"}]}
    assert in_a_property(nullable, "openai") == {**nullable, "items": {}}
    assert in_a_property({"type": "array"}, "gemini") == {"type": "array"}


def test_a_row_of_items_is_written_as_it_is_today() -> None:
    row = {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}
    new = {"type": "array", "prefixItems": row["items"]}
    assert in_a_property(row, "anthropic") == in_a_property(row, "gemini") == new
    assert in_a_property(row, "openai") == {**new, "items": {}}
    closed = {**row, "additionalItems": False}
    for dialect in DIALECTS:
        assert in_a_property(closed, dialect) == {**new, "items": False}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_exclusive_bound_is_a_number_today(dialect: Dialect) -> None:
    old = {"type": "number", "minimum": 1, "exclusiveMinimum": True}
    assert in_a_property(old, dialect) == {"type": "number", "exclusiveMinimum": 1}
    loose = {"type": "number", "maximum": 9, "exclusiveMaximum": False}
    assert in_a_property(loose, dialect) == {"type": "number", "maximum": 9}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reference_in_a_value_is_data(dialect: Dialect) -> None:
    data = {"$ref": "https://example.org/schema"}
    schema = {"type": "object", "default": data, "enum": [data], "examples": [data]}
    assert in_a_property(schema, dialect) == schema
    named = {"type": "object", "properties": {"default": {"type": "string", "default": data}}}
    assert in_a_property(named, dialect) == named
