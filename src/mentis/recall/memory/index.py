"""The memories of one agent as they are searched: words, vectors, and who may be found.

It holds no store and no clock. Whoever has them brings it up to date and asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from mentis.values.cognition import Memory
from mentis.values.memories import EVERYTHING_PUBLIC, MemoryFilter, Scored, Standing, Vector

from .bm25 import Bm25
from .choosing import why_not
from .fusing import Fused, Ranking, fuse
from .matrix import Matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEFT_OUT = 10
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Query:
    """`vector` is None where nothing is searched by meaning. A half-life of 0 is no decay."""

    text: str
    vector: Sequence[float] | None = None
    near: Sequence[Vector] | None = None  # what the store found nearest, instead of all there are
    lexical: bool = True
    wanted: MemoryFilter = EVERYTHING_PUBLIC
    limit: int = 10
    now: str = ""
    half_life_days: float = 0.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates, best first, to be gone through once."""

    rows: Iterable[Scored]
    left_out: list[Scored]


class MemoryIndex:
    def __init__(self, standing: Standing, memories: Iterable[Memory]) -> None:
        self.standing = standing
        self.memories: dict[str, Memory] = {}
        self._words = Bm25()
        self._matrix: Matrix | None = None
        self._allowed: dict[MemoryFilter, _Allowed] = {}
        self.put(standing, memories)

    def put(self, standing: Standing, memories: Iterable[Memory]) -> None:
        """What changed since the last standing. What was forgotten needs a new index."""
        self.standing = standing
        self._allowed.clear()
        for memory in memories:
            before = self.memories.get(memory.id)
            self.memories[memory.id] = memory
            if before is None or before.text != memory.text:
                self._words.put(memory.id, memory.text)

    def put_vectors(self, vectors: Sequence[Vector]) -> None:
        """NumPy is needed from here on: EngineMissing without it.

        A vector that came before its memory did is left for the next time.
        """
        self._allowed.clear()
        if self._matrix is None:
            self._matrix = Matrix()
        self._matrix.put([vector for vector in vectors if vector.memory in self.memories])

    @property
    def vectors(self) -> int:
        return 0 if self._matrix is None else len(self._matrix)

    def search(self, query: Query) -> Ranked:
        """Every candidate, best first, and what would have been one but was not allowed."""
        allowed = self._allowed_for(query)
        depth = max(50, query.limit * 5)
        lexical: Ranking = ()
        if query.lexical:
            among = None if allowed.everything else allowed.ids
            lexical = self._words.rank(query.text, among=among, count=depth)
        fused = fuse(self._semantic(query, allowed, depth), lexical)
        weighed = [(one, _decay(self.memories[one.name], query)) for one in fused]
        if query.half_life_days > 0:
            weighed.sort(key=lambda pair: (-_steady(pair[0].score * pair[1]), pair[0].name))
        # Most are never looked at, so they are made when somebody does.
        rows = (_row(self.memories[one.name], one, decay) for one, decay in weighed)
        return Ranked(rows, self._left_out(query, allowed))

    def _semantic(self, query: Query, allowed: _Allowed, depth: int) -> Ranking:
        if query.vector is None:
            return ()
        if query.near is not None:
            known = [vector for vector in query.near if vector.memory in allowed.ids]
            return Matrix(known).rank(query.vector, among=None, count=depth)
        if self._matrix is None:
            return ()
        among = allowed.mask(self._matrix)
        return self._matrix.rank(query.vector, among=among, count=depth)

    def _left_out(self, query: Query, allowed: _Allowed) -> list[Scored]:
        """What says the words of the query but was not allowed, with the reason."""
        if allowed.everything or not query.lexical:
            return []
        out = self._words.rank(query.text, among=allowed.refused, count=_LEFT_OUT)
        return [
            Scored(
                memory=self.memories[name],
                score=0.0,
                chosen=False,
                reason=allowed.refused[name],
                lexical=score,
            )
            for name, score in out
        ]

    def _allowed_for(self, query: Query) -> _Allowed:
        """Kept while nothing changes, unless time itself decides what is valid."""
        known = self._allowed.get(query.wanted)
        if known is not None and (query.now == known.now or not known.timed):
            return known
        refused: dict[str, str] = {}
        for memory in self.memories.values():
            if reason := why_not(memory, query.wanted, now=query.now):
                refused[memory.id] = reason
        timed = any(memory.valid_from or memory.valid_until for memory in self.memories.values())
        made = _Allowed(query.now, timed, refused, self.memories.keys() - refused.keys())
        if len(self._allowed) >= 8:
            self._allowed.clear()
        self._allowed[query.wanted] = made
        return made


class _Allowed:
    """Who may be found by one filter."""

    def __init__(self, now: str, timed: bool, refused: dict[str, str], ids: set[str]) -> None:
        self.now = now
        self.timed = timed
        self.refused = refused
        self.ids = ids
        self._mask: NDArray[np.bool_] | None = None

    @property
    def everything(self) -> bool:
        return not self.refused

    def mask(self, matrix: Matrix) -> NDArray[np.bool_] | None:
        if self.everything:
            return None
        if self._mask is None:
            self._mask = matrix.mask(self.ids)
        return self._mask


def _row(memory: Memory, one: Fused, decay: float) -> Scored:
    return Scored(
        memory=memory,
        score=_steady(one.score * decay),
        chosen=False,
        reason="",
        semantic=one.semantic,
        semantic_rank=one.semantic_rank,
        lexical=one.lexical,
        lexical_rank=one.lexical_rank,
        fused=one.score,
        decay=decay,
    )


def _decay(memory: Memory, query: Query) -> float:
    if query.half_life_days <= 0:
        return 1.0
    if not memory.time or not query.now or memory.time >= query.now:
        return 1.0
    age = datetime.fromisoformat(query.now) - datetime.fromisoformat(memory.time)
    return _steady(0.5 ** (age.total_seconds() / _DAY / query.half_life_days))


def _steady(number: float) -> float:
    """Without the last digits, in which machines differ; however small it is, order stays."""
    return float(f"{number:.12g}")
