"""Keeps the turns of conversations. The double is `mentis.stores.memory.LedgerInMemory`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.lease import Lease
from mentis.values.turn import Turn


class Turns(Protocol):
    """A message stands here before it is answered. Its end, what follows it and what is erased are
    written by `Entries.append` and `Entries.erase` alone, with the entry that binds them.
    """

    def add_turn(self, agent: str, session: str, turn: Turn, *, lease: Lease | None = None) -> int:
        """Store a turn at the end of a session and return its number; they count from 0. With a
        lease it is LeaseHeld once somebody else has taken the lease.
        """
        ...

    def turns(
        self, agent: str, session: str, *, since: int = 0, before: int | None = None
    ) -> tuple[Turn, ...]:
        """All of them, or those from a number on, up to `before` another."""
        ...

    def count_turns(self, agent: str, session: str) -> int: ...

    def turning_points(
        self, agent: str, session: str, count: int, *, before: int
    ) -> tuple[tuple[int, Turn], ...]:
        """The last of those before a number that say what is told of the others, as `last_turns`
        has them. What was looked through once is not looked through again.
        """
        ...

    def pending_turns(self, agent: str, session: str) -> tuple[tuple[int, Turn], ...]:
        """Those that have not come to an end, with their numbers, as `turns` has them. What was
        looked through once is not looked through again.
        """
        ...

    def last_turns(
        self, agent: str, session: str, count: int, *, before: int | None = None
    ) -> tuple[tuple[int, Turn], ...]:
        """The last ones, or the last `before` a number, with their numbers, the oldest first,
        without the bytes of attachments: a piece of a long conversation costs no more than all of
        a short one.
        """
        ...

    def title(self, agent: str, session: str) -> str:
        """The newest title of a session; nothing where it has none. What was looked through once is
        not looked through again.
        """
        ...

    def sessions(self, agent: str) -> tuple[str, ...]:
        """The names of all sessions, oldest first."""
        ...
