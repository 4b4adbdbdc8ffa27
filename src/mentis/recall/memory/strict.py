"""Memories that are near enough to be told, by the measure of the embedder that compared them.

What was found by its words alone must share enough of them: of words that only hold a sentence
together, or that fit every sentence (`take`, `two`), none counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from mentis.recall.lexical import terms
from mentis.values.memories import FoundMemories, ScoredMemory
from mentis.values.trace import Degradation
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class Floor(Value):
    """The least cosine, and who says so; `words`: there is no vector, the words alone count.

    Where the cosine is only planned, memories that share enough words are kept too.
    """

    cosine: float | None
    origin: Literal["calibrated", "planned", "settings", "words"]
    share: float


def floor_for(model: str) -> Floor:
    """The floor measured for this embedder, else the planned one; by words without a model."""
    told = _told()
    if not model:
        return Floor(None, "words", told.share)
    for name, floor in told.floors.items():
        if model == name or model.startswith((f"{name}+", f"{name}/")):
            return Floor(floor, "calibrated", told.share)
    return Floor(told.planned, "planned", told.share)


def near_enough(found: FoundMemories, floor: Floor) -> FoundMemories:
    """Without those found too far away, or by too few words; they have just missed."""
    missed = [(row, why) for row in found.hits if (why := _too_far(row, floor, found.query))]
    if not missed:
        return found
    out = {row.memory.id for row, _ in missed}
    later = (_missed(row, f"{row.reason}; {why}") for row, why in missed)
    kept = tuple(row for row in found.hits if row.memory.id not in out)
    return replace(found, hits=kept, near=(*later, *found.near))


def _missed(row: ScoredMemory, reason: str) -> ScoredMemory:
    """Written out: `replace` takes four times as long."""
    return ScoredMemory(
        memory=row.memory,
        score=row.score,
        chosen=False,
        reason=reason,
        semantic=row.semantic,
        semantic_rank=row.semantic_rank,
        lexical=row.lexical,
        lexical_rank=row.lexical_rank,
        fused=row.fused,
        decay=row.decay,
    )


def unmeasured_note(model: str, floor: Floor) -> tuple[Degradation, ...]:
    """A note when nobody measured the embedder and the planned floor stands."""
    if floor.origin != "planned":
        return ()
    reason = f"nobody measured a least cosine for {model}: the planned {floor.cosine:g}"
    return (Degradation("memories", f"{reason}, or enough of the same words"),)


def fits(text: str, task: str, cosine: float | None, floor: Floor) -> bool:
    """Whether a text is near enough to a task. Without a cosine its words decide, and also where
    the floor of the embedder is only planned.
    """
    if cosine is not None and floor.cosine is not None:
        if cosine >= floor.cosine:
            return True
        if floor.origin != "planned":
            return False
    return _share(_words(task), _words(text)) >= floor.share


def _too_far(row: ScoredMemory, floor: Floor, task: str) -> str:
    """Why it is not told; empty when it may be. What has no vector is judged by its words."""
    compared = row.semantic_rank > 0 and floor.cosine is not None
    if fits(row.memory.text, task, row.semantic if compared else None, floor):
        return ""
    if compared and floor.origin != "planned":
        return f"below {floor.cosine:g}, too far from the task"
    few = f"shares less than {floor.share:g} of the words"
    return f"below {floor.cosine:g}, and {few}" if compared else few


def _share(asked: frozenset[str], said: frozenset[str]) -> float:
    """Of the shorter of the two: a short memory cannot have half the words of a long task."""
    fewest = min(len(asked), len(said))
    return len(asked & said) / fewest if fewest else 0.0


@lru_cache(8)
def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text)) - _told().light


@dataclass(frozen=True, slots=True)
class _Told:
    floors: Mapping[str, float]
    planned: float
    share: float
    light: frozenset[str]


@cache
def _told() -> _Told:
    text = (files("mentis.recall") / "data/memory_floors.json").read_text(encoding="utf-8")
    data = json.loads(text)
    light: Sequence[str] = [word for words in data["light"].values() for word in words.split()]
    return _Told(data["floors"], data["planned"], data["share"], frozenset(terms(" ".join(light))))
