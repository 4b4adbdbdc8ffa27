"""Vectors for the memories that have none yet.

The store itself is the queue: what has no vector waits, however it came in. Each batch is kept when
it is made, so whoever is stopped, or killed, goes on from there the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from anyio import to_thread

from mentis.ports.embedder import Embedder
from mentis.ports.memory_store import MemoryStore
from mentis.recall.embedding import answer
from mentis.recall.memory.packing import pack_vectors
from mentis.values.cognition import Memory
from mentis.values.memories import VectorRebuild

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class VectorFiller:
    agent: str
    store: MemoryStore
    embedder: Embedder

    async def fill(self, progress: Progress | None, batch: int) -> VectorRebuild:
        """Make the vectors that this embedder has not made yet."""
        fingerprint, after, made = self.embedder.fingerprint, "", 0
        total = await to_thread.run_sync(self.count_missing)
        while waiting := await to_thread.run_sync(self._waiting, after, batch):
            made += await self.embed(waiting)
            after = waiting[-1].id
            if progress is not None:
                progress(min(made, total), total)
        left = await to_thread.run_sync(self.count_missing)
        return VectorRebuild(fingerprint, made, total, not left)

    async def embed(self, memories: Sequence[Memory]) -> int:
        texts = [memory.text for memory in memories]
        vectors = pack_vectors(memories, await answer(self.embedder, texts))
        keep = self.store.keep_vectors
        return await to_thread.run_sync(keep, self.agent, self.embedder.fingerprint, vectors)

    def count_missing(self) -> int:
        made = self.store.count_vectors(self.agent).get(self.embedder.fingerprint, 0)
        return self.store.count(self.agent) - made

    def drop_others(self) -> int:
        """Let the vectors of other embedders go; how many that were."""
        others = self.store.count_vectors(self.agent).keys() - {self.embedder.fingerprint}
        return sum(self.store.drop_vectors(self.agent, other) for other in sorted(others))

    def _waiting(self, after: str, batch: int) -> tuple[Memory, ...]:
        fingerprint = self.embedder.fingerprint
        return self.store.without_vector(self.agent, fingerprint, count=batch, after=after)
