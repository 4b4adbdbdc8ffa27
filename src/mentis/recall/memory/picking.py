"""From candidates to hits: the limit, the last look at each text, and what just missed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mentis.values.cognition import Memory, Screening
from mentis.values.memories import EVERYTHING_PUBLIC, MemoryFilter, ScoredMemory

from .choosing import asks_for_private, why_untold
from .index import MemoryCandidate, RankedMemories

_NEAR = 10


@dataclass(frozen=True, slots=True)
class PickedMemories:
    hits: tuple[ScoredMemory, ...]
    near: tuple[ScoredMemory, ...]
    filtered: int


def pick(
    ranked: RankedMemories,
    *,
    limit: int,
    screen: Callable[[Memory], str],
    wanted: MemoryFilter = EVERYTHING_PUBLIC,
) -> PickedMemories:
    """The best `limit` that `screen` has nothing against; it is asked of no more than needed.

    Of a near miss that nobody may be told, only its id, its kind and the reason are handed out.
    """
    hits: list[ScoredMemory] = []
    dropped: list[ScoredMemory] = []
    later: list[ScoredMemory] = []
    for row in ranked.rows:
        if len(later) == _NEAR:
            break
        if len(hits) == limit:
            later.append(row.judge(f"{_places(row)}; below the limit of {limit}", chosen=False))
        elif against := screen(row.memory):
            reason = f"{_places(row)}; kept out: {against}"
            dropped.append(_untold(row.judge(reason, chosen=False)))
        else:
            hits.append(row.judge(_places(row), chosen=True))
    mode = "beat" if asks_for_private(wanted) else "chat"
    left_out = (_untold(row) if why_untold(row.memory, mode) else row for row in ranked.left_out)
    near = (*dropped, *later, *left_out)
    return PickedMemories(tuple(hits), near[: _NEAR * 4], len(dropped))


def _untold(row: ScoredMemory) -> ScoredMemory:
    memory = row.memory
    screening = memory.screening and Screening(memory.screening.outcome)
    bare = Memory(
        memory.id,
        "",
        kind=memory.kind,
        trust=memory.trust,
        lineage=memory.lineage,
        superseded_by=memory.superseded_by,
        released=memory.released,
        screening=screening,
    )
    return replace(row, memory=bare)


def _places(row: MemoryCandidate) -> str:
    near, lexical = row.places.semantic_rank, row.places.lexical_rank
    said = [f"semantic place {near}"] if near else []
    if lexical:
        said.append(f"lexical place {lexical}")
    if row.decay != 1.0:
        said.append(f"decay {row.decay:g}")
    return ", ".join(said)
