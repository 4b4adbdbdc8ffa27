"""From candidates to hits: the limit, the last look at each text, and what just missed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mentis.values.cognition import Memory
from mentis.values.memories import Scored

from .index import Ranked

_NEAR = 10


@dataclass(frozen=True, slots=True)
class Picked:
    hits: tuple[Scored, ...]
    near: tuple[Scored, ...]
    filtered: int


def pick(ranked: Ranked, *, limit: int, screen: Callable[[Memory], str]) -> Picked:
    """The best `limit` that `screen` has nothing against; it is asked of no more than needed."""
    hits: list[Scored] = []
    dropped: list[Scored] = []
    later: list[Scored] = []
    for row in ranked.rows:
        if len(later) == _NEAR:
            break
        if len(hits) == limit:
            later.append(replace(row, reason=f"{_places(row)}; below the limit of {limit}"))
        elif against := screen(row.memory):
            dropped.append(replace(row, reason=f"{_places(row)}; kept out: {against}"))
        else:
            hits.append(replace(row, chosen=True, reason=_places(row)))
    near = (*dropped, *later, *ranked.left_out)
    return Picked(tuple(hits), near[: _NEAR * 2], len(dropped))


def _places(row: Scored) -> str:
    paths = (("semantic", row.semantic_rank), ("lexical", row.lexical_rank))
    said = [f"{name} place {rank}" for name, rank in paths if rank]
    if row.decay != 1.0:
        said.append(f"decay {row.decay:g}")
    return ", ".join(said)
