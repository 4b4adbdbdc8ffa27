"""Keeps what stands open. The double is `mentis.stores.memory.LedgerInMemory`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.mark import Mark


class Marks(Protocol):
    """Read here; set and taken away by `Entries.append` and `Entries.erase` alone."""

    def marks(self, agent: str, kind: str) -> tuple[Mark, ...]:
        """What stands open of one kind, in the order of the keys."""
        ...

    def mark(self, agent: str, kind: str, key: str) -> Mark | None: ...
