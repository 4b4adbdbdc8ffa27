"""Memories in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from threading import Lock
from typing import TypeAlias

from mentis.stores.memory_rules import check_same, check_vectors, id_taken, same_as
from mentis.values.cognition import Memory
from mentis.values.memories import (
    MemoryListing,
    MemoryStanding,
    Vector,
    content_key,
    listed_text,
    memory_state,
    text_digest,
)

_Kept: TypeAlias = dict[str, tuple[int, Memory]]
_Vectors: TypeAlias = dict[tuple[str, str], tuple[int, Vector]]  # by fingerprint and memory


class MemoriesInMemory:
    def __init__(self) -> None:
        self._memories: dict[str, _Kept] = {}
        self._vectors: dict[str, _Vectors] = {}
        self._standing: dict[str, MemoryStanding] = {}
        self._turn = Lock()

    def remember(self, agent: str, memory: Memory) -> None:
        there = self.find(agent, memory.id)
        stale = there is not None and there.text != memory.text
        if stale:
            self._let_go(agent, memory.id)
        self._of(agent)[memory.id] = (self._advance(agent, forgotten=int(stale)), memory)

    def add(self, agent: str, memories: Sequence[Memory]) -> tuple[Memory, ...]:
        kept, made = dict(self._of(agent)), list[Memory]()
        said: defaultdict[str, list[Memory]] = defaultdict(list)
        for _, memory in kept.values():
            if not memory.superseded_by:
                said[content_key(memory)].append(memory)
        for memory in memories:
            key = content_key(memory)
            same = same_as(memory, said[key])
            if same is None and memory.id in kept:
                raise id_taken(memory.id)
            if same is None:
                kept[memory.id] = (self.standing(agent).revision + 1, memory)
                said[key] += [] if memory.superseded_by else [memory]
            made.append(same or memory)
        if memories:
            self._advance(agent)
            self._memories[agent] = kept
        return tuple(made)

    def change(
        self, agent: str, before: Memory, after: Memory, *, given: Sequence[Memory] = ()
    ) -> bool:
        check_same(before, after)
        with self._turn:
            if any(self.find(agent, memory.id) != memory for memory in (before, *given)):
                return False
            self.remember(agent, after)
        return True

    def forget(self, agent: str, memory_id: str) -> bool:
        if self._of(agent).pop(memory_id, None) is None:
            return False
        self._let_go(agent, memory_id)
        self._advance(agent, forgotten=1)
        return True

    @property
    def remains(self) -> tuple[str, ...]:
        return ()

    def find(self, agent: str, memory_id: str) -> Memory | None:
        return self._of(agent).get(memory_id, (0, None))[1]

    def memories(self, agent: str, *, since: int = 0) -> tuple[Memory, ...]:
        return tuple(kept for _, (at, kept) in sorted(self._of(agent).items()) if at > since)

    def find_all(self, agent: str, ids: Sequence[str]) -> tuple[Memory, ...]:
        own = self._of(agent)
        return tuple(own[one][1] for one in dict.fromkeys(ids) if one in own)

    def last_changed(
        self, agent: str, *, until: int, count: int
    ) -> tuple[tuple[str, int, str], ...]:
        found = [one for one in self.changes(agent, [*self._of(agent)]) if one[1] <= until]
        return tuple(sorted(found, key=lambda one: (-one[1], one[0]))[:count])

    def changes(self, agent: str, ids: Sequence[str]) -> tuple[tuple[str, int, str], ...]:
        own = self._of(agent)
        return tuple(
            (one, own[one][0], text_digest(own[one][1].text))
            for one in dict.fromkeys(ids)
            if one in own
        )

    def page(
        self, agent: str, listing: MemoryListing, *, count: int | None = None, start: int = 0
    ) -> tuple[Memory, ...]:
        found = [one for one in self.memories(agent) if _is_listed(one, listing)]
        if listing.order == "newest":
            found.sort(key=lambda one: (one.time, one.id), reverse=True)
        elif listing.order == "names":
            found.sort(key=lambda one: (one.tags, one.id))
        return tuple(found[start : None if count is None else start + count])

    def count(self, agent: str, listing: MemoryListing | None = None) -> int:
        return len(self._of(agent)) if listing is None else len(self.page(agent, listing))

    def standing(self, agent: str) -> MemoryStanding:
        return self._standing.get(agent, MemoryStanding())

    def keep_vectors(self, agent: str, fingerprint: str, vectors: Sequence[Vector]) -> int:
        check_vectors([*self.vectors(agent, fingerprint)[:1], *vectors])
        revision, kept = self._advance(agent), 0
        for vector in vectors:
            memory = self.find(agent, vector.memory)
            if memory is not None and text_digest(memory.text) == vector.text:
                own = self._vectors.setdefault(agent, {})
                own[fingerprint, vector.memory] = (revision, vector)
                kept += 1
        return kept

    def vectors(self, agent: str, fingerprint: str, *, since: int = 0) -> tuple[Vector, ...]:
        own = self._vectors.get(agent, {}).items()
        of_it = [(at, kept) for (of, _), (at, kept) in own if of == fingerprint and at > since]
        return tuple(kept for _, kept in sorted(of_it, key=lambda one: (one[0], one[1].memory)))

    def vector_revisions(
        self, agent: str, fingerprint: str, among: Sequence[str] | None = None
    ) -> dict[str, int]:
        own = self._vectors.get(agent, {}).items()
        kept = {name: at for (of, name), (at, _) in own if of == fingerprint}
        wanted = kept if among is None else set(among)
        found = ((at, name) for name, at in kept.items() if name in wanted)
        return {name: at for at, name in sorted(found)}

    def vectors_of(self, agent: str, fingerprint: str, ids: Sequence[str]) -> tuple[Vector, ...]:
        own = self._vectors.get(agent, {})
        places = ((fingerprint, one) for one in dict.fromkeys(ids))
        return tuple(own[place][1] for place in places if place in own)

    def without_vector(
        self, agent: str, fingerprint: str, *, count: int, after: str = ""
    ) -> tuple[Memory, ...]:
        own = self._vectors.get(agent, {})
        there = (memory for memory in self.memories(agent) if memory.id > after)
        return tuple(one for one in there if (fingerprint, one.id) not in own)[:count]

    def count_vectors(self, agent: str) -> dict[str, int]:
        return dict(sorted(Counter(of for of, _ in self._vectors.get(agent, {})).items()))

    def drop_vectors(self, agent: str, fingerprint: str) -> int:
        gone = [key for key in self._vectors.get(agent, {}) if key[0] == fingerprint]
        for key in gone:
            del self._vectors[agent][key]
        self._advance(agent, forgotten=1)
        return len(gone)

    # ruff: noqa: ARG002 - it is the port that wants them
    def nearest(
        self, agent: str, fingerprint: str, query: Sequence[float], *, count: int
    ) -> tuple[Vector, ...] | None:
        """It cannot search by vectors."""
        return None

    def close(self) -> None:
        """Nothing is open."""

    def _of(self, agent: str) -> _Kept:
        return self._memories.setdefault(agent, {})

    def _let_go(self, agent: str, memory_id: str) -> None:
        own = self._vectors.get(agent, {})
        for key in [key for key in own if key[1] == memory_id]:
            del own[key]

    def _advance(self, agent: str, *, forgotten: int = 0) -> int:
        before = self.standing(agent)
        after = MemoryStanding(before.revision + 1, before.forgotten + forgotten)
        self._standing[agent] = after
        return after.revision


def _is_listed(memory: Memory, listing: MemoryListing) -> bool:
    return (
        (not listing.kinds or memory.kind in listing.kinds)
        and (not listing.states or memory_state(memory) in listing.states)
        and (not listing.worths or memory.worth in listing.worths)
        and memory.id > listing.after
        and all(word in listed_text(memory) for word in listing.words)
    )
