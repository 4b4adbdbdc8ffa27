"""Keeps the turns of conversations. The double is `mentis.stores.memory.ConversationsInMemory`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.ending import Ending
from mentis.values.turn import Turn


class ConversationStore(Protocol):
    def add(self, agent: str, session: str, turn: Turn) -> int:
        """Store a turn at the end of a session and return its number."""
        ...

    def replace(self, agent: str, session: str, number: int, turn: Turn) -> None:
        """Put a newer state of the same turn in its place."""
        ...

    def carry(self, agent: str, session: str, ending: Ending) -> None:
        """Give the message its state and store what followed it at the end: all of it, and once.

        What was carried over under this name already is left as it is now.
        """
        ...

    def carried(self, agent: str, session: str, ending: Ending) -> bool: ...

    def turns(self, agent: str, session: str) -> tuple[Turn, ...]: ...

    def sessions(self, agent: str) -> tuple[str, ...]:
        """The names of all sessions, oldest first."""
        ...

    def damage(self) -> tuple[str, ...]:
        """What is wrong between tables and indexes, of all agents."""
        ...
