"""Inbox and doorbell in memory, by the clock of the process."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Condition

from mentis.values.inbox import InboxAnswer, InboxMessage, Ring


@dataclass(slots=True)
class _Bell:
    due: float
    number: int = 1
    claim: int = 0
    claimed: bool = False


@dataclass(slots=True)
class _Row:
    message: InboxMessage
    tries: int = 0
    answer: InboxAnswer | None = None


@dataclass(slots=True)
class InboxInMemory:
    _rows: dict[tuple[str, str], _Row] = field(default_factory=dict[tuple[str, str], _Row])
    _bells: dict[str, _Bell] = field(default_factory=dict[str, _Bell])
    _rung: Condition = field(default_factory=Condition)

    def put(self, agent: str, message: InboxMessage) -> bool:
        with self._rung:
            if (agent, message.id) in self._rows:
                return False
            self._rows[agent, message.id] = _Row(message)
            self.ring(agent)
            return True

    def waiting(self, agent: str, most: int) -> tuple[InboxMessage, ...]:
        rows = (row for (one, _), row in self._rows.items() if one == agent and row.answer is None)
        return tuple(row.message for row in rows)[:most]

    def tried(self, agent: str, message_id: str) -> int:
        if (row := self._rows.get((agent, message_id))) is None:
            return 0
        row.tries += 1
        return row.tries

    def answered(self, agent: str, message_id: str, answer: InboxAnswer) -> None:
        with self._rung:
            row = self._rows.get((agent, message_id))
            if row is not None and row.answer is None:
                row.answer = answer
            self._rung.notify_all()

    def answer(self, agent: str, message_id: str) -> InboxAnswer | None:
        row = self._rows.get((agent, message_id))
        return None if row is None else row.answer

    def counts(self) -> tuple[int, int]:
        waiting = [agent for (agent, _), row in self._rows.items() if row.answer is None]
        return len(waiting), len(set(waiting))

    def ring(self, agent: str, *, seconds: float = 0.0) -> None:
        with self._rung:
            due = time.monotonic() + seconds
            bell = self._bells.setdefault(agent, _Bell(due, number=0))
            bell.number += 1
            bell.due = bell.due if bell.claimed else min(bell.due, due)
            self._rung.notify_all()

    def claim(self, seconds: float) -> Ring | None:
        with self._rung:
            now = time.monotonic()
            due = [(bell.due, agent) for agent, bell in self._bells.items() if bell.due <= now]
            if not due:
                return None
            agent = min(due)[1]
            bell = self._bells[agent]
            bell.due, bell.claim, bell.claimed = now + seconds, bell.claim + 1, True
            return Ring(agent, bell.number, bell.claim)

    def keep(self, ring: Ring, seconds: float) -> None:
        with self._rung:
            bell = self._bells.get(ring.agent)
            if bell is not None and bell.claim == ring.claim:
                bell.due = time.monotonic() + seconds

    def rest(self, ring: Ring, *, again: float | None = None) -> None:
        with self._rung:
            bell = self._bells.get(ring.agent)
            if bell is None or bell.claim != ring.claim:
                return
            if again is None and bell.number == ring.number:
                del self._bells[ring.agent]
                return
            bell.due, bell.claimed = time.monotonic() + (again or 0.0), False
            self._rung.notify_all()

    def wait(self, seconds: float) -> None:
        with self._rung:
            self._rung.wait(seconds)

    def close(self) -> None:
        """There is nothing to let go of."""
