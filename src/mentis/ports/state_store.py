"""Keeps the state of a mind. The double is `mentis.stores.memory.StatesInMemory`."""

from __future__ import annotations

from typing import Protocol

from mentis.values.cognition import CognitionState


class StateStore(Protocol):
    def load(self, agent: str) -> CognitionState:
        """The newest state; an empty one at revision 0 when nothing was saved yet."""
        ...

    def save(self, agent: str, state: CognitionState, *, expected: int) -> None:
        """Keep `state` if revision `expected` is still the newest, else raise StoreConflict."""
        ...
