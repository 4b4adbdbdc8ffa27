"""Everything that can be done has one name, one checked spec, and one place to look it up."""

from __future__ import annotations

import dataclasses
import threading
from types import MappingProxyType
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.act.registry import Registry, spec_digest
from mentis.errors import BadInput
from mentis.ports.act_handler import ActHandler, RecordingHandler
from mentis.values.act import ActSpec
from mentis.values.tick import Descriptor
from mentis.values.tool import NO_PARAMETERS, ToolDeclaration


def handler(name: str, source: str = "python", **more: Any) -> RecordingHandler:  # noqa: ANN401  # fields of a spec
    schema = more.pop("schema", {"type": "object", "properties": {}})
    return RecordingHandler(
        ActSpec(ToolDeclaration(name, "Does it.", schema), source=source, **more)
    )


def names(registry: Registry) -> list[str]:
    return [tool.name for tool in registry.declarations()]


def test_declarations_are_sorted_and_the_same_object_until_something_changes() -> None:
    registry = Registry([handler("b"), handler("c"), handler("a")])
    told = registry.declarations()
    assert [tool.name for tool in told] == ["a", "b", "c"]
    assert registry.declarations() is told
    assert registry.descriptors() is registry.descriptors()
    version = registry.version
    registry.add(handler("aa"))
    assert names(registry) == ["a", "aa", "b", "c"]
    assert registry.version == version + 1
    assert registry.drop("b")
    assert not registry.drop("b")
    assert names(registry) == ["a", "aa", "c"]
    assert registry.version == version + 2


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef")), max_size=30))
def test_after_any_changes_what_is_told_is_what_is_there(changes: list[tuple[bool, str]]) -> None:
    registry, there = Registry(), set[str]()
    for adds, name in changes:
        if adds:
            registry.add(handler(name), replace=True)
            there.add(name)
        else:
            assert registry.drop(name) == (name in there)
            there.discard(name)
    assert names(registry) == sorted(there)
    assert [spec.name for spec in registry.specs()] == sorted(there)
    assert all((registry.handler(name) is not None) == (name in there) for name in "abcdef")


def test_two_acts_of_one_name_are_refused_and_both_sources_named() -> None:
    registry = Registry([handler("read", "builtin")])
    with pytest.raises(BadInput, match=r"'read': one of builtin, one of mcp:files"):
        registry.add(handler("read", "mcp:files"))
    other = handler("read")
    registry.add(other, replace=True)
    assert registry.handler("read") is other


def test_all_acts_of_a_source_are_swapped_at_once_or_not_at_all() -> None:
    registry = Registry([handler("keep")])
    registry.put_source("mcp:a", [handler("x", "mcp:a"), handler("y", "mcp:a")])
    registry.put_source("mcp:a", [handler("z", "mcp:a"), handler("y", "mcp:a")])
    assert names(registry) == ["keep", "y", "z"]
    version = registry.version
    for wrong in (
        [handler("keep", "mcp:a")],
        [handler("n", "mcp:a"), handler("n", "mcp:a")],
        [handler("n", "mcp:b")],
        [handler("n", "mcp:a"), handler("no name", "mcp:a")],
    ):
        with pytest.raises(BadInput):
            registry.put_source("mcp:a", wrong)
    assert names(registry) == ["keep", "y", "z"]
    assert registry.version == version
    registry.put_source("mcp:a", [])
    assert names(registry) == ["keep"]


def test_what_is_blocked_is_not_told_and_stays_blocked_when_it_comes_again() -> None:
    registry = Registry([handler("x", "mcp:a"), handler("y", "mcp:a")])
    told = registry.declarations()
    registry.block("x", "its description changed")
    assert names(registry) == ["y"]
    assert [one.name for one in registry.descriptors()] == ["y"]
    assert registry.handler("x") is not None
    registry.put_source("mcp:a", [])
    registry.add(handler("x", "mcp:a"))
    assert registry.block_reason("x") == "its description changed"
    assert registry.block_reason("y") == ""
    registry.unblock("x")
    registry.unblock("x")
    assert registry.declarations() == told[:1]


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "né", "sh\u0435ll", "-x", "a\n", "a" * 129, "a\ud800", cast("str", 3)]
)
def test_names_that_could_be_mistaken_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be the name of an act"):
        Registry([handler(name)])


@pytest.mark.parametrize("name", ["message_web", "files.read", "a/b:c-1", "1st"])
def test_names_of_servers_are_taken_as_they_are(name: str) -> None:
    assert names(Registry([handler(name)])) == [name]


def cyclic() -> dict[str, object]:
    schema: dict[str, object] = {"type": "object"}
    schema["properties"] = {"self": schema, "again": [schema]}
    return schema


def deep() -> dict[str, object]:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(5000):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def shared() -> dict[str, object]:
    """Sixty small objects that would be 2^60 when written out."""
    part: dict[str, object] = {"type": "string"}
    for _ in range(30):
        part = {"anyOf": [part, part]}
    return {"type": "object", "properties": {"a": part}}


def multiplying() -> dict[str, object]:
    defs: dict[str, object] = {"d0": {"type": "string"}}
    for number in range(1, 40):
        reference = {"$ref": f"#/$defs/d{number - 1}"}
        defs[f"d{number}"] = {"allOf": [reference, reference]}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d39"}}, "$defs": defs}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (cyclic(), "contains itself"),
        (deep(), "too deep"),
        (shared(), "more than 50000 parts"),
        (multiplying(), "multiply"),
        ({"type": "object", "description": "x" * 300_000}, "300"),
        ({"type": "string"}, "describes 'string'"),
        ([], "it is list"),
        (None, "it is NoneType"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}}, "points at nothing"),
        ({"type": "object", "properties": {"a": {"$ref": "https://x.test/s"}}}, "points outside"),
        ({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}, "back to itself"),
        ({"type": "object", "properties": {"a": {"type": "strnig"}}}, "strnig"),
        (
            {"type": "object", "properties": {"a": {"minimum": float("nan")}}},
            "/properties/a/minimum",
        ),
        ({"type": "object", "properties": {1: {}}}, "the key 1"),
        ({"type": "object", "default": object()}, "no JSON"),
        ({"type": "object", "title": "\udc00"}, "surrogate"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_schema_nobody_could_check_against_is_refused_when_it_is_added(
    schema: object, why: str
) -> None:
    with pytest.raises(BadInput, match=r"schema of tool 'odd' cannot be used") as refused:
        Registry([handler("odd", schema=schema)])
    assert why in refused.value.message


def test_a_description_that_no_bytes_can_say_is_refused_when_it_is_added() -> None:
    spec = ActSpec(ToolDeclaration("odd", "Does \ud800 it.", {"type": "object"}), source="python")
    with pytest.raises(BadInput, match="'odd' holds half a surrogate pair"):
        Registry([RecordingHandler(spec)])


def test_the_spec_that_was_checked_holds_whatever_its_giver_does_to_it_later() -> None:
    given_schema: dict[str, object] = {"properties": MappingProxyType({"a": {"enum": ("x",)}})}
    registry = Registry([handler("a", schema=given_schema)])
    given_schema["type"] = "nonsense"
    spec = registry.spec("a")
    assert spec is not None
    expected = {"type": "object", "properties": {"a": {"enum": ["x"]}}}
    assert spec.declaration.parameters == expected
    assert registry.spec("b") is None


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"timeout_seconds": 0}, "timeout_seconds is 0"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds is inf"),
        ({"concurrency": -1}, "concurrency -1"),
        ({"scope": "world"}, "scope 'world'"),
        ({"modes": ("sleep",)}, "modes"),
    ],
)
def test_what_an_act_cannot_be_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        Registry([handler("a", **more)])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timeout_seconds", "10"),
        ("timeout_seconds", True),
        ("concurrency", "4"),
        ("concurrency", 1.5),
        ("endpoint", 5),
        ("source", None),
        ("scope", ["core"]),
        ("modes", "chat"),
        ("modes", (["chat"],)),
        ("modes", None),
    ],
)
def test_what_is_declared_of_an_act_is_of_the_right_type(field: str, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(BadInput, match=f"act 'a': {field} is ") as caught:
        Registry([handler("a", **{field: value})])
    assert caught.value.hint.startswith(f"{field} is ")


@pytest.mark.parametrize(
    ("field", "value"),
    [("description", 5), ("external_effects", "no"), ("idempotent", 1), ("strict", "yes")],
)
def test_what_the_gate_relies_on_is_of_the_right_type(field: str, value: Any) -> None:  # noqa: ANN401
    declaration = dataclasses.replace(ToolDeclaration("a", "does a"), **{field: value})
    with pytest.raises(BadInput, match=f"act 'a': {field} is "):
        Registry([RecordingHandler(declaration)])


def test_what_has_no_spec_and_what_talks_without_end_is_refused() -> None:
    class Bare:
        spec = "none"

    with pytest.raises(BadInput, match="has no ActSpec"):
        Registry([cast("ActHandler", Bare())])
    with pytest.raises(BadInput, match="20000 characters"):
        Registry([RecordingHandler(ToolDeclaration("a", "x" * 20_000))])


def test_descriptors_say_where_an_act_is_done() -> None:
    registry = Registry([handler("b", "mcp:z"), handler("a"), handler("c", endpoint="door")])
    schema = dict(NO_PARAMETERS)
    assert registry.descriptors() == (
        Descriptor("act", "door", "c", schema, "Does it."),
        Descriptor("act", "mcp:z", "b", schema, "Does it."),
        Descriptor("act", "python", "a", schema, "Does it."),
    )


def test_a_digest_changes_with_every_word_of_a_definition_and_with_nothing_else() -> None:
    base = ActSpec(ToolDeclaration("a", "Does it.", {"type": "object", "maxProperties": 2}))
    same = ActSpec(
        ToolDeclaration("a", "Does it.", {"maxProperties": 2, "type": "object"}),
        timeout_seconds=3,
        concurrency=2,
        modes=("chat",),
    )
    assert spec_digest(base) == spec_digest(same)
    others = [
        ActSpec(ToolDeclaration("b", "Does it.", base.declaration.parameters)),
        ActSpec(ToolDeclaration("a", "Does it!", base.declaration.parameters)),
        ActSpec(ToolDeclaration("a", "Does it.", {"type": "object", "maxProperties": 3})),
        ActSpec(ToolDeclaration("a", "Does it.", {"type": "object", "enum": [True, 2**63]})),
        ActSpec(ToolDeclaration("a", "Does it.", {"type": "object", "enum": [True, 2**63 + 1]})),
        ActSpec(base.declaration, scope="agent"),
        ActSpec(base.declaration, source="mcp:a"),
        ActSpec(base.declaration, endpoint="x"),
        ActSpec(
            ToolDeclaration("a", "Does it.", base.declaration.parameters, external_effects=True)
        ),
        ActSpec(ToolDeclaration("a", "Does it.", base.declaration.parameters, idempotent=True)),
    ]
    assert len({spec_digest(one) for one in [base, *others]}) == len(others) + 1


def test_the_registry_knows_the_digest_of_what_it_holds_now() -> None:
    registry = Registry([handler("a")])
    first = registry.digest("a")
    assert first == spec_digest(registry.specs()[0]) == registry.digest("a")
    registry.add(handler("a", source="other"), replace=True)
    assert registry.digest("a") != first
    assert registry.digest("b") is None


def test_many_threads_change_it_and_every_reader_sees_a_whole_state() -> None:
    registry, wrong = Registry([handler("base")]), list[object]()
    pair = [handler("x", "mcp:a"), handler("y", "mcp:a")]

    def swap() -> None:
        for _ in range(30):
            registry.put_source("mcp:a", pair)
            registry.put_source("mcp:a", [])

    def look() -> None:
        for _ in range(200):
            seen = names(registry)
            if seen not in (["base"], ["base", "x", "y"]):
                wrong.append(seen)

    threads = [threading.Thread(target=work) for work in (swap, look, swap, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert names(registry) == ["base"]
