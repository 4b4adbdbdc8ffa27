"""A payload is held against the schema its tool declares, and a bad schema is never an excuse."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.act.payloads import fault_in
from mentis.errors import BadInput
from mentis.values.tool import ToolDeclaration

NUMBERED: dict[str, object] = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}},
        }
    },
    "required": ["items"],
    "additionalProperties": False,
}
TREE: dict[str, object] = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
            "required": ["name"],
        }
    },
    "$ref": "#/$defs/node",
}


def fault(payload: dict[str, object], schema: dict[str, object]) -> str:
    return fault_in(payload, ToolDeclaration("note", "Keeps a note.", schema))


def test_a_payload_that_fits_has_no_fault() -> None:
    assert fault({"items": [{"n": 3}]}, NUMBERED) == ""
    assert fault({"name": "a", "next": {"name": "b"}}, TREE) == ""


@pytest.mark.parametrize(
    ("payload", "schema", "said"),
    [
        (
            {"items": [{"n": 5}, {"n": 1}]},
            NUMBERED,
            "items[1].n: 1 is less than the minimum of 3 (rule minimum: 3)",
        ),
        ({}, NUMBERED, 'arguments: "items" is a required property (rule required: ["items"])'),
        (
            {"name": "a", "next": {"name": 1}},
            TREE,
            'next.name: 1 is not of type "string" (rule type: "string")',
        ),
    ],
)
def test_a_fault_names_the_place_the_value_and_the_rule(
    payload: dict[str, object], schema: dict[str, object], said: str
) -> None:
    assert fault(payload, schema) == said


def test_what_is_no_json_is_told_as_what_it_is() -> None:
    payload: dict[str, object] = {"items": [{"n": float("nan")}]}
    assert fault(payload, NUMBERED) == "items[0].n: nan is not a JSON number"
    for odd in ({"items": [object()]}, {"items": ["\ud800"]}, {1: 2}):
        assert fault(odd, NUMBERED).startswith("arguments: they cannot be checked")  # pyright: ignore[reportArgumentType]  # what a caller in Python may pass


def test_a_fault_is_short_whatever_the_payload_and_the_rule_are() -> None:
    schema: dict[str, object] = {
        "properties": {"a": {"maxLength": 3}, "b": {"enum": [str(n) for n in range(1000)]}}
    }
    said = fault({"a": "x" * 10_000_000, "b": "y" * 1000}, schema)
    assert "a: " in said
    assert len(said) < 1500


def _doubling(levels: int) -> dict[str, object]:
    parts = {
        f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]}
        for n in range(levels)
    }
    return {"$defs": {**parts, f"a{levels}": {"type": "string"}}, "$ref": "#/$defs/a0"}


def _deep(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


_LOOP: dict[str, object] = {"type": "object"}
_LOOP["properties"] = {"a": _LOOP}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        {"properties": {"a": {"$ref": "file:///etc/hostname"}}},
        {"$ref": "#/nowhere"},
        {"$dynamicRef": "#x"},
        {"$schema": "http://127.0.0.1:9/meta"},
        {"type": "objekt"},
        {"properties": 3},
        {"pattern": "(("},
        {"enum": ["x" * 100] * 10_000},
        {"minimum": float("nan")},
        {"default": object()},
        _doubling(30),
        _deep(500),
        _LOOP,
    ],
)
def test_a_hostile_schema_is_refused_by_name(schema: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="schema of tool 'note' cannot be used"):
        fault({"a": 1}, schema)


def test_a_recursion_that_multiplies_with_the_payload_is_refused() -> None:
    branch = {"properties": {"a": {"$ref": "#"}}}
    payload: dict[str, object] = {}
    for _ in range(40):
        payload = {"a": payload}
    with pytest.raises(BadInput, match="multiply"):
        fault(payload, {"anyOf": [{**branch}, {**branch}]})


def test_a_payload_of_many_items_is_not_mistaken_for_an_attack() -> None:
    items = [{"name": str(number)} for number in range(20_000)]
    schema = {**TREE, "$ref": "#/$defs/list"}
    schema["$defs"] = {
        **TREE["$defs"],  # pyright: ignore[reportGeneralTypeIssues]  # known to be a dict
        "list": {"properties": {"all": {"items": {"$ref": "#/$defs/node"}}}},
    }
    assert fault({"all": items}, schema) == ""


def test_a_schema_is_not_taken_for_another_that_lay_in_the_same_place() -> None:
    for number in range(1200):  # each is let go of before the next is made
        schema: dict[str, object] = {"properties": {"n": {"const": number}}}
        assert fault({"n": number}, schema) == ""
        assert fault({"n": -1}, {"properties": {"n": {"const": number}}})
        del schema


@given(
    st.dictionaries(
        st.sampled_from(["items", "x"]),
        st.recursive(
            st.none() | st.integers(-5, 9) | st.text(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["n", "m"]), inner)
            ),
            max_leaves=6,
        ),
    )
)
def test_the_verdict_is_that_of_the_reference_checker(payload: dict[str, object]) -> None:
    reference: Any = jsonschema.Draft202012Validator(NUMBERED)
    assert (fault(payload, NUMBERED) == "") == reference.is_valid(payload)


def test_the_checker_is_loaded_only_when_something_is_checked() -> None:
    code = "import sys, mentis.act.dispatch; sys.exit('jsonschema_rs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
