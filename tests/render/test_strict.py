"""Schemas that a provider enforces: lowered where a tool asks for it, left alone where not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from mentis.render.schemas import Dialect, lower_schema
from mentis.render.strict import enforce_schemas
from mentis.render.wires import render_for
from mentis.settle.optionals import without_nulls
from mentis.values.request import PromptRequest
from mentis.values.tool import ToolDeclaration

from .conftest import BOOK, NATIVE, ROUTES
from .rules import problems

TEXT: dict[str, object] = {"type": "string"}
CLOSED: dict[str, object] = {
    "type": "object",
    "properties": {"a": TEXT},
    "required": ["a"],
    "additionalProperties": False,
}


def tool(schema: object, *, strict: bool | None = True, name: str = "t") -> ToolDeclaration:
    return ToolDeclaration(name, "d", schema, strict=strict)  # pyright: ignore[reportArgumentType]  # test data


def lowered(
    *tools: ToolDeclaration, dialect: Dialect = "openai"
) -> tuple[dict[str, Any], list[str]]:
    made = enforce_schemas([(one, lower_schema(one, dialect)) for one in tools], dialect, able=True)
    return made.schemas, [loss.message for loss in made.losses]


def obj(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties}


def test_what_is_optional_becomes_required_and_nullable_for_openai() -> None:
    inner = obj(x=TEXT)
    schema = {
        **obj(
            a=TEXT,
            b={"type": "integer", "minimum": 1},
            c={"enum": ["x"], "type": "string"},
            d={"const": 1, "description": "One."},
            e={"anyOf": [TEXT, {"type": "integer"}]},
            f={"type": ["string", "null"]},
            g={"type": "array", "items": inner},
            h={"$ref": "#/$defs/node"},
        ),
        "required": ["a"],
        "$defs": {"node": obj(next={"$ref": "#/$defs/node"})},
    }
    schemas, losses = lowered(tool(schema))
    assert losses == []
    assert schemas["t"] == snapshot(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": ["integer", "null"], "minimum": 1},
                "c": {"enum": ["x", None], "type": ["string", "null"]},
                "d": {"anyOf": [{"const": 1}, {"type": "null"}], "description": "One."},
                "e": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
                "f": {"type": ["string", "null"]},
                "g": {
                    "type": ["array", "null"],
                    "items": {
                        "type": "object",
                        "properties": {"x": {"type": ["string", "null"]}},
                        "additionalProperties": False,
                        "required": ["x"],
                    },
                },
                "h": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
            "required": ["a", "b", "c", "d", "e", "f", "g", "h"],
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                    "additionalProperties": False,
                    "required": ["next"],
                }
            },
            "additionalProperties": False,
        }
    )


def test_anthropic_keeps_what_is_optional_and_closes_objects() -> None:
    schemas, losses = lowered(BOOK, dialect="anthropic")
    assert losses == []
    assert schemas["book"]["required"] == ["people"]
    assert schemas["book"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (obj(a={"type": "string", "minLength": 1}), "'minLength' cannot be enforced"),
        (obj(a={"not": TEXT}), "'not' cannot be enforced"),
        ({**obj(), "required": ["a"]}, "it requires 'a', which it does not declare"),
        ({**obj(a=TEXT), "required": ["a", "b"]}, "it requires 'b'"),
        (obj(a={**obj(b=TEXT), "required": ["c"]}), "it requires 'c'"),
        (obj(a={}), "may be anything"),
        (obj(a={"description": "What?"}), "may be anything"),
        (obj(a=True), "may be anything"),
        (obj(a={"type": "array"}), "a value in it may be anything"),
        (obj(a={"type": ["object", "null"]}), "may hold anything"),
        (obj(a={"type": "object"}), "may hold anything"),
        ({**obj(a=TEXT), "additionalProperties": TEXT}, "may hold anything"),
        ({**obj(a=TEXT), "anyOf": [{"required": ["a"]}]}, "stands at its root"),
        (obj(**{f"p{n}": TEXT for n in range(5001)}), "5001 properties"),
        (obj(a={"enum": list(range(1001))}), "1001 enum values"),
        (obj(**{"n" * 120_001: TEXT}), "more than 120000 characters"),
    ],
)
def test_what_cannot_be_enforced_goes_out_unchanged_with_a_loss(
    schema: dict[str, object], reason: str
) -> None:
    schemas, losses = lowered(tool(schema))
    assert schemas == {}
    assert reason in losses[0]
    request = PromptRequest(tool_declarations=(tool(schema),), current_text="Hi")
    rendering = render_for("openai-responses", request, ROUTES["openai-responses"])
    sent = json.loads(rendering.body())["tools"][0]
    plain = lower_schema(tool(schema), "openai").schema
    assert (sent["strict"], sent["parameters"]) == (False, plain)
    assert rendering.losses[0].code == "strict"


def test_a_schema_of_more_than_ten_levels_is_not_enforced() -> None:
    node: dict[str, object] = TEXT
    for _ in range(11):
        node = {**obj(a=node), "required": ["a"]}
    assert "nested more than 10 levels" in lowered(tool(node))[1][0]


def test_anthropic_enforces_no_recursion_and_only_so_many_tools() -> None:
    circle = {**obj(a={"$ref": "#/$defs/n"}), "$defs": {"n": obj(b={"$ref": "#/$defs/n"})}}
    assert "refers to itself" in lowered(tool(circle), dialect="anthropic")[1][0]
    many = [tool(CLOSED, name=f"t{number:02}") for number in range(21)]
    schemas, losses = lowered(*many, dialect="anthropic")
    assert len(schemas) == 20
    assert losses == ["t20: not enforced: 20 enforced tools are the most"]


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({f"p{n}": TEXT for n in range(25)}, "24 optional fields"),
        ({f"p{n}": {"type": ["string", "null"]} for n in range(17)}, "16 unions"),
    ],
)
def test_anthropic_limits_what_is_optional_and_what_is_a_union(
    properties: dict[str, object], reason: str
) -> None:
    required = [] if "24" in reason else list(properties)
    schema = {**obj(**properties), "required": required}
    assert reason in lowered(tool(schema), dialect="anthropic")[1][0]


def test_a_tool_that_does_not_ask_is_enforced_only_where_no_byte_changes() -> None:
    schemas, losses = lowered(
        tool(CLOSED, strict=None, name="fits"),
        tool(obj(a=TEXT), strict=None, name="open"),
        tool({**CLOSED, "required": []}, strict=None, name="optional"),
        tool({**CLOSED, "title": "T", "minProperties": 1}, strict=None, name="other"),
        tool(CLOSED, strict=False, name="never"),
        tool({**CLOSED, "required": ["b"]}, strict=None, name="elsewhere"),
        tool({**CLOSED, "properties": {"a": {}}}, strict=None, name="anything"),
        tool({**CLOSED, "properties": {"a": True}}, strict=None, name="true"),
        tool({**CLOSED, "properties": {"a": {"type": "array"}}}, strict=None, name="list"),
        tool(
            {**CLOSED, "properties": {"a": {"type": "array", "items": {}}}},
            strict=None,
            name="list of anything",
        ),
    )
    assert schemas == {"fits": CLOSED}
    assert losses == []


def test_the_order_of_what_is_required_does_not_matter() -> None:
    held = {"a": TEXT, "b": {"enum": [1]}, "c": {"type": "array", "items": TEXT}}
    fits = {**CLOSED, "properties": held, "required": ["c", "a", "b"]}
    twice = {**fits, "required": ["a", "a", "b"]}
    assert list(lowered(tool(fits, strict=None))[0]) == ["t"]
    assert lowered(tool(twice, strict=None))[0] == {}


def test_many_tools_that_do_not_ask_are_enforced_all_or_none_by_anthropic() -> None:
    many = [tool(CLOSED, strict=None, name=f"t{number}") for number in range(21)]
    assert lowered(*many, dialect="anthropic")[0] == {}
    assert len(lowered(*many[:20], dialect="anthropic")[0]) == 20


@pytest.mark.parametrize("wire", NATIVE)
def test_a_server_that_promises_nothing_is_asked_for_nothing(wire: str) -> None:
    route = replace(ROUTES[wire], facts={"strict_tools": False})
    request = PromptRequest(tool_declarations=(BOOK, tool(CLOSED, strict=None)), current_text="Hi")
    rendering = render_for(wire, request, route)
    assert b'"strict":true' not in rendering.body()
    assert [loss.code for loss in rendering.losses] == ["strict"]


def some_required(held: dict[str, object], keep: int) -> dict[str, object]:
    return {**obj(**held), "required": sorted(held)[:keep]}


def array(item: object) -> dict[str, object]:
    return {"type": "array", "items": item}


LEAVES: list[object] = [TEXT, {"type": "integer"}, {"enum": ["a", "b"]}, {"const": 3}]
SCHEMAS: st.SearchStrategy[object] = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: (
        st.builds(
            some_required,
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.integers(0, 3),
        )
        | inner.map(array)
    ),
    max_leaves=6,
)


@settings(max_examples=40)
@given(schema=SCHEMAS)
def test_whatever_is_enforced_breaks_no_rule_of_the_provider(schema: object) -> None:
    one = tool({**obj(x=schema), "required": ["x"]})
    for wire in ("openai-chat", "openai-responses", "anthropic"):
        request = PromptRequest(tool_declarations=(one,), current_text="Hi")
        payload = json.loads(render_for(wire, request, ROUTES[wire]).body())
        assert problems(wire, payload) == []


def test_null_for_what_is_optional_comes_back_as_absent() -> None:
    given = {"people": 2, "when": None, "where": None}
    assert without_nulls(given, BOOK.parameters, BOOK.parameters) == {"people": 2}


def test_a_reference_with_something_beside_it_is_enforced_by_openai_one_level_down() -> None:
    node = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    told = {"$ref": "#/$defs/node", "description": "Where to begin."}
    schema = {**obj(a=told, b=told), "required": ["a"], "$defs": {"node": node}}
    schemas, losses = lowered(tool(schema))
    assert losses == []
    assert schemas["t"]["properties"] == snapshot(
        {
            "a": {"anyOf": [{"$ref": "#/$defs/node"}], "description": "Where to begin."},
            "b": {
                "anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}],
                "description": "Where to begin.",
            },
        }
    )


def test_only_the_formats_that_openai_knows_are_enforced() -> None:
    assert lowered(tool(obj(a={"type": "string", "format": "date-time"})))[1] == []
    schemas, losses = lowered(tool(obj(a={"type": "string", "format": "uri"})))
    assert schemas == {}
    assert "the format 'uri' cannot be enforced" in losses[0]


def test_a_default_does_not_keep_openai_from_enforcing() -> None:
    schema = obj(
        a={"type": "integer", "default": 3}, b={"type": ["string", "null"], "default": None}
    )
    schemas, losses = lowered(tool(schema))
    assert losses == ["t: its default values are not told"]
    assert schemas["t"]["properties"] == {
        "a": {"type": ["integer", "null"]},
        "b": {"type": ["string", "null"]},
    }
    nothing = obj(b={"type": ["string", "null"], "default": None})
    assert lowered(tool(nothing))[1] == []


def test_gemini_is_asked_to_hold_its_calls_to_their_schemas() -> None:
    def config(*tools: ToolDeclaration, **facts: object) -> tuple[object, list[str]]:
        route = replace(ROUTES["gemini"], facts=facts)
        request = PromptRequest(tool_declarations=tools, current_text="Hi")
        made = render_for("gemini", request, route)
        return json.loads(made.body()).get("toolConfig"), [loss.code for loss in made.losses]

    assert config(BOOK) == ({"functionCallingConfig": {"mode": "VALIDATED"}}, [])
    assert config(tool(CLOSED, strict=None)) == (None, [])
    assert config(BOOK, strict_tools=False) == (None, ["strict"])
