"""Keeps memories and their vectors. The double is `mentis.stores.memory.MemoriesInMemory`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mentis.values.cognition import Memory
from mentis.values.memories import MemoryListing, MemoryStanding, Vector


class MemoryStore(Protocol):
    def remember(self, agent: str, memory: Memory) -> None:
        """Keep it; a memory with the same id is replaced. With another text its vectors go."""
        ...

    def add(self, agent: str, memories: Sequence[Memory]) -> tuple[Memory, ...]:
        """Keep all or none; of one that is kept already, the one that was there stays.

        Kept already is what has the same content and no less trust, and was not superseded.
        Returns what is kept now, in the order given. StoreConflict when an id is taken.
        """
        ...

    def change(
        self, agent: str, before: Memory, after: Memory, *, given: Sequence[Memory] = ()
    ) -> bool:
        """Put `after` in the place of `before`; both have one id.

        False, and nothing is done, when `before` or one of `given` is not what is kept now.
        """
        ...

    def forget(self, agent: str, memory_id: str) -> bool:
        """Really gone, with its vectors; False when there was none."""
        ...

    @property
    def remains(self) -> tuple[str, ...]:
        """Where the bytes of what was let go last may be for a while yet, in words: best none."""
        ...

    def find(self, agent: str, memory_id: str) -> Memory | None: ...

    def memories(self, agent: str, *, since: int = 0) -> tuple[Memory, ...]:
        """Those that changed after the revision `since`, in the order of their ids."""
        ...

    def find_all(self, agent: str, ids: Sequence[str]) -> tuple[Memory, ...]:
        """Those of these ids that there are, in any order."""
        ...

    def last_changed(
        self, agent: str, *, until: int, count: int
    ) -> tuple[tuple[str, int, str], ...]:
        """The memories that changed last, up to the revision `until`: id, revision and the digest
        of the text, the newest first.
        """
        ...

    def changes(self, agent: str, ids: Sequence[str]) -> tuple[tuple[str, int, str], ...]:
        """The same of the memories with these ids, in any order."""
        ...

    def page(
        self, agent: str, listing: MemoryListing, *, count: int | None = None, start: int = 0
    ) -> tuple[Memory, ...]:
        """A part of a list, in its order: as many from the place `start` on; None: all of them."""
        ...

    def count(self, agent: str, listing: MemoryListing | None = None) -> int:
        """How many there are, or how many a list has."""
        ...

    def standing(self, agent: str) -> MemoryStanding: ...

    def keep_vectors(self, agent: str, fingerprint: str, vectors: Sequence[Vector]) -> int:
        """Keep those whose memory still has the text they were made of; how many that were."""
        ...

    def vectors(self, agent: str, fingerprint: str, *, since: int = 0) -> tuple[Vector, ...]:
        """Those of one embedder that were kept after the revision `since`.

        In the order they were kept, and of ids where they were kept together.
        """
        ...

    def vector_revisions(
        self, agent: str, fingerprint: str, among: Sequence[str] | None = None
    ) -> dict[str, int]:
        """When each vector of one embedder was kept: of these memories, or of all, in the order
        of `vectors`.
        """
        ...

    def vectors_of(self, agent: str, fingerprint: str, ids: Sequence[str]) -> tuple[Vector, ...]:
        """Those of these memories that there are, in any order."""
        ...

    def without_vector(
        self, agent: str, fingerprint: str, *, count: int, after: str = ""
    ) -> tuple[Memory, ...]:
        """The first memories, by id, behind `after` that this embedder has made no vector of."""
        ...

    def count_vectors(self, agent: str) -> dict[str, int]:
        """How many vectors there are of each embedder's fingerprint."""
        ...

    def drop_vectors(self, agent: str, fingerprint: str) -> int:
        """Let all vectors of one embedder go; how many that were."""
        ...

    def nearest(
        self, agent: str, fingerprint: str, query: Sequence[float], *, count: int
    ) -> tuple[Vector, ...] | None:
        """The vectors the store itself finds nearest, or None where it cannot search by them."""
        ...

    def close(self) -> None:
        """Let go of connections of its own, if it has any."""
        ...
