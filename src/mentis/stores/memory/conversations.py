"""Turns of conversations in memory."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

from mentis.errors import StoreError
from mentis.values.ending import Ending
from mentis.values.turn import Turn


class ConversationsInMemory:
    """Turns are numbered from 0, so that a number is also the place in `turns`."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, str], list[Turn]] = {}
        self._carried: set[tuple[str, str, str]] = set()
        self._lock = Lock()

    def add(self, agent: str, session: str, turn: Turn) -> int:
        with self._lock:
            turns = self._turns.setdefault((agent, session), [])
            turns.append(turn)
            return len(turns) - 1

    def replace(self, agent: str, session: str, number: int, turn: Turn) -> None:
        turns = self._turns.get((agent, session), [])
        if not 0 <= number < len(turns):
            raise StoreError(f"session `{session}` of `{agent}` has no turn {number}")
        turns[number] = turn

    def carry(self, agent: str, session: str, ending: Ending) -> None:
        with self._lock:
            if self.carried(agent, session, ending):
                return
            turns = self._turns.setdefault((agent, session), [])
            if ending.state is not None and 0 <= ending.number < len(turns):
                turns[ending.number] = replace(turns[ending.number], state=ending.state)
            turns.extend(ending.turns)
            self._carried.add((agent, session, ending.name))

    def carried(self, agent: str, session: str, ending: Ending) -> bool:
        return (agent, session, ending.name) in self._carried

    def turns(self, agent: str, session: str) -> tuple[Turn, ...]:
        return tuple(self._turns.get((agent, session), ()))

    def damage(self) -> tuple[str, ...]:
        return ()

    def sessions(self, agent: str) -> tuple[str, ...]:
        return tuple(session for owner, session in tuple(self._turns) if owner == agent)
