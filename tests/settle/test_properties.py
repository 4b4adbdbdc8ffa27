"""Nothing that comes in makes a reader fail, and everything it makes can be recorded."""

from __future__ import annotations

import json
from copy import copy
from functools import cache
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.codec.forms import from_json, to_json
from mentis.facts.ability import Calls
from mentis.settle.actions import to_actions
from mentis.settle.correction import AskedMessage, Attempts, failures_of, plan_correction
from mentis.settle.readers import READERS, read_all, reader_for
from mentis.values.reply import Reply
from mentis.values.tool import ToolDeclaration

CALLS: tuple[Calls, ...] = ("native", "text", "bound")
RECORDED = Path(__file__).parent / "recorded"
TOOLS = (
    ToolDeclaration("get_weather", ""),
    ToolDeclaration("list_files", ""),
    ToolDeclaration(
        "message_web", "", {"type": "object", "properties": {"interface_path": {"type": "string"}}}
    ),
)
anything = st.text(st.characters(codec=None))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(anything, inner, max_size=4),
    max_leaves=12,
)


@cache
def documents(wire: str) -> list[object]:
    body = json.loads((RECORDED / f"{wire}.json").read_text(encoding="utf-8"))
    files = [RECORDED / f"{wire}.sse", *sorted(RECORDED.glob(f"{wire}.*.sse"))]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    # Each once: events that repeat would hide the rare ones from the search.
    events = dict.fromkeys(line[6:] for line in lines if line.startswith("data: {"))
    return [body, *map(json.loads, events)]


def keys_of(value: object) -> set[str]:
    match value:
        case dict():
            members = cast("dict[str, object]", value)
            return set(members) | {k for item in members.values() for k in keys_of(item)}
        case list():
            return {key for item in cast("list[object]", value) for key in keys_of(item)}
        case _:
            return set()


def paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = [*cast("dict[str | int, object]", value).items()]
    elif isinstance(value, list):
        inner = [*enumerate(cast("list[object]", value))]
    return [path, *(deeper for key, item in inner for deeper in paths(item, (*path, key)))]


def spoilt(document: object, path: tuple[str | int, ...], by: object) -> object:
    """The document with one thing in it replaced, by anything at all."""
    if not path:
        return by
    first, *rest = path
    changed = copy(cast("dict[str | int, object]", document))  # or a list: both are indexed
    changed[first] = spoilt(changed[first], tuple(rest), by)
    return changed


@st.composite
def streams(draw: st.DrawFn, wire: str) -> list[str]:
    known = documents(wire)
    names = sorted({key for document in known for key in keys_of(document)})
    invented = st.recursive(
        json_values,
        lambda inner: st.dictionaries(st.sampled_from(names), inner, max_size=5) | st.lists(inner),
        max_leaves=10,
    )
    picked = draw(st.lists(st.sampled_from(known), max_size=8))
    events = [
        json.dumps(spoilt(document, draw(st.sampled_from(paths(document))), draw(json_values)))
        for document in picked
    ]
    events += draw(st.lists(anything | invented.map(json.dumps), max_size=3))
    return draw(st.permutations(events))


def check(reply: Reply, events: list[str]) -> None:
    assert len(reply.raw) == len(events)
    assert from_json(Reply, to_json(reply)) == reply
    json.dumps(to_actions(reply), allow_nan=False).encode()
    assert len({action.call_id for action in reply.actions}) == len(reply.actions)
    plan_correction(
        reply, failures_of(reply, ()), asked=AskedMessage("x", TOOLS), attempts=Attempts(2)
    )


@pytest.mark.parametrize("wire", [wire for wire in READERS if wire != "text"])
@given(data=st.data())
def test_no_stream_makes_a_reader_fail(wire: str, data: st.DataObject) -> None:
    events = data.draw(streams(wire))
    calls = data.draw(st.sampled_from(CALLS))
    reader = reader_for(wire, tools=TOOLS, calls=calls, place="web/1")
    reply = read_all(reader, events)
    check(reply, events)
    reader.rest()
    assert reader.finish() == reply


@given(st.lists(anything | json_values.map(json.dumps), max_size=5))
def test_no_text_makes_the_text_reader_fail(pieces: list[str]) -> None:
    check(read_all(reader_for("text", tools=TOOLS), pieces), pieces)


ACTIONS = st.dictionaries(
    st.sampled_from(
        ["actions", "tool_calls", "type", "name", "function", "payload", "arguments", "text", "id"]
    ),
    st.sampled_from(["get_weather", "", "x", None, {}, [], {"a": 1}, [{"type": "list_files"}]]),
)
TAGS = st.sampled_from(["<tool_call>", "</tool_call>", "[TOOL_CALLS]", "```json\n", "\n```", "\n"])


@given(st.lists(TAGS | ACTIONS.map(json.dumps) | st.text(max_size=5), max_size=6).map("".join))
def test_no_mixture_of_markup_and_shapes_makes_the_text_reader_fail(text: str) -> None:
    check(read_all(reader_for("text", tools=TOOLS), [text]), [text])
    check(read_all(reader_for("text"), [text]), [text])
