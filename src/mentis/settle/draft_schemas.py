"""The three arrays as JSON Schemas, for decoding that is held to one.

`bare` is our contract. `wrapped` is the same inside an object, for wires whose root must be one.
`strict` keeps to what the strict modes of providers take: every member required, nothing open, and
so a payload is written as a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from mentis.values.json import JsonObject
from mentis.values.tick import Descriptor, Section

from .drafts import ITEMS
from .goal_patch import HEAVIEST

Form: TypeAlias = Literal["bare", "wrapped", "strict"]
_TEXT: JsonObject = {"type": "string"}
_WEIGHT: JsonObject = {"type": "integer", "minimum": -HEAVIEST, "maximum": HEAVIEST}
_INDEX: JsonObject = {"type": "integer", "minimum": 0}


def draft_schema(
    section: Section, form: Form = "bare", acts: Iterable[Descriptor] = ()
) -> JsonObject:
    """With `acts`, only these can be written, each with a payload of its own schema."""
    match section:
        case "acts":
            array = _array(_drafts(form, tuple(acts)))
        case "goal-tree-patch":
            array = _array(_GOAL_OPS)
        case "l1-memory-patch":
            array = _array(_MEMORY_OPS)
    return array if form == "bare" else _object({ITEMS: array})


def _drafts(form: Form, acts: tuple[Descriptor, ...]) -> list[JsonObject]:
    if not acts:
        return [_draft(_TEXT, _TEXT, _TEXT if form == "strict" else {"type": ["object", "null"]})]
    return [
        _draft(_only(one.endpoint), _only(one.name), _TEXT if form == "strict" else one.schema)
        for one in acts
    ]


def _draft(endpoint: JsonObject, name: JsonObject, payload: JsonObject) -> JsonObject:
    return _object(
        {"endpoint_id": endpoint, "neural_signal_descriptor_id": name, "payload": payload}
    )


def _only(value: str) -> JsonObject:
    return {"type": "string", "enum": [value]}


def _object(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(kinds: list[JsonObject]) -> JsonObject:
    return {"type": "array", "items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}}


_GOAL_OPS: list[JsonObject] = [
    _object(
        {
            "op": _only("sprout"),
            "parent_node_id": _TEXT,
            "node_id": _TEXT,
            "summary": _TEXT,
            "weight": _WEIGHT,
        }
    ),
    _object({"op": _only("prune"), "node_id": _TEXT}),
    _object({"op": _only("tilt"), "node_id": _TEXT, "weight": _WEIGHT}),
]
_MEMORY_OPS: list[JsonObject] = [
    _object({"op": _only("append"), "value": _TEXT}),
    _object({"op": _only("insert"), "index": _INDEX, "value": _TEXT}),
    _object({"op": _only("insert"), "hash": _TEXT, "value": _TEXT}),
    _object({"op": _only("remove"), "index": _INDEX}),
    _object({"op": _only("remove"), "hash": _TEXT}),
]
