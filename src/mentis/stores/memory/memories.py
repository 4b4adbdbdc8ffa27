"""Memories in memory."""

from __future__ import annotations

from mentis.values.cognition import Memory


class MemoriesInMemory:
    def __init__(self) -> None:
        self._memories: dict[tuple[str, str], Memory] = {}

    def remember(self, agent: str, memory: Memory) -> None:
        self._memories[agent, memory.id] = memory

    def forget(self, agent: str, memory_id: str) -> bool:
        return self._memories.pop((agent, memory_id), None) is not None

    def memories(self, agent: str) -> tuple[Memory, ...]:
        return tuple(self._memories[key] for key in sorted(self._memories) if key[0] == agent)
