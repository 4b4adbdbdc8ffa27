"""Keeps chains of entries. The double is `mentis.stores.memory.LedgerInMemory`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from mentis.values.entry import Draft, Entry, Head

Stamp: TypeAlias = Callable[[str, Head | None, Draft], Entry]


class LedgerStore(Protocol):
    def append(self, agent: str, drafts: Sequence[Draft], stamp: Stamp) -> tuple[Entry, ...]:
        """Add all drafts or none. `stamp(agent, head, draft)` runs inside the write transaction.

        A draft whose delivery is known already yields the entry that was made of it then.
        """
        ...

    def entries(self, agent: str) -> Iterator[Entry]:
        """The chain of one agent from its beginning, read as it is asked for."""
        ...

    def latest(self, agent: str, count: int) -> tuple[Entry, ...]:
        """The newest entries of one agent, at most so many, oldest first."""
        ...

    def agents(self) -> tuple[str, ...]: ...
