"""Two rankings made one by reciprocal rank: what stands high in either comes first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import NamedTuple, TypeAlias

Ranking: TypeAlias = Sequence[tuple[str, float]]
# The usual constant: how little the very first place counts for more than the second.
_FLATTENING = 60


class FusedRanking:
    """`order` has every name with its score, below 0, the best first; equal ones in the order of
    their ids.
    """

    def __init__(self, semantic: Ranking, lexical: Ranking) -> None:
        self._near, self._said = dict(semantic), dict(lexical)
        self._near_rank = dict(zip(self._near, count(1)))
        self._said_rank = dict(zip(self._said, count(1)))
        scores = dict(zip(self._said, _alone(len(self._said)), strict=True))
        scores.update(zip(self._near, _alone(len(self._near)), strict=True))
        for name in self._near.keys() & self._said.keys():
            shares = _share(self._near_rank[name]) + _share(self._said_rank[name])
            scores[name] = -round(shares, 9)
        self.order = sorted(zip(scores.values(), scores, strict=True))

    def places(self, name: str) -> RankPair:
        return RankPair(
            self._near_rank.get(name, 0),
            self._near.get(name, 0.0),
            self._said_rank.get(name, 0),
            self._said.get(name, 0.0),
        )


class RankPair(NamedTuple):
    """Where one stood in each ranking. A rank of 0 means that it was not in it."""

    semantic_rank: int
    semantic: float
    lexical_rank: int
    lexical: float


@lru_cache(8)
def _alone(ranks: int) -> tuple[float, ...]:
    """What those get that are in one of the rankings: the same with every search."""
    return tuple(-round(_share(rank), 9) for rank in range(1, ranks + 1))


def _share(rank: int) -> float:
    return 1 / (_FLATTENING + rank)
