"""States of minds in memory."""

from __future__ import annotations

from mentis.ports.clock import FixedClock
from mentis.stores.states import States

from .revisions import RevisionsInMemory


class StatesInMemory(States):
    def __init__(self) -> None:
        super().__init__(RevisionsInMemory(), FixedClock())
