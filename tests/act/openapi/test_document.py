"""A document is read once, quickly, and yields what was chosen of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from inline_snapshot import snapshot

from mentis.act.openapi.document import Document, read_document
from mentis.act.openapi.plan import OperationPlan, plan_of
from mentis.act.registry import Registry
from mentis.errors import BadInput
from mentis.ports.act_handler import RecordingHandler
from mentis.values.tool import ToolDeclaration


def document(paths: dict[str, Any], *, version: str = "3.1.0", **more: Any) -> Document:  # noqa: ANN401  # JSON
    return read_document(json.dumps({"openapi": version, "paths": paths, **more}).encode())


def plan(found: Document, name: str) -> OperationPlan:
    return plan_of(found, found.operation(name), frozenset())


PETS: dict[str, Any] = {
    "/pets/{id}": {
        "parameters": [
            {"$ref": "#/components/parameters/Id"},
            {"name": "trace", "in": "header", "schema": {"type": "string"}},
        ],
        "post": {
            "operationId": "feedPet",
            "summary": "Feed a pet.",
            "parameters": [
                {"name": "id", "in": "query", "schema": {"type": "integer"}},
                {"name": "trace", "in": "header", "schema": {"type": "integer"}},
                {"name": "Authorization", "in": "header", "required": True, "schema": {}},
                {
                    "name": "where",
                    "in": "query",
                    "content": {"application/json": {"schema": {"type": "object"}}},
                },
            ],
            "requestBody": {
                "required": True,
                "content": {
                    "text/plain": {"schema": {"type": "string"}},
                    "application/json": {"schema": {"$ref": "#/components/schemas/Meal"}},
                },
            },
        },
    }
}
COMPONENTS: dict[str, Any] = {
    "parameters": {
        "Id": {
            "name": "id",
            "in": "path",
            "required": True,
            "description": "Which pet.",
            "schema": {"type": "string"},
        }
    },
    "schemas": {
        "Meal": {
            "type": "object",
            "title": "Meal",
            "required": ["food", "serial"],
            "properties": {
                "serial": {"type": "integer", "readOnly": True},
                "food": {"$ref": "#/components/schemas/Food"},
                "then": {"$ref": "#/components/schemas/Meal"},
                "title": {"type": "string", "nullable": True, "example": "soup"},
                "grams": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            },
        },
        "Food": {"type": "string", "enum": ["meat", "hay"], "nullable": True},
    },
}


def test_parameters_and_body_become_one_schema_with_its_circles_kept() -> None:
    found = document(PETS, version="3.0.3", components=COMPONENTS)
    made = plan(found, "feedPet")
    assert made.schema == snapshot(
        {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Which pet."},
                "trace": {"type": "integer"},
                "query_id": {"type": "integer"},
                "where": {"type": "object"},
                "body": {"$ref": "#/$defs/Meal"},
            },
            "required": ["id", "body"],
            "additionalProperties": False,
            "$defs": {
                "Food": {"type": ["string", "null"], "enum": ["meat", "hay", None]},
                "Meal": {
                    "type": "object",
                    "required": ["food"],
                    "properties": {
                        "food": {"$ref": "#/$defs/Food"},
                        "then": {"$ref": "#/$defs/Meal"},
                        "title": {"type": ["string", "null"]},
                        "grams": {"type": "number", "exclusiveMinimum": 0},
                    },
                },
            },
        }
    )
    assert [(one.key, one.name, one.place) for one in made.parameters] == [
        ("id", "id", "path"),
        ("trace", "trace", "header"),
        ("query_id", "id", "query"),
        ("where", "where", "query"),
    ]
    assert (made.body, made.media_type) == ("body", "application/json")
    declared = ToolDeclaration("feedPet", "Feed a pet.", made.schema)
    assert Registry([RecordingHandler(declared)]).version == 1


def test_a_document_with_two_thousand_operations_yields_the_chosen_one() -> None:
    paths = {
        f"/things/{number}/{{id}}": {
            "get": {
                "operationId": f"thing{number}",
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "responses": {"200": {"description": "fine"}},
            }
        }
        for number in range(2000)
    }
    found = document(paths, components=COMPONENTS)
    assert len(found.names) == 2000
    assert plan(found, "thing1999").operation.path == "/things/1999/{id}"
    with pytest.raises(BadInput, match="no operation 'thing2000'") as refused:
        found.operation("thing2000")
    assert "did you mean thing" in refused.value.hint


def test_a_long_chain_of_references_is_followed() -> None:
    schemas: dict[str, Any] = {
        f"S{number}": {"properties": {"next": {"$ref": f"#/components/schemas/S{number + 1}"}}}
        for number in range(1500)
    }
    schemas["S1500"] = {"type": "string"}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    found = document({"/a": {"post": {"requestBody": body}}}, components={"schemas": schemas})
    defs: Any = plan(found, "post_a").schema["$defs"]
    assert len(defs) == 1501


def test_an_operation_without_an_id_is_named_by_method_and_path() -> None:
    paths: dict[str, Any] = {
        "/a/{b}/c": {"get": {"parameters": [{"name": "b", "in": "path", "schema": {}}]}}
    }
    assert document(paths).names == ("get_a_b_c",)


def test_an_operation_id_that_stands_twice_is_refused_when_it_is_chosen() -> None:
    twice = {"operationId": "same"}
    found = document({"/a": {"get": twice}, "/b": {"get": twice, "put": {"operationId": "one"}}})
    assert found.operation("one").method == "put"
    with pytest.raises(BadInput, match="2 times: GET /a and GET /b"):
        found.operation("same")


def test_a_broken_part_is_left_out_and_told_and_the_rest_can_be_used() -> None:
    paths: dict[str, Any] = {
        "/a": 3,
        "/b": {"$ref": "#/paths/~1b"},
        "/c": {"get": {"$ref": "other.json#/x"}, "put": {"operationId": "one"}, "delete": {}},
        "/d": {"$ref": "#/nowhere"},
    }
    found = document(paths)
    assert found.names == ("delete_c", "one")
    assert [(one.place, one.reason) for one in found.problems] == [
        ("/a", "3 stands where an object is needed"),
        ("/b", "a $ref leads back to itself"),
        ("GET /c", "$ref 'other.json#/x' points outside of it"),
        ("/d", "$ref '#/nowhere' points at nothing"),
    ]
    assert found.operation("one").method == "put"
    with pytest.raises(BadInput, match="no operation 'two'") as refused:
        found.operation("two")
    assert "in what cannot be read: /a: 3 stands" in refused.value.hint


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"openapi: 3.1.0\npaths: {}\n", "YAML"),
        (b"", "YAML"),
        (b"[]", "YAML"),
        (b"{", "not JSON"),
        (b'{"swagger": "2.0"}', "version is '2.0'"),
        (b'{"openapi": "4.0.0"}', "version is '4.0.0'"),
        (b'{"openapi": 3}', "version is 3"),
        (b'{"openapi": "3.1.0", "openapi": "3.0.0"}', "stands twice"),
        (b'{"openapi": "3.1.0", "x": "\xff"}', "not UTF-8"),
    ],
)
def test_what_is_no_such_document_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_document(content, name="api.json")
    assert why in refused.value.message
    assert refused.value.message.startswith("api.json")


def test_a_document_that_is_too_large_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mentis.act.openapi.document.MOST_BYTES", 3)
    with pytest.raises(BadInput, match="it has 4 bytes, and 3 are allowed"):
        read_document(b"{  }")


FORMS: list[tuple[object, object]] = [
    ({"nullable": True, "allOf": [{}]}, {"anyOf": [{"allOf": [{}]}, {"type": "null"}]}),
    ({"enum": ["a"], "nullable": True}, {"enum": ["a", None]}),
    ({"enum": [None], "nullable": True}, {"enum": [None]}),
    ({"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
    ({"exclusiveMaximum": True}, {}),
    ({"items": True, "default": {"title": 1}}, {"items": True, "default": {"title": 1}}),
    ({"properties": {"a": {"readOnly": True}}}, {"properties": {}}),
]


@pytest.mark.parametrize(("old", "new"), FORMS)
def test_old_forms_are_said_in_the_new_way(old: object, new: object) -> None:
    declared = {"name": "a", "in": "query", "schema": old}
    paths = {"/a": {"get": {"operationId": "a", "parameters": [declared]}}}
    properties: Any = plan(document(paths, version="3.0.0"), "a").schema["properties"]
    assert properties == {"a": new}


def test_a_schema_too_deep_to_follow_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100):
        schema = {"items": schema}
    declared = {"name": "a", "in": "query", "schema": schema}
    with pytest.raises(BadInput, match="nested too deeply"):
        plan(document({"/a": {"get": {"operationId": "a", "parameters": [declared]}}}), "a")


def test_two_parts_of_one_name_keep_apart() -> None:
    first, second = {"$ref": "#/components/schemas/A"}, {"$ref": "#/components/x/A"}
    declared = [{"name": n, "in": "query", "schema": s} for n, s in (("a", first), ("b", second))]
    found = document(
        {"/a": {"get": {"operationId": "a", "parameters": declared}}},
        components={"schemas": {"A": {"type": "string"}}, "x": {"A": {"type": "integer"}}},
    )
    assert plan(found, "a").schema["$defs"] == {"A": {"type": "string"}, "A_2": {"type": "integer"}}


def test_a_document_of_any_odd_shape_is_at_most_refused() -> None:
    assert document({}).names == ()
    assert read_document(b'\xef\xbb\xbf {"openapi": "3.1.0", "paths": []}').names == ()


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"parameters": [{"name": "a", "in": "body"}]}, "is in 'body'"),
        ({"parameters": [{"name": "Host", "in": "header", "required": True}]}, "header Host"),
        ({"parameters": [{"name": "a", "in": "query", "style": "odd"}]}, "style 'odd'"),
        ({"parameters": [{"$ref": "#/components/x"}]}, "points at nothing"),
        ({"parameters": [{"$ref": "other.json#/x"}]}, "points outside"),
        ({"parameters": ["x"]}, "object is needed"),
        ({"requestBody": {"required": True, "content": {"image/png": {}}}}, "body is image/png"),
        (
            {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/gone"}}}}},
            "points at nothing",
        ),
    ],
)
def test_an_operation_that_cannot_be_called_is_refused_by_name(
    operation: dict[str, Any], why: str
) -> None:
    found = document({"/a": {"get": {"operationId": "odd", **operation}}})
    with pytest.raises(BadInput) as refused:
        plan(found, "odd")
    assert why in refused.value.message


@pytest.mark.parametrize(
    "path",
    [
        "/a/{b}",
        "a",
        "/a/../b",
        "/a?x=1",
        "/a b",
        "/./a",
        "/a#b",
        "/a/%2E%2e/b",
        "/a/.%2e",
        "/a%2fb",
    ],
)
def test_a_path_that_would_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(BadInput):
        plan(document({path: {"get": {"operationId": "odd"}}}), "odd")


def test_bodies_that_are_not_needed_and_not_json_are_left_out() -> None:
    body: dict[str, Any] = {"content": {"image/png": {}}}
    made = plan(document({"/a": {"put": {"operationId": "a", "requestBody": body}}}), "a")
    assert (made.body, made.schema["properties"]) == ("", {})
    nested = {"content": {"application/merge-patch+json": {"schema": {"type": "object"}}}}
    made = plan(document({"/a": {"patch": {"operationId": "a", "requestBody": nested}}}), "a")
    assert made.media_type == "application/merge-patch+json"
