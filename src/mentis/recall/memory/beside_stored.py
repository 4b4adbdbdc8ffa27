"""Memories searched in a stored index and, beside it, in those that changed since it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, cast

from mentis.values.cognition import Memory
from mentis.values.memories import (
    NO_VECTORS,
    MemoryFilter,
    MemoryStanding,
    ScoredMemory,
    Vector,
    VectorSearch,
)
from mentis.values.memory_kind import MemoryKind

from .choosing import why_not
from .fusing import FusedRanking, Ranking
from .index import (
    FILTERS,
    LEFT_OUT,
    LOOKED_AT,
    MemoryCandidate,
    Query,
    RankedMemories,
    decay_of,
    steady,
)
from .matrix import Matrix, load_numpy
from .stored_index import StoredIndex
from .stored_words import StoredWords

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Find: TypeAlias = Callable[[Sequence[str]], Iterable[Memory]]
_PIECE = 24  # memories that are read at once


class _Allowed:
    """Whom a filter lets through: of places, of vectors in the file, and of those beside it."""

    def __init__(self, places: NDArray[np.bool_]) -> None:
        self.places = places
        self.rows: NDArray[np.bool_] | None = None
        self.later: NDArray[np.bool_] | None = None


class StoredMemoryIndex:
    """What `MemoryIndex` is, while few of the memories are in this process: `find` reads those
    that are looked at.
    """

    def __init__(self, stored: StoredIndex, find: Find) -> None:
        self.stored = stored
        self.standing = stored.origin.standing
        self.matrix = Matrix()
        self.note = ""
        self._find = find
        self._words = StoredWords(stored)
        self._memories: dict[str, Memory] = {}
        self._quarantined: dict[str, None] = {}
        self._kinds: dict[MemoryKind, tuple[Memory, ...]] = {}
        self._rows_alive: NDArray[np.bool_] = load_numpy().ones(len(stored.matrix), dtype=bool)
        self._allowed: dict[tuple[MemoryFilter, str], _Allowed] = {}

    def __len__(self) -> int:
        return len(self._words)

    @property
    def changed(self) -> int:
        """How many are searched beside the file."""
        return len(self._memories)

    @property
    def vectors(self) -> int:
        return int(self._rows_alive.sum()) + len(self.matrix)

    def put(self, standing: MemoryStanding, memories: Iterable[Memory]) -> None:
        """What changed since the last standing. What was forgotten needs a new index."""
        self.standing = standing
        self._kinds.clear()
        for memory in memories:
            self._memories[memory.id] = memory
            self._words.put(memory.id, memory.text)
            if memory.quarantined:
                self._quarantined[memory.id] = None
            else:
                self._quarantined.pop(memory.id, None)
            self._allowed.clear()

    def of_kind(self, kind: MemoryKind) -> tuple[Memory, ...]:
        """As `MemoryIndex` has them; read once while nothing changes."""
        known = self._kinds.get(kind)
        if known is None:
            alive, ids = self._words.alive, self.stored.ids
            names = [ids[place] for place in self.stored.of_kind(kind) if alive[place]]
            found = self._read(names)
            later = (one for one in self._memories.values() if one.kind == kind)
            known = (*(found[name] for name in names if name in found), *later)
            self._kinds[kind] = known
        return known

    def put_vectors(self, vectors: Sequence[Vector]) -> None:
        """Of those that are new, and in the place of those in the file."""
        known = [one for one in vectors if self._knows(one.memory)]
        for one in known:
            row = self.stored.matrix.place(one.memory)
            if row is not None:
                self._rows_alive[row] = False
        self.matrix.put(known)
        self._allowed.clear()

    def vector_of(self, memory_id: str) -> Sequence[float] | None:
        """The numbers kept with a memory, or None."""
        place = self.matrix.place(memory_id)
        if place is not None:
            return cast("Sequence[float]", self.matrix.rows[place])
        row = self.stored.matrix.place(memory_id)
        if row is None or not self._rows_alive[row]:
            return None
        return cast("Sequence[float]", self.stored.matrix.rows[row])

    def search(self, query: Query) -> RankedMemories:
        """Every candidate, best first, and what would have been one but was not allowed."""
        allowed = self._allowed_for(query)
        mask = allowed.places
        depth = max(50, query.limit * 5)
        lexical: Ranking = ()
        if query.lexical:
            lexical = self._words.rank(query.text, mask=mask, count=depth)
        near, how = self._semantic(query, allowed, depth)
        fused = FusedRanking(near, lexical)
        left_out = self._left_out(query, mask) if query.lexical else []
        return RankedMemories(self._candidates(fused, query), left_out, how)

    def _candidates(self, fused: FusedRanking, query: Query) -> Iterator[MemoryCandidate]:
        """Read when somebody looks at them; all at once where their age counts."""
        if query.half_life_days > 0:
            found = self._read([name for _, name in fused.order])
            aged = [
                (below, name, decay_of(found[name], query))
                for below, name in fused.order
                if name in found
            ]
            for below, name, decay in sorted(
                aged, key=lambda one: (steady(one[0] * one[2]), one[1])
            ):
                yield MemoryCandidate(found[name], fused.places(name), fused=-below, decay=decay)
            return
        left = iter(fused.order)
        while piece := list(islice(left, _PIECE)):
            found = self._read([name for _, name in piece])
            for below, name in piece:
                if name in found:  # else it was let go of a moment ago
                    yield MemoryCandidate(found[name], fused.places(name), fused=-below)

    def _read(self, names: Iterable[str]) -> Mapping[str, Memory]:
        wanted = list(names)
        found = {name: self._memories[name] for name in wanted if name in self._memories}
        missing = [name for name in wanted if name not in found]
        return {**found, **{one.id: one for one in (self._find(missing) if missing else ())}}

    def _allowed_for(self, query: Query) -> _Allowed:
        timed = not query.wanted.expired
        key = (query.wanted, query.now if timed and self._timed() else "")
        known = self._allowed.get(key)
        if known is None:
            np = load_numpy()
            base = self.stored.allowed(query.wanted, query.now) & self._words.alive
            ids = self._words.later.ids
            later = [not why_not(self._memories[one], query.wanted, now=query.now) for one in ids]
            known = _Allowed(np.concatenate([base, np.array(later, dtype=bool)]))
            if len(self._allowed) >= FILTERS:
                self._allowed.clear()
            self._allowed[key] = known
        return known

    def _timed(self) -> bool:
        later = self._memories.values()
        return self.stored.timed or any(one.valid_from or one.valid_until for one in later)

    def _semantic(
        self, query: Query, allowed: _Allowed, depth: int
    ) -> tuple[Ranking, VectorSearch]:
        if query.vector is None:
            return (), NO_VECTORS
        if query.near is not None:
            known = [one for one in query.near if self._may(one.memory, allowed.places)]
            found = Matrix(known).rank(query.vector, among=None, count=depth)
            return found, VectorSearch("server", len(query.near))
        if not self.vectors:
            return (), VectorSearch("exact", 0, note=self.note)
        stored, later = self.stored, self.matrix
        if allowed.rows is None or allowed.later is None:
            allowed.rows = self._mask_of_rows(allowed.places)
            allowed.later = self._mask_of_later(allowed.places)
        among, beside = allowed.rows, allowed.later
        found = later.rank(query.vector, among=beside, count=depth)
        if stored.cells is None:
            found += stored.matrix.rank(query.vector, among=among, count=depth)
            how = VectorSearch("exact", len(stored.matrix) + len(later), note=self.note)
        else:
            nearest, looked_at = stored.cells.rank(query.vector, among=among, count=depth)
            found += nearest
            how = VectorSearch("index", looked_at + len(later), stored.cells.plan.recall)
        best = sorted((-score, name) for name, score in found)[:depth]
        return [(name, -score) for score, name in best], how

    def _mask_of_rows(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Of the vectors in the file; one of a memory that changed may still be what it was."""
        among = mask[self.stored.row_places] & self._rows_alive
        for place, name in enumerate(self._words.later.ids, len(self.stored)):
            row = self.stored.matrix.place(name)
            if row is not None:
                among[row] = mask[place] and self._rows_alive[row]
        return among

    def _mask_of_later(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        may = [self._may(name, mask) for name in self.matrix.ids]
        return cast("NDArray[np.bool_]", load_numpy().array(may, dtype=bool))

    def _place(self, name: str) -> int | None:
        later = self._words.later.place(name)
        return self.stored.ids.place(name) if later is None else len(self.stored) + later

    def _may(self, name: str, mask: NDArray[np.bool_]) -> bool:
        place = self._place(name)
        return place is not None and bool(mask[place])

    def _knows(self, name: str) -> bool:
        return self._place(name) is not None

    def _left_out(self, query: Query, mask: NDArray[np.bool_]) -> list[ScoredMemory]:
        """As `MemoryIndex` says it."""
        there = load_numpy().ones(len(mask), dtype=bool)
        there[: len(self.stored)] = self._words.alive
        refused = there & ~mask
        if not refused.any():
            return []
        said = dict(self._words.rank(query.text, mask=refused, count=LEFT_OUT))
        meant = self._quarantined_near(query)
        found = self._read(dict.fromkeys((*said, *meant)))
        reasons = {
            name: why_not(memory, query.wanted, now=query.now) for name, memory in found.items()
        }
        return [
            ScoredMemory(
                memory=found[name],
                score=0.0,
                chosen=False,
                reason=reasons[name],
                semantic=meant.get(name, 0.0),
                lexical=said.get(name, 0.0),
            )
            for name in dict.fromkeys((*said, *meant))
            if name in found
        ]

    def _quarantined_near(self, query: Query) -> dict[str, float]:
        """The cosines of those nearest to the query, of the newest that are in quarantine."""
        if query.vector is None or not self.vectors:
            return {}
        alive = self._words.alive
        stored = [self.stored.ids[one] for one in self.stored.quarantined() if alive[one]]
        newest = [*stored, *self._quarantined][-LOOKED_AT:]
        found = self.matrix.cosines(query.vector, newest)
        elsewhere = [name for name in newest if name not in found]
        found = {**self.stored.matrix.cosines(query.vector, elsewhere), **found}
        best = sorted(found, key=lambda name: (-found[name], name))[:LEFT_OUT]
        return {name: found[name] for name in best}
