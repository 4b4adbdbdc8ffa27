from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mentis.engines.embedders import open_embedder
from mentis.recall.memory.strict import Floor, floor_for, near_enough, unmeasured_note
from mentis.values.cognition import Memory
from mentis.values.memories import FoundMemories, ScoredMemory

PAIRS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "near.json").read_text(encoding="utf-8")
)


MEASURED = Floor(0.3, "calibrated", 0.25)
WORDS = floor_for("")


def row(name: str, semantic: float, rank: int, text: str = "") -> ScoredMemory:
    memory = Memory(name, text or name)
    return ScoredMemory(memory, 1.0, True, "why", semantic=semantic, semantic_rank=rank)


def by_words(task: str, *texts: str) -> list[str]:
    hits = tuple(row(text, 0.0, 0, text) for text in texts)
    return [
        one.memory.text for one in near_enough(FoundMemories(task, "lexical", hits), WORDS).hits
    ]


def test_what_is_too_far_has_just_missed_and_what_has_no_vector_is_judged_by_its_words() -> None:
    rows = (row("a", 0.5, 1), row("b", 0.1, 2), row("tea", 0.0, 0), row("d", 0.0, 0))
    strict = near_enough(FoundMemories("tea", "hybrid", hits=rows), MEASURED)
    assert [one.memory.id for one in strict.hits] == ["a", "tea"]
    assert [(one.memory.id, one.chosen) for one in strict.near] == [("b", False), ("d", False)]
    assert "below 0.3" in strict.near[0].reason
    assert "shares less than 0.25 of the words" in strict.near[1].reason


def test_an_embedder_nobody_measured_has_the_planned_floor_and_it_is_told() -> None:
    floor = floor_for("somebody-elses/128/l2")
    assert (floor.cosine, floor.origin) == (0.7, "planned")
    (note,) = unmeasured_note("somebody-elses/128/l2", floor)
    assert (
        "nobody measured a least cosine for somebody-elses/128/l2: the planned 0.7" in note.reason
    )
    rows = (row("a", 0.5, 1), row("b", 0.8, 2))
    assert [
        one.memory.id for one in near_enough(FoundMemories("qqq", "hybrid", rows), floor).hits
    ] == ["b"]
    assert near_enough(FoundMemories("a tea", "hybrid", (row("a", 0.1, 1, "Tea"),)), floor).hits


def test_words_that_fit_every_sentence_bring_nothing_up() -> None:
    assert by_words("takes a walk", "Tuning a guitar takes a tuner", "A walk is a joy") == [
        "A walk is a joy"
    ]


def test_by_words_needed_memories_come_through_and_the_others_do_not() -> None:
    memories: list[str] = PAIRS["memories"]
    needed = [
        memories[one["memory"]] in by_words(one["task"], *memories) for one in PAIRS["needed"]
    ]
    assert sum(needed) / len(needed) >= 0.75
    assert not [task for task in PAIRS["none"] if by_words(task, *memories)]


@pytest.mark.anyio
async def test_the_floor_lets_needed_memories_through_and_keeps_the_others_out() -> None:
    embedder, _ = open_embedder("ngrams")
    floor = floor_for(embedder.fingerprint).cosine
    assert floor is not None
    memories = await embedder.embed(PAIRS["memories"])
    needed = await embedder.embed([one["task"] for one in PAIRS["needed"]])
    none = await embedder.embed(PAIRS["none"])
    wanted: list[int] = [pair["memory"] for pair in PAIRS["needed"]]
    right = [
        cosine(task, memories[place]) >= floor for task, place in zip(needed, wanted, strict=True)
    ]
    wrong = [cosine(task, memory) >= floor for task in none for memory in memories]
    assert sum(right) / len(right) >= 0.9
    assert sum(wrong) / len(wrong) <= 0.005


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
