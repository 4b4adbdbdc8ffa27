"""Keeps the states of minds. The double is `mentis.stores.memory.StatesInMemory`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.cognition import CognitionState, Revision


class StateStore(Protocol):
    def load(self, agent: str) -> CognitionState:
        """The newest state; an empty one at revision 0 when nothing was saved yet.

        StoreDamaged when it cannot be read; the states before it can still be had.
        """
        ...

    def save(self, agent: str, state: CognitionState, *, expected: int, words: str = "") -> None:
        """Keep `state` if revision `expected` is still the newest, else raise StoreConflict.

        `words` say what made it; those that came before stay as they are.
        """
        ...

    def at(self, agent: str, revision: int) -> CognitionState | None:
        """The state as it was then; the empty one for 0, None if there was no such revision."""
        ...

    def history(self, agent: str, *, last: int | None = None) -> tuple[Revision, ...]:
        """The revisions, oldest first: all, or the `last` so many."""
        ...
