"""Two rankings made one: how near the meaning is, and a little for each word that is said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

Ranking: TypeAlias = Sequence[tuple[str, float]]
# What words can add to a cosine at most, and how. A BM25 score has no upper end and grows with the
# number of memories, so it is bent: a word or two in common say next to nothing, a name or a number
# that stands nowhere else says as much as a clear difference in meaning. Chosen on the open half of
# `mentis eval memory`.
_WORDS = 0.2
_HALF = 6.0
_BEND = 3


class FusedRanking:
    """`order` has every name with its score, below 0, the best first; equal ones in the order of
    their ids. The same lists give the same order, whichever store they are from.
    """

    def __init__(self, semantic: Ranking, lexical: Ranking) -> None:
        self._near, self._said = dict(semantic), dict(lexical)
        self._near_rank = dict(zip(self._near, count(1)))
        self._said_rank = dict(zip(self._said, count(1)))
        # One that was found by its words alone is no nearer than the farthest that was found near.
        farthest = max(0.0, min(self._near.values(), default=0.0))
        names = self._near.keys() | self._said.keys()
        self.order = sorted((-self._score(name, farthest), name) for name in names)

    def _score(self, name: str, farthest: float) -> float:
        said = self._said.get(name, 0.0)
        near = max(0.0, self._near.get(name, farthest))
        return round(near + _WORDS * (said / (_HALF + said)) ** _BEND, 9)

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
