"""Sections as data: what fits the contract is taken as it is, the rest element by element."""

from __future__ import annotations

import json
from typing import Any, cast

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.settle.draft_schemas import draft_schema
from mentis.settle.drafts import read_acts, read_goal_ops, read_memory_ops
from mentis.values.tick import ActDraft, Append, Descriptor, Insert, Prune, Remove, Sprout, Tilt

SLEEP = {"endpoint_id": "core", "neural_signal_descriptor_id": "sleep", "payload": {"seconds": 1}}
SPROUT = {
    "op": "sprout",
    "parent_node_id": "user-root",
    "node_id": "a",
    "summary": "A",
    "weight": 5,
}
GOALS = [SPROUT, {"op": "prune", "node_id": "b"}, {"op": "tilt", "node_id": "c", "weight": -7}]
MEMORY = [
    {"op": "append", "value": "x"},
    {"op": "insert", "index": 0, "value": "y"},
    {"op": "insert", "hash": "abcdef", "value": "y"},
    {"op": "remove", "index": 3},
    {"op": "remove", "hash": "abcdef"},
]
READERS = {"acts": read_acts, "goal-tree-patch": read_goal_ops, "l1-memory-patch": read_memory_ops}
GIVEN: dict[Any, list[Any]] = {
    "acts": [SLEEP],
    "goal-tree-patch": GOALS,
    "l1-memory-patch": MEMORY,
}


def test_each_section_becomes_its_own_values() -> None:
    assert read_acts(json.dumps([SLEEP])).items == (ActDraft("core", "sleep", {"seconds": 1}),)
    goals = (Sprout("user-root", "a", "A", 5), Prune("b"), Tilt("c", -7))
    assert read_goal_ops(json.dumps(GOALS)).items == goals
    assert read_memory_ops(json.dumps(MEMORY)).items == (
        Append("x"),
        Insert("y", 0),
        Insert("y", hash="abcdef"),
        Remove(3),
        Remove(hash="abcdef"),
    )


@pytest.mark.parametrize("section", READERS)
def test_bare_and_wrapped_are_the_same_and_an_empty_section_is_an_empty_array(section: str) -> None:
    read, items = READERS[section], GIVEN[section]
    bare = read(json.dumps(items))
    assert bare == read(json.dumps({"items": items}))
    assert (bare.fits, bare.dropped, len(bare.items)) == (True, (), len(items))
    assert read(" ") == read("[]") == read('{"items": []}')


@pytest.mark.parametrize("section", READERS)
def test_the_schemas_take_what_the_readers_take(section: Any) -> None:  # noqa: ANN401  # a Literal
    act = Descriptor("act", "core", "sleep", {"type": "object", "required": ["seconds"]})
    for acts in ((), (act,)):
        bare = jsonschema_rs.validator_for(cast("Any", draft_schema(section, "bare", acts)))
        wrapped = jsonschema_rs.validator_for(cast("Any", draft_schema(section, "wrapped", acts)))
        assert bare.is_valid(GIVEN[section])
        assert wrapped.is_valid({"items": GIVEN[section]})
        assert not bare.is_valid([{"op": "other"}])
        assert not wrapped.is_valid(GIVEN[section])
    narrow = jsonschema_rs.validator_for(cast("Any", draft_schema("acts", "bare", (act,))))
    assert not narrow.is_valid([{**SLEEP, "neural_signal_descriptor_id": "wake"}])
    assert not narrow.is_valid([{**SLEEP, "payload": {}}])


def test_where_a_wire_has_no_free_objects_a_payload_is_a_text() -> None:
    written = {"items": [{**SLEEP, "payload": '{"seconds": 1}'}]}
    strict = jsonschema_rs.validator_for(cast("Any", draft_schema("acts", "strict")))
    assert strict.is_valid(written)
    assert read_acts(json.dumps(written)) == read_acts(json.dumps([SLEEP]))
    assert read_acts(json.dumps([{**SLEEP, "payload": None}])).items[0].payload == {}


@pytest.mark.parametrize(
    ("section", "element", "reason"),
    [
        ("acts", 1, "an object is needed here"),
        ("acts", {**SLEEP, "id": "a1"}, "id: nothing of that name is known"),
        ("acts", {"endpoint_id": "core"}, "neural_signal_descriptor_id: it is missing"),
        (
            "acts",
            {**SLEEP, "payload": [1]},
            "payload: a JSON object is needed, with every key once",
        ),
        ("acts", {**SLEEP, "payload": "now"}, "payload: this text is not a JSON object"),
        ("goal-tree-patch", {"op": "grow"}, "op: 'grow' is none of sprout, prune, tilt"),
        ("goal-tree-patch", {**SPROUT, "weight": 0.5}, "weight: a whole number is needed"),
        ("goal-tree-patch", {**SPROUT, "weight": True}, "weight: a whole number is needed"),
        (
            "goal-tree-patch",
            {**SPROUT, "lineage": "owner"},
            "lineage: nothing of that name is known",
        ),
        ("l1-memory-patch", {"op": "remove"}, "index or hash: one of them is needed"),
        ("l1-memory-patch", {"op": "remove", "index": -1}, "index: it counts from 0"),
        ("l1-memory-patch", {"op": "append", "value": 1}, "value: a text is needed"),
    ],
)
def test_an_element_that_does_not_fit_is_told_and_the_others_count(
    section: str, element: object, reason: str
) -> None:
    good = GIVEN[section]
    read = READERS[section](json.dumps([*good, element]))
    (dropped,) = read.dropped
    assert (dropped.section, dropped.index, dropped.code) == (section, len(good), "shape")
    assert (dropped.reason, len(read.items), read.fits) == (reason, len(good), False)


@pytest.mark.parametrize(
    "written", ["NaN", "-Infinity", "1e999", "1" * 5000, '"\\ud83d"', "[" * 200]
)
def test_a_payload_that_cannot_be_recorded_costs_only_its_own_element(written: str) -> None:
    closed = written + "]" * written.count("[")
    odd = json.dumps(SLEEP).replace('"seconds": 1', f'"seconds": {closed}')
    text = json.dumps({**SLEEP, "payload": f'{{"seconds": {closed}}}'})
    read = read_acts(f"[{odd}, {text}, {json.dumps(SLEEP)}]")
    assert read.items == (ActDraft("core", "sleep", {"seconds": 1}),)
    reason = "payload: it holds half a character or no number, or is deeper than 100"
    assert [one.reason for one in read.dropped] == [reason] * 2
    json.dumps([one.raw for one in read.dropped], ensure_ascii=False).encode()


def test_a_key_that_stands_twice_is_refused_wherever_it_stands() -> None:
    twice = '[{"op":"prune","node_id":"a","node_id":"b"}]'
    assert read_goal_ops(twice).dropped[0].reason == "'node_id' stands twice"
    deep = json.dumps([SLEEP]).replace('"seconds": 1', '"x": [{"a": 1, "a": 2}]')
    assert read_acts(deep).items == ()


@pytest.mark.parametrize("around", ["```json\n{}\n```", "I do this: {} now", "{} and more"])
def test_json_among_words_is_read_and_does_not_fit(around: str) -> None:
    read = read_acts(around.replace("{}", json.dumps([SLEEP])))
    assert (len(read.items), read.fits) == (1, False)


@settings(max_examples=60)
@given(st.text(max_size=40) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_any_body_is_read_without_a_failure(body: str) -> None:
    for read in READERS.values():
        found = read(body)
        assert found.fits or found.dropped or found.items == ()
