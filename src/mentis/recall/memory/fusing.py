"""Two rankings made one by reciprocal rank: what stands high in either comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

Ranking: TypeAlias = Sequence[tuple[str, float]]
# The usual constant: how little the very first place counts for more than the second.
_FLATTENING = 60


class Fused:
    """`order` has every name with its score, best first; equal ones in the order of their ids."""

    def __init__(self, semantic: Ranking, lexical: Ranking) -> None:
        self._near = {name: (rank, score) for rank, (name, score) in enumerate(semantic, 1)}
        self._said = {name: (rank, score) for rank, (name, score) in enumerate(lexical, 1)}
        scores = {name: 1 / (_FLATTENING + rank) for name, (rank, _) in self._near.items()}
        for name, (rank, _) in self._said.items():
            scores[name] = scores.get(name, 0.0) + 1 / (_FLATTENING + rank)
        lowest = sorted([(-round(score, 9), name) for name, score in scores.items()])
        self.order = [(name, -score) for score, name in lowest]

    def places(self, name: str) -> Places:
        return Places(*self._near.get(name, _NOWHERE), *self._said.get(name, _NOWHERE))


class Places(NamedTuple):
    """Where one stood in each ranking. A rank of 0 means that it was not in it."""

    semantic_rank: int
    semantic: float
    lexical_rank: int
    lexical: float


_NOWHERE = (0, 0.0)
