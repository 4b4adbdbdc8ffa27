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
from mentis.ports.screener import Screener, StoredVector
from mentis.recall.embedding import answer
from mentis.recall.memory.packing import pack_vectors
from mentis.values.cognition import Memory
from mentis.values.memories import VectorRebuild

from .gatekeeper import Gatekeeper

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class VectorFiller:
    """`screener` looks again at what comes from outside, once it has its vector."""

    agent: str
    store: MemoryStore
    embedder: Embedder
    screener: Screener | None = None

    async def fill(self, progress: Progress | None, batch: int) -> VectorRebuild:
        """Make the vectors that this embedder has not made yet."""
        fingerprint, after, made = self.embedder.fingerprint, "", 0
        dropped: list[str] = []
        total = await to_thread.run_sync(self.count_missing)
        while waiting := await to_thread.run_sync(self._waiting, after, batch):
            count, judged = await self.embed(waiting)
            made += count
            dropped += [one.id for one in judged if one.quarantined]
            after = waiting[-1].id
            if progress is not None:
                progress(min(made, total), total)
        left = await to_thread.run_sync(self.count_missing)
        return VectorRebuild(fingerprint, made, total, not left, quarantined=tuple(dropped))

    async def embed(self, memories: Sequence[Memory]) -> tuple[int, tuple[Memory, ...]]:
        """How many vectors were kept, and the memories that screening judges worse by them."""
        numbers = await answer(self.embedder, [memory.text for memory in memories])
        vectors = pack_vectors(memories, numbers)
        keep = self.store.keep_vectors
        made = await to_thread.run_sync(keep, self.agent, self.embedder.fingerprint, vectors)
        return made, await to_thread.run_sync(self._screen_again, memories, numbers)

    def _screen_again(
        self, memories: Sequence[Memory], numbers: Sequence[Sequence[float]]
    ) -> tuple[Memory, ...]:
        if self.screener is None:
            return ()
        model = self.embedder.fingerprint
        stored = {
            one.id: StoredVector(row, model) for one, row in zip(memories, numbers, strict=True)
        }
        gate, worse = Gatekeeper(self.screener, stored.get), list[Memory]()
        for before in memories:
            after = gate.screen_again(before)
            # Somebody who changed it meanwhile has the last word; reading looks again anyway.
            if after is not before and self.store.change(self.agent, before, after):
                worse.append(after)
        return tuple(worse)

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
