"""History of anything that is edited. The double is `mentis.stores.memory.RevisionsInMemory`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.cognition import Revision


class Revisions(Protocol):
    def save(self, revision: Revision) -> None:
        """Keep it as the newest of its key; its number must be the next one, else StoreConflict."""
        ...

    def history(self, key: str, *, last: int | None = None) -> tuple[Revision, ...]:
        """The revisions of a key, oldest first: all, or the `last` so many."""
        ...

    def at(self, key: str, number: int) -> Revision | None:
        """One of them."""
        ...
