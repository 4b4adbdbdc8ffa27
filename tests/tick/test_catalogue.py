"""Descriptors of several sources lie over each other; they come and go while the agent lives."""

from __future__ import annotations

from mentis.act.registry import Registry
from mentis.ports.act_handler import RecordingHandler
from mentis.tick.catalogue import LiveCatalogue
from mentis.values.act import ActSpec
from mentis.values.cognition import Sense
from mentis.values.json import JsonObject
from mentis.values.tick import DROP_DESCRIPTORS, PATCH_DESCRIPTORS, Descriptor
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust


def act(name: str, description: str = "Does it.") -> Descriptor:
    return Descriptor("act", "python", name, {"type": "object", "properties": {}}, description)


def registry(*names: str) -> Registry:
    return Registry(RecordingHandler(ActSpec(ToolDeclaration(name, "Does it."))) for name in names)


def told(catalogue: LiveCatalogue) -> list[tuple[str, str]]:
    return [(entry.id, entry.description) for entry in catalogue.current().entries]


def test_a_later_source_wins_and_the_result_is_sorted() -> None:
    sleep = Descriptor("act", "core", "sleep", {}, "always")
    catalogue = LiveCatalogue(registry("b", "a"), [sleep])
    sense = Descriptor("sense", "web", "page", {}, "seen")
    catalogue.patch([act("b", "live"), sense, Descriptor("act", "core", "sleep", {}, "live")])
    assert told(catalogue) == [
        ("act/core/sleep", "always"),
        ("act/python/a", "Does it."),
        ("act/python/b", "live"),
        ("sense/web/page", "seen"),
    ]
    current = catalogue.current()
    assert [entry.name for entry in current.acts] == ["sleep", "a", "b"]
    assert current.senses == (sense,)
    assert current.find("act", "python", "b") == act("b", "live")
    assert current.find("sense", "python", "b") is None


def test_the_version_rises_with_a_change_and_only_then() -> None:
    acts = registry("a")
    catalogue = LiveCatalogue(acts)
    first = catalogue.current()
    assert first.version == "acts:1/live:0/core:0"
    assert catalogue.current() is first
    catalogue.patch([act("b")])
    catalogue.patch([act("b")])
    catalogue.drop([("act", "python", "b"), ("act", "python", "b")])
    assert catalogue.current().version == "acts:1/live:2/core:0"
    acts.drop("a")
    assert catalogue.current().version == "acts:2/live:2/core:0"
    assert catalogue.current().entries == ()


def test_what_was_dropped_comes_back_when_it_is_patched_again() -> None:
    catalogue = LiveCatalogue(registry("a"))
    catalogue.patch([act("a", "live")])
    catalogue.drop([act("a").key])
    assert told(catalogue) == []
    catalogue.patch([act("a", "again")])
    assert told(catalogue) == [("act/python/a", "again")]


def test_senses_change_the_catalogue_in_the_order_they_arrive() -> None:
    catalogue = LiveCatalogue(registry())
    route = {"kind": "act", "endpoint": "door", "name": "open"}
    entry: JsonObject = {**route, "schema": {}, "description": "!"}
    patch = Sense("1", PATCH_DESCRIPTORS, {"entries": [entry]}, Trust.RUNTIME)
    drop = Sense("2", DROP_DESCRIPTORS, {"routes": [route]}, Trust.OWNER)
    other = Sense("3", "message", {"text": "hi"})
    assert catalogue.take([patch, other, drop]) == ((other,), ())
    assert told(catalogue) == []
    assert catalogue.take([drop, patch]) == ((), ())
    assert told(catalogue) == [("act/door/open", "!")]


def test_a_change_from_outside_or_one_that_cannot_be_read_is_only_a_sense() -> None:
    catalogue = LiveCatalogue(registry("a"))
    route = {"kind": "act", "endpoint": "python", "name": "a"}
    outside = Sense("1", DROP_DESCRIPTORS, {"routes": [route]})
    broken = Sense("2", PATCH_DESCRIPTORS, {"entries": [{"kind": "act"}]}, Trust.RUNTIME)
    empty = Sense("3", PATCH_DESCRIPTORS, {"entries": "all"}, Trust.RUNTIME)
    rest, refused = catalogue.take([outside, broken, empty])
    assert rest == (outside, broken, empty)
    assert [reason.partition(": ")[0] for reason in refused] == [
        "descriptors.drop 1",
        "descriptors.patch 2",
        "descriptors.patch 3",
    ]
    assert told(catalogue) == [("act/python/a", "Does it.")]
