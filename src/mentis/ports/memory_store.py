"""Keeps memories. The double is `mentis.stores.memory.MemoriesInMemory`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.cognition import Memory


class MemoryStore(Protocol):
    def remember(self, agent: str, memory: Memory) -> None:
        """Keep it; a memory with the same id is replaced."""
        ...

    def forget(self, agent: str, memory_id: str) -> bool:
        """Really gone; False when there was none."""
        ...

    def memories(self, agent: str) -> tuple[Memory, ...]:
        """All of them, in the order of their ids."""
        ...
