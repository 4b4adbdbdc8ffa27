"""Every byte a model reads belongs to a span, whatever the request, in every wire format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given, settings

from mentis.render.wires import RENDERERS, render_for
from mentis.values.part import ReasoningPart, ToolCallPart
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.source_map import FORM, SourceRange, TextReader, texts_of
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .conftest import NATIVE, ROUTES, WORDS, requests_for, said, state_for
from .test_history import REQUESTS

# Strings that steer the exchange and are no words: who speaks, which one, where, what kind.
CONTROL = {
    "anthropic": {"type", "role", "model", "id", "tool_use_id", "ttl", "signature", "data"}
    | {"media_type", "url"},
    "openai-chat": {"type", "role", "model", "id", "tool_call_id", "mode", "ttl", "url", "data"}
    | {"format", "file_data", "prompt_cache_key"},
    "openai-responses": {"type", "role", "model", "id", "call_id", "mode", "ttl", "image_url"}
    | {
        "detail",
        "file_data",
        "file_url",
        "phase",
        "encrypted_content",
        "prompt_cache_key",
        "include",
    },
    "gemini": {"role", "id", "thoughtSignature", "mimeType", "data", "fileUri"},
    "text": set[str](),
    "live": {"type", "model"},
}


def read(body: bytes, place: SourceRange) -> str:
    """The bytes of a range, as what they say."""
    written = body[place.start : place.end]
    return written.decode() if place.form == "json" else json.loads(b'"' + written + b'"')


def words(value: object, control: set[str], key: str = "", pointer: str = "") -> Iterator[str]:
    """The pointers to all strings but those that steer."""
    if isinstance(value, str):
        if value and key not in control:
            yield pointer
    elif isinstance(value, dict):
        for name, part in cast("dict[str, object]", value).items():
            escaped = name.replace("~", "~0").replace("/", "~1")
            yield from words(part, control, name, f"{pointer}/{escaped}")
    elif isinstance(value, list):
        for index, part in enumerate(cast("list[object]", value)):
            yield from words(part, control, key, f"{pointer}/{index}")


def check(rendering: Rendering) -> None:
    body, ranges = rendering.body(), rendering.source_map()
    items = [*TextReader(rendering.sources, rendering.reads).items(rendering.payload)]
    counted = texts_of([place for place in ranges if place.span.source != FORM])
    assert tuple(text for item in items for text in item.texts) == counted, "read the same way"
    assert all(chr(body[item.end]) in ",]}" for item in items), "each ends where it ends"
    for before, after in pairwise(ranges):
        assert before.end <= after.start, "no byte has two spans"
    told: dict[str, str] = {}
    whole: list[str] = []
    for place in ranges:
        assert read(body, place) == place.span.text
        if place.form == "json":
            whole.append(place.pointer)
        told[place.pointer] = told.get(place.pointer, "") + place.span.text
    payload = json.loads(body)
    for pointer in words(payload, CONTROL[rendering.wire]):
        inside = any(pointer.startswith(f"{root}/") for root in whole)
        assert inside or told.get(pointer) == at(payload, pointer), pointer


def at(value: object, pointer: str) -> object:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        here = cast("dict[str, object]", value) if isinstance(value, dict) else None
        value = here[name] if here is not None else cast("list[object]", value)[int(name)]
    return value


@pytest.mark.parametrize("wire", list(RENDERERS))
@settings(max_examples=25)
@given(request=REQUESTS)
def test_every_byte_of_text_is_traced_whatever_is_in_it(wire: str, request: PromptRequest) -> None:
    check(render_for(wire, request, ROUTES[wire]))


@pytest.mark.parametrize("wire", list(RENDERERS))
@pytest.mark.parametrize("name", ["chat", "beat", "delivery", "live", "attached"])
def test_every_byte_of_text_is_traced_in_every_mode(wire: str, name: str) -> None:
    check(render_for(wire, requests_for(wire)[name], ROUTES[wire]))


SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"~ a/b": {"type": "string", "description": 'Größe "x"\n'}},
}


@pytest.mark.parametrize("wire", NATIVE)
def test_a_tool_is_traced_whole_and_as_far_as_its_description_is_trusted(wire: str) -> None:
    tool = ToolDeclaration("mail", "Sends mail.", SCHEMA, trust=Trust.UNTRUSTED)
    rendering = render_for(wire, PromptRequest(tool_declarations=(tool,)), ROUTES[wire])
    places = [place for place in rendering.source_map() if place.span.source == "tool mail"]
    assert [place.span.text for place in places][:2] == ["mail", "Sends mail."]
    assert json.loads(places[2].span.text)["properties"] == SCHEMA["properties"]
    assert {place.span.trust for place in places} == {Trust.UNTRUSTED}


@pytest.mark.parametrize("wire", NATIVE)
def test_what_a_call_was_made_with_belongs_to_the_call(wire: str) -> None:
    call = ToolCallPart("c", "mail", {"to": 'Ä "b"', "n": [1, {"deep": "x"}]})
    turns = (said("user", "Hi"), said("assistant", call))
    request = PromptRequest(conversation_history=turns, current_text="So?", words=WORDS)
    places = render_for(wire, request, ROUTES[wire]).source_map()
    made = [place.span for place in places if place.span.source == "call of mail"]
    assert any(span.text == "mail" for span in made)
    assert any(span.text[:1] == "{" and json.loads(span.text) == call.arguments for span in made)
    assert {span.trust for span in made} == {Trust.SELF}


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_a_thought_that_is_replayed_is_traced(wire: str) -> None:
    thought = ReasoningPart("Let me think.", state_for(wire)["thought"])
    turns = (said("user", "Hi"), said("assistant", thought, "Hello."))
    request = PromptRequest(conversation_history=turns, current_text="So?", words=WORDS)
    places = render_for(wire, request, ROUTES[wire]).source_map()
    assert [p.span.text for p in places if p.span.source == "reasoning"] == ["Let me think."]
