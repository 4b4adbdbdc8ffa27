"""An earlier rendering, read from a file that `mentis render` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from mentis.codec.forms import from_json, parse
from mentis.errors import BadInput
from mentis.render.compare import find, is_body, read_before
from mentis.values.json import JsonObject
from mentis.values.rendering import CachePlan, Rendering
from mentis.values.source_map import SourceRange
from mentis.values.span import Span


def read_previous(data: bytes, now: Rendering) -> Rendering:
    """From `--body` or `--json`; a body alone does not say where a boundary lay inside a text."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"the previous rendering is not UTF-8: {error}", hint=_HINT) from error
    found = parse(text, what="the previous rendering")
    if not isinstance(found, Mapping):
        raise BadInput("the previous rendering is no JSON object", hint=_HINT)
    told = cast("JsonObject", found)
    if "payload" not in told or "cache_plan" not in told:
        return read_before(_body(told, now.wire), now)
    if told.get("wire") != now.wire:
        raise BadInput(
            f"the previous rendering is for {told.get('wire')!r}, and this one for {now.wire!r}",
            hint="compare renderings of one wire format",
        )
    plan = from_json(CachePlan, json.dumps(told["cache_plan"]))
    payload = _body(told["payload"], now.wire)
    for boundary in plan.boundaries:
        if find(payload, boundary.pointer) is None:
            raise BadInput(
                f"the previous rendering: its cache plan names {boundary.pointer!r}, which its "
                "payload does not have",
                hint=_HINT,
            )
    return Rendering(now.wire, payload, _sources(told), plan, reads=now.reads)


_HINT = "take it from `mentis render --body` or `--json`"


def _body(payload: object, wire: str) -> JsonObject:
    if not is_body(payload, wire):
        raise BadInput(f"the previous rendering holds no body of {wire!r}", hint=_HINT)
    return cast("JsonObject", payload)


def _sources(told: JsonObject) -> dict[str, tuple[Span, ...]]:
    places = told.get("source_map", [])
    if not isinstance(places, list):
        raise BadInput("the previous rendering: its source_map is no list", hint=_HINT)
    sources: dict[str, tuple[Span, ...]] = {}
    for written in cast("list[object]", places):
        place = from_json(SourceRange, json.dumps(written))
        if place.form == "text":
            sources[place.pointer] = (*sources.get(place.pointer, ()), place.span)
    return sources
