"""Turns as an older Mentis left them: settled when an agent is opened, shown as they are till then.

There they lay in the home's own database, also where the ledger was on a server, and what a turn
came to stood as a mark beside its entry until it was written there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from mentis.ports.ledger_store import LedgerStore
from mentis.ports.marks import Marks
from mentis.ports.turns import Turns
from mentis.stores.older_turns import ENDING, ERASED_TURNS, OlderWrites, settle_marks
from mentis.stores.sql_ledger import SqlLedger
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.turn_move import MOVED, move_turns
from mentis.values.mark import Mark
from mentis.values.turn import Turn

from .checkpoints import CheckpointedLedger, log_note

_SOME = "SELECT 1 FROM turns WHERE agent = ? LIMIT 1"


class StoredTurns(Protocol):
    """The turns of conversations, to be read."""

    def turns(self, agent: str, session: str) -> tuple[Turn, ...]: ...

    def sessions(self, agent: str) -> tuple[str, ...]: ...


class _Kept(Turns, Marks, Protocol):
    """A store, as far as it is needed here."""


def settle_older_turns(ledger: LedgerStore, database: Database, agent: str) -> None:
    """Write what an older Mentis left to be written, where the ledger is. StoreDamaged where that
    cannot be read: it would be told to the model.
    """
    store = ledger.inner if isinstance(ledger, CheckpointedLedger) else ledger
    if database.readonly or not isinstance(store, SqlLedger):
        return
    if isinstance(store, SqliteLedger):
        if any(_marks(store, agent)):
            store.unit(agent, lambda unit: settle_marks(unit, agent, unit.execute))
    elif database.read(_SOME, (agent,)) or any(_marks(store, agent, MOVED)):
        if isinstance(ledger, CheckpointedLedger):
            ledger.begin(agent)  # another home may have been first on that server: RolledBack
        for session in move_turns(database, store, agent):
            log_note(
                f"turns of session {session!r} stay in {database.path} and are not read: the server"
                " of the ledger has others under that name"
            )


def has_own_turns(ledger: LedgerStore, database: Database, agent: str) -> bool:
    """Whether the home's own file has turns although the ledger is on a server: it stays so where
    the file has entries of its own that speak of them.
    """
    store = ledger.inner if isinstance(ledger, CheckpointedLedger) else ledger
    return not isinstance(store, SqliteLedger) and bool(database.read(_SOME, (agent,)))


class OlderTurns:
    """The turns of a home, with what is still to be settled of them. For reading alone."""

    def __init__(self, store: _Kept, database: Database) -> None:
        self._store = store
        self._database = database
        # Where the ledger is on a server, sessions may not have been moved there yet.
        inner = store.inner if isinstance(store, CheckpointedLedger) else store
        self._file = None if isinstance(inner, SqliteLedger) else SqliteLedger(database)

    def turns(self, agent: str, session: str) -> tuple[Turn, ...]:
        while True:
            waiting = self._waiting(agent)
            turns = self._store.turns(agent, session)
            if not turns and self._file is not None:
                turns = self._file.turns(agent, session)
            if waiting == self._waiting(agent):  # else somebody settles it just now
                break
        for one in waiting:
            turns = one.applied_to(turns) if one.writes.session == session else turns
        return turns

    def sessions(self, agent: str) -> tuple[str, ...]:
        older = self._file.sessions(agent) if self._file is not None else ()
        begun = (one.writes.session for one in self._waiting(agent) if one.writes.turns)
        return tuple(dict.fromkeys((*self._store.sessions(agent), *older, *begun)))

    def damage(self) -> tuple[str, ...]:
        """Of the home's own database, where the ledger is elsewhere."""
        return () if self._file is None else self._file.damage()

    def notes(self, agent: str) -> tuple[str, ...]:
        """What is recorded and still to be written, for a verdict."""
        return tuple(map(str, self._waiting(agent)))

    def _waiting(self, agent: str) -> tuple[OlderWrites, ...]:
        read = map(OlderWrites.read, _marks(self._store, agent))
        return tuple(one for one in read if not one.is_written(agent, self._database.read))


def _marks(store: Marks, agent: str, *more: str) -> Iterator[Mark]:
    for kind in (ENDING, ERASED_TURNS, *more):
        yield from store.marks(agent, kind)
