"""Two rankings made one by reciprocal rank: what stands high in either comes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Ranking: TypeAlias = Sequence[tuple[str, float]]
# The usual constant: how little the very first place counts for more than the second.
_FLATTENING = 60


@dataclass(frozen=True, slots=True)
class Fused:
    name: str
    score: float
    semantic: float = 0.0
    semantic_rank: int = 0
    lexical: float = 0.0
    lexical_rank: int = 0


def fuse(semantic: Ranking, lexical: Ranking) -> list[Fused]:
    """Best first; equal ones in the order of their ids."""
    near = {name: (rank, score) for rank, (name, score) in enumerate(semantic, 1)}
    said = {name: (rank, score) for rank, (name, score) in enumerate(lexical, 1)}
    fused = [
        _fused(name, near.get(name, (0, 0.0)), said.get(name, (0, 0.0))) for name in {*near, *said}
    ]
    return sorted(fused, key=lambda one: (-one.score, one.name))


def _fused(name: str, near: tuple[int, float], said: tuple[int, float]) -> Fused:
    score = sum(1 / (_FLATTENING + rank) for rank in (near[0], said[0]) if rank)
    return Fused(name, round(score, 9), near[1], near[0], said[1], said[0])
