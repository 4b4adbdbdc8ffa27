"""States of minds in memory."""

from __future__ import annotations

from threading import Lock

from mentis.stores.succession import check_next_state
from mentis.values.cognition import CognitionState


class StatesInMemory:
    def __init__(self) -> None:
        self._states: dict[str, CognitionState] = {}
        self._lock = Lock()

    def load(self, agent: str) -> CognitionState:
        return self._states.get(agent, CognitionState())

    def save(self, agent: str, state: CognitionState, *, expected: int) -> None:
        with self._lock:
            newest = self.load(agent).revision
            check_next_state(agent, state, newest=newest, expected=expected)
            self._states[agent] = state
