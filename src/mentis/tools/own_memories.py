"""The memories of an agent that acts: the one service of them, opened by the first act on them."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from anyio import to_thread

from mentis.home.ground import Ground
from mentis.home.parts import Parts
from mentis.ports.embedder import Embedder
from mentis.values.memories import FoundMemories, MemoryDraft, MemoryFilter, StoredMemory
from mentis.values.trace import Degradation

if TYPE_CHECKING:
    from mentis.memories.memories import Memories


class OwnMemories:
    """`degraded` is what the last act on them had to do without."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._memories: Memories | None = None
        self._lock = Lock()
        self.degraded: tuple[Degradation, ...] = ()

    def embedder(self) -> Embedder | None:
        """What would make their vectors, also where they cannot be opened themselves."""
        from mentis.memories.parts import HomeEmbedder

        choice = self._ground.settings.model.recall.embedder
        return self._ground.embedder or (None if choice == "off" else HomeEmbedder(choice))

    async def remember(self, draft: MemoryDraft) -> StoredMemory:
        memories = await to_thread.run_sync(self.open)
        kept = await memories.remember(draft)
        self.degraded = kept.degraded
        return kept

    async def search(self, query: str, *, wanted: MemoryFilter, limit: int) -> FoundMemories:
        memories = await to_thread.run_sync(self.open)
        found = await memories.search(query, wanted=wanted, limit=limit)
        self.degraded = found.degraded
        return found

    def close(self) -> None:
        """The database of the home stays open: it is not ours."""
        with self._lock:
            memories, self._memories = self._memories, None
        if memories is not None:
            memories.close()

    def open(self) -> Memories:
        """The service itself. It blocks the first time."""
        # A tenth of a second of processor, which an agent that notes nothing need not wait for.
        from mentis.memories.memories import Memories, open_memory_parts

        with self._lock:
            if self._memories is None:
                ground = self._ground
                parts = Parts(
                    clock=ground.clock,
                    ids=ground.ids,
                    environ=ground.environ,
                    embedder=ground.embedder,
                    screener=ground.screener,
                )
                tools = open_memory_parts(ground.settings, ground.database, parts)
                self._memories = Memories(ground.agent, tools)
            return self._memories
