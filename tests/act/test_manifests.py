"""Definitions of the origin system become specs, and say what they always said."""

from __future__ import annotations

import pytest

from mentis.act.manifests import hidden_because, spec_from_manifest
from mentis.act.registry import Registry
from mentis.errors import BadInput
from mentis.ports.act_handler import RecordingHandler
from mentis.values.act import ActSpec
from mentis.values.json import JsonObject
from mentis.values.tool import ToolDeclaration


def test_lists_of_fields_become_strings_and_the_brief_describes() -> None:
    spec = spec_from_manifest(
        {
            "name": "diary",
            "brief": "Write into the diary.",
            "required_fields": ["text"],
            "optional_fields": ["mood", "text"],
        }
    )
    text = {"type": "string"}
    assert spec == ActSpec(
        ToolDeclaration(
            "diary",
            "Write into the diary.",
            {"type": "object", "properties": {"text": text, "mood": text}, "required": ["text"]},
        ),
        source="manifest",
    )


def test_a_payload_says_what_is_optional_and_keeps_its_types() -> None:
    spec = spec_from_manifest(
        {
            "description": "Turn a lamp on.",
            "source": "lamps",
            "payload": {
                "lamp": {"type": "str", "description": "Which one."},
                "level": {"type": "int", "optional": True},
                "note": {},
                "colour": "string",
            },
        },
        name="lamp_on",
    )
    assert spec.source == "lamps"
    assert spec.declaration.parameters == {
        "type": "object",
        "properties": {
            "lamp": {"type": "string", "description": "Which one."},
            "level": {"type": "integer"},
            "note": {"type": "string"},
            "colour": {"type": "string"},
        },
        "required": ["lamp", "note", "colour"],
    }
    assert Registry([RecordingHandler(spec)]).version == 1


def test_a_schema_is_taken_over_and_required_names_it_does_not_have_are_left_out() -> None:
    properties = {"a": {"type": "integer"}}
    spec = spec_from_manifest(
        {"type": "count", "schema": {"properties": properties, "required": ["a", "b"]}}
    )
    assert spec.declaration.parameters["properties"] == properties
    assert spec.declaration.parameters["required"] == ["a"]
    assert spec.declaration.description == "Execute count action"
    assert spec_from_manifest({"name": "bare"}).declaration.parameters["properties"] == {}


@pytest.mark.parametrize(
    ("manifest", "scope"),
    [
        ({"name": "x"}, "core"),
        ({"name": "x", "scope": "control"}, "control"),
        ({"name": "x", "external_effects": ["sends mail"]}, "agent"),
        ({"name": "message_web", "external_effects": True}, "message"),
        ({"name": "message_web"}, "message"),
        ({"name": "memory_add"}, "memory"),
    ],
)
def test_the_scope_is_declared_or_follows_from_effects_and_name(
    manifest: JsonObject, scope: str
) -> None:
    spec = spec_from_manifest(manifest)
    assert spec.scope == scope
    assert spec.declaration.external_effects == bool(manifest.get("external_effects"))


@pytest.mark.parametrize(
    "manifest",
    [{}, {"name": "x", "scope": "everything"}, {"name": "x", "required_fields": [1]}],
)
def test_what_cannot_be_meant_is_refused(manifest: JsonObject) -> None:
    with pytest.raises(BadInput):
        spec_from_manifest(manifest)


def test_acts_that_were_never_offered_say_why() -> None:
    assert hidden_because({"description": "Deprecated: use other."}) == "it calls itself deprecated"
    assert hidden_because({"security_level": "admin"}) == "it calls itself admin"
    assert hidden_because({"description": "Administers a vaccine, internally."}) == ""
