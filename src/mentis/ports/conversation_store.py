"""Keeps the turns of conversations. The double is `mentis.stores.memory.ConversationsInMemory`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.turn import Turn


class ConversationStore(Protocol):
    def add(self, agent: str, session: str, turn: Turn) -> int:
        """Store a turn at the end of a session and return its number."""
        ...

    def replace(self, agent: str, session: str, number: int, turn: Turn) -> None:
        """Put a newer state of the same turn in its place."""
        ...

    def turns(self, agent: str, session: str) -> tuple[Turn, ...]: ...

    def sessions(self, agent: str) -> tuple[str, ...]:
        """The names of all sessions, oldest first."""
        ...

    def damage(self) -> tuple[str, ...]:
        """What is wrong between tables and indexes, of all agents."""
        ...
