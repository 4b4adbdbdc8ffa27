"""The memories of one agent as they are searched: words, vectors, and who may be found.

It holds no store and no clock. Whoever has them brings it up to date and asks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, cast

from mentis.values.cognition import Memory
from mentis.values.memories import (
    EVERYTHING_PUBLIC,
    NO_VECTORS,
    MemoryFilter,
    MemoryStanding,
    ScoredMemory,
    Vector,
    VectorSearch,
)
from mentis.values.memory_kind import MemoryKind

from .allowing import AllowedMemories
from .bm25 import Bm25
from .cells import Cells
from .fusing import FusedRanking, Ranking, RankPair
from .matrix import Matrix

FILTERS = 8  # how many are kept worked out
LEFT_OUT = 10
LOOKED_AT = 1000  # in quarantine
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


class MemoryCandidate(NamedTuple):
    """A candidate that nobody has judged yet."""

    memory: Memory
    places: RankPair
    fused: float = 0.0
    decay: float = 1.0

    def judge(self, reason: str, *, chosen: bool) -> ScoredMemory:
        places = self.places
        return ScoredMemory(
            memory=self.memory,
            score=steady(self.fused * self.decay),
            chosen=chosen,
            reason=reason,
            semantic=places.semantic,
            semantic_rank=places.semantic_rank,
            lexical=places.lexical,
            lexical_rank=places.lexical_rank,
            fused=self.fused,
            decay=self.decay,
        )


@dataclass(frozen=True, slots=True)
class RankedMemories:
    """The candidates, best first, to be gone through once."""

    rows: Iterable[MemoryCandidate]
    left_out: list[ScoredMemory]
    vectors: VectorSearch = NO_VECTORS


class MemoryIndex:
    """All of them in this process."""

    def __init__(self, standing: MemoryStanding, memories: Iterable[Memory]) -> None:
        self.standing = standing
        self.memories: dict[str, Memory] = {}
        self._kinds: defaultdict[MemoryKind, dict[str, Memory]] = defaultdict(dict)
        self._quarantined: dict[str, None] = {}
        self._words = Bm25()
        self.matrix: Matrix | None = None
        self.cells: Cells | None = None
        self.note = ""  # why there are no cells
        self._allowed: dict[MemoryFilter, AllowedMemories] = {}
        self.put(standing, memories)

    def put(self, standing: MemoryStanding, memories: Iterable[Memory]) -> None:
        """What changed since the last standing. What was forgotten needs a new index."""
        self.standing = standing
        for memory in memories:
            before = self.memories.get(memory.id)
            self.memories[memory.id] = memory
            if before is None or before.text != memory.text:
                self._words.put(memory.id, memory.text)
            if before is not None and before.kind != memory.kind:
                del self._kinds[before.kind][memory.id]
            self._kinds[memory.kind][memory.id] = memory
            if memory.quarantined:
                self._quarantined[memory.id] = None
            else:
                self._quarantined.pop(memory.id, None)
            for allowed in self._allowed.values():
                allowed.put(memory)

    def of_kind(self, kind: MemoryKind) -> tuple[Memory, ...]:
        return tuple(self._kinds[kind].values())

    def put_vectors(self, vectors: Sequence[Vector]) -> None:
        """NumPy is needed from here on: EngineMissing without it.

        A vector that came before its memory did is left for the next time.
        """
        if self.matrix is None:
            self.matrix = Matrix()
            self._words.use_numpy()
        self.matrix.put([vector for vector in vectors if vector.memory in self.memories])

    def use(self, cells: Cells) -> None:
        """Search by these cells from now on; their matrix has the rows of the one before."""
        self.cells, self.matrix = cells, cells.matrix

    def __len__(self) -> int:
        return len(self.memories)

    @property
    def vectors(self) -> int:
        return 0 if self.matrix is None else len(self.matrix)

    def vector_of(self, memory_id: str) -> Sequence[float] | None:
        """The numbers kept with a memory, or None."""
        place = None if self.matrix is None else self.matrix.place(memory_id)
        if self.matrix is None or place is None:
            return None
        return cast("Sequence[float]", self.matrix.rows[place])

    def search(self, query: Query) -> RankedMemories:
        """Every candidate, best first, and what would have been one but was not allowed."""
        allowed = self._allowed_for(query)
        depth = max(50, query.limit * 5)
        lexical: Ranking = ()
        if query.lexical:
            lexical = self._lexical(query.text, allowed, depth)
        near, how = self._semantic(query, allowed, depth)
        fused = FusedRanking(near, lexical)
        # Most are never looked at, so they are made when somebody does.
        rows = (
            MemoryCandidate(self.memories[name], fused.places(name), fused=-below, decay=decay)
            for below, name, decay in self._weighed(fused, query)
        )
        return RankedMemories(rows, self._left_out(query, allowed), how)

    def _weighed(self, fused: FusedRanking, query: Query) -> Iterable[tuple[float, str, float]]:
        """As they are, or with what their age leaves of each."""
        if query.half_life_days <= 0:
            return ((*one, 1.0) for one in fused.order)
        aged = [(*one, decay_of(self.memories[one[1]], query)) for one in fused.order]
        return sorted(aged, key=lambda one: (steady(one[0] * one[2]), one[1]))

    def _lexical(self, text: str, allowed: AllowedMemories, depth: int) -> Ranking:
        if allowed.everything:
            return self._words.rank(text, among=None, count=depth)
        mask = None if self.matrix is None else allowed.mask(self._words)
        return self._words.rank(text, among=allowed.ids, count=depth, mask=mask)

    def _semantic(
        self, query: Query, allowed: AllowedMemories, depth: int
    ) -> tuple[Ranking, VectorSearch]:
        if query.vector is None:
            return (), NO_VECTORS
        if query.near is not None:
            known = [vector for vector in query.near if vector.memory in allowed.ids]
            found = Matrix(known).rank(query.vector, among=None, count=depth)
            return found, VectorSearch("server", len(query.near))
        if self.matrix is None:
            return (), NO_VECTORS
        among = allowed.mask(self.matrix)
        if self.cells is None:
            found = self.matrix.rank(query.vector, among=among, count=depth)
            return found, VectorSearch("exact", len(self.matrix), note=self.note)
        found, looked_at = self.cells.rank(query.vector, among=among, count=depth)
        return found, VectorSearch("index", looked_at, self.cells.plan.recall)

    def _left_out(self, query: Query, allowed: AllowedMemories) -> list[ScoredMemory]:
        """What says the words of the query but was not allowed, with the reason; and what is in
        quarantine and nearest to its meaning.
        """
        if allowed.everything or not query.lexical:
            return []
        mask = None if self.matrix is None else allowed.mask(self._words)
        others = None if mask is None else ~mask
        out = self._words.rank(query.text, among=allowed.refused, count=LEFT_OUT, mask=others)
        said, meant = dict(out), self._quarantined_near(query)
        names = dict.fromkeys((*said, *meant))
        return [
            ScoredMemory(
                memory=self.memories[name],
                score=0.0,
                chosen=False,
                reason=allowed.refused[name],
                semantic=meant.get(name, 0.0),
                lexical=said.get(name, 0.0),
            )
            for name in names
        ]

    def _quarantined_near(self, query: Query) -> dict[str, float]:
        """The cosines of those nearest to the query, of the newest that are in quarantine."""
        if query.vector is None or self.matrix is None:
            return {}
        newest = list(self._quarantined)[-LOOKED_AT:]
        found = self.matrix.cosines(query.vector, newest)
        best = sorted(found, key=lambda name: (-found[name], name))[:LEFT_OUT]
        return {name: found[name] for name in best}

    def _allowed_for(self, query: Query) -> AllowedMemories:
        known = self._allowed.get(query.wanted)
        if known is not None:
            return known.at(query.now)
        made = AllowedMemories(query.wanted, query.now, self.memories.values())
        if len(self._allowed) >= FILTERS:
            self._allowed.clear()
        self._allowed[query.wanted] = made
        return made


def decay_of(memory: Memory, query: Query) -> float:
    if not memory.time or not query.now or memory.time >= query.now:
        return 1.0
    age = datetime.fromisoformat(query.now) - datetime.fromisoformat(memory.time)
    return steady(0.5 ** (age.total_seconds() / _DAY / query.half_life_days))


def steady(number: float) -> float:
    """Without the last digits, in which machines differ; however small it is, order stays."""
    return float(f"{number:.12g}")
