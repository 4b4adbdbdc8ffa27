"""The record of one agent, as whoever lives by it reads it and adds to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from mentis.ledger.chain import make_stamp
from mentis.ports.clock import Clock, read_clock
from mentis.ports.entries import Stamp
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.values.entry import Draft, Entry
from mentis.values.json import JsonObject
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.measured import ClockReading
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

if TYPE_CHECKING:
    from .home_files import HomeFiles


def _assume_writable() -> None:
    """It turns out when something is written."""


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """What an agent said and did, with the clock and ids that stamp what is added. It blocks.

    With a `lease` nothing is added once somebody else has it: LeaseHeld, in the same transaction.
    """

    agent: str
    ledger: LedgerStore
    clock: Clock
    ids: Ids
    lease: Lease | None = None
    require_writable: Callable[[], None] = _assume_writable  # before a model is asked
    settles: tuple[Mark, ...] = ()  # taken away with the turn that is written
    files: HomeFiles | None = None  # which a turn binds, where they changed

    def under(self, lease: Lease) -> AgentRecord:
        """The same record, for whoever holds this lease, and as long as that is so."""
        return replace(self, lease=lease)

    def now(self) -> datetime:
        return self.clock.now()

    def reading(self) -> ClockReading:
        """What both clocks say now: the one on the wall, and the one nobody sets."""
        return read_clock(self.clock)

    def stamp(self) -> Stamp:
        """Chains an entry to the one before it, with the time and a salt of its own."""
        return make_stamp(self.clock.now, self.ids.salt, self.clock.uptime)

    def append(
        self,
        kind: str,
        body: JsonObject,
        *,
        source: str = "runtime",
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
        stamp: Stamp | None = None,
    ) -> Entry:
        """One entry, together with its marks and the turns that it binds."""
        if self.files is not None and kind == "turn":
            self.files.note(self.ids.salt)
        draft, stamp = Draft(kind, source, body), stamp or self.stamp()
        (entry,) = self.ledger.append(
            self.agent, [draft], stamp, lease=self.lease, marks=marks, turns=turns
        )
        return entry

    def add_message(self, session: str, turn: Turn) -> int:
        """Store a message at the end of a session, before it is answered; its number there."""
        return self.ledger.add_turn(self.agent, session, turn, lease=self.lease)

    def latest(self, count: int, *, kind: str = "") -> tuple[Entry, ...]:
        """The last entries, the oldest first."""
        return self.ledger.latest(self.agent, count, kind=kind)

    def sessions(self) -> tuple[str, ...]:
        """The names of all sessions, the oldest first."""
        return self.ledger.sessions(self.agent)

    def turns(self, session: str) -> tuple[Turn, ...]:
        """All turns of one session, in their order."""
        return self.ledger.turns(self.agent, session)
