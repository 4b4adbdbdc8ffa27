"""The record of agents in an SQL database: what SQLite and PostgreSQL do alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Protocol, TypeVar

from mentis.errors import Defect
from mentis.ports.entries import LOOKED_BACK, Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.values.entry import Before, Draft, Entry, Head
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.tally import Tally
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

from .counting import GAPS, GROUPS, SPAN, TIMES, check_gaps, is_whole, to_tally
from .delivery import check_same_delivery, refuse_dropped_delivery
from .erasing import without_fields
from .layout import check_layout, is_name, read_checkpoint, read_delivery, read_hash, read_mark
from .leasing import (
    LeaseRow,
    asked_lease,
    check_holds,
    is_held,
    next_lease,
    read_lease,
    renewed_lease,
)
from .marking import check_marks, write_marks
from .rows import COLUMNS, Row, damaged_cell, to_entry, to_row, write_object
from .session import HEAD, SqlTransaction
from .sql_inventory import BINDING, Execute, Salts, SqlInventory, Unbound
from .sql_turns import TurnReader, TurnRow, add_turn, write_turns

T = TypeVar("T")

SELECT = f"SELECT {', '.join(COLUMNS)} FROM ledger WHERE agent = ?"  # noqa: S608 - constants
# No index helps here: it would be one more page for every sync to write.
_OF_KIND = """
 AND idx > (SELECT max(idx) FROM ledger WHERE agent = ?) - ? AND idx >= ? AND idx < ?
 AND kind = ?
"""
_ERASE = "UPDATE ledger SET body = ?, salts = ?, delivery = ? WHERE agent = ? AND idx = ?"
_GOING = "FROM ledger WHERE agent = ? AND idx < ?"
_DROP = (
    f"INSERT INTO dropped (agent, idx, hash, delivery) SELECT agent, idx, hash, delivery {_GOING}"
)
_DROPPED_DELIVERY = "SELECT idx FROM dropped WHERE agent = ? AND delivery = ?"
_FORGET_DELIVERY = "UPDATE dropped SET delivery = NULL WHERE agent = ? AND idx = ?"
# One statement each, so that a rotation that comes between two of them changes nothing.
_LAYOUT = """
SELECT (SELECT count(*) FROM dropped WHERE agent = ?),
    (SELECT min(idx) FROM dropped WHERE agent = ?),
    (SELECT max(idx) FROM dropped WHERE agent = ?), (SELECT min(idx) FROM ledger WHERE agent = ?)
"""
_HASHES = """
SELECT idx, hash FROM dropped WHERE agent = ? AND idx > ?
UNION ALL SELECT idx, hash FROM ledger WHERE agent = ? AND idx > ? ORDER BY idx LIMIT ?
"""
_DELIVERIES = "SELECT idx, delivery FROM dropped WHERE agent = ? AND idx > ? ORDER BY idx LIMIT ?"
_LEASE = """
SELECT agent, purpose, owner, fence, expires, released FROM leases WHERE agent = ? AND purpose = ?
"""
_KEEP_LEASE = """
INSERT INTO leases (agent, purpose, owner, fence, expires, released) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, purpose) DO UPDATE SET owner = excluded.owner, fence = excluded.fence,
    expires = excluded.expires, released = excluded.released
"""
# From one name to the next in the index: a long record is not walked through for its name.
_AGENTS = """
WITH RECURSIVE known (agent) AS (
    SELECT min(agent) FROM ledger
    UNION ALL
    SELECT (SELECT min(ledger.agent) FROM ledger WHERE ledger.agent > known.agent)
    FROM known WHERE known.agent IS NOT NULL
)
SELECT agent FROM known WHERE agent IS NOT NULL ORDER BY agent
"""
_BETWEEN = "SELECT count(*) FROM ledger WHERE agent = ? AND idx BETWEEN ? AND ?"
_LAST = 2**63 - 1  # no entry could follow on this one
_MARKS = "SELECT key, value FROM marks WHERE agent = ? AND kind = ?"
_SET_MARK = """
INSERT INTO marks (agent, kind, key, value) VALUES (?, ?, ?, ?)
ON CONFLICT (agent, kind, key) DO UPDATE SET value = excluded.value
"""
_CLEAR_MARK = "DELETE FROM marks WHERE agent = ? AND kind = ? AND key = ?"
_FEW = 4
_BATCH = 256
_HASH_BATCH = 4096


Read = Callable[[str, Sequence[object]], list[Row]]


class LedgerEngine(Protocol):
    @property
    def salts(self) -> Salts: ...

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]: ...

    def together(self) -> AbstractContextManager[None]:
        """Several reads, which cost less in it than one by one."""
        ...

    def snapshot(self) -> AbstractContextManager[Read]:
        """All that is read with it is of one moment, over a connection of its own."""
        ...

    def commit(self, agent: str, work: Callable[[SqlTransaction], T]) -> T:
        """Run it in a transaction that no other writer of this agent can come between."""
        ...

    def commit_unsynced(self, agent: str, work: Callable[[SqlTransaction], T]) -> T:
        """The same for what may be lost with the machine or the server, and keeps its order."""
        ...

    def write_inventory(self, *, synced: bool) -> AbstractContextManager[Execute]:
        """Into the inventory that lies beside the record."""
        ...

    def notes(self) -> bool:
        """False for a database that is older than the inventory, and only read."""
        ...

    def forget(self) -> tuple[str, ...]:
        """Something was erased: let no file keep what was there before; says which may do."""
        ...

    def damage(self) -> tuple[str, ...]: ...

    def close(self) -> None: ...


class _Still:
    """What an engine holds at one moment."""

    def __init__(self, read: Read, engine: LedgerEngine) -> None:
        self._read = read
        self._engine = engine

    @property
    def salts(self) -> Salts:
        return self._engine.salts

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self._read(statement, parameters)

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def snapshot(self) -> AbstractContextManager[Read]:
        return nullcontext(self._read)

    def commit(self, agent: str, work: Callable[[SqlTransaction], T]) -> T:  # noqa: ARG002 - refused
        raise Defect(f"nothing of {agent} is written into a snapshot of the ledger")

    def commit_unsynced(self, agent: str, work: Callable[[SqlTransaction], T]) -> T:
        return self.commit(agent, work)

    def write_inventory(self, *, synced: bool) -> AbstractContextManager[Execute]:  # noqa: ARG002 - refused
        raise Defect("nothing is noted in a snapshot of the ledger")

    def notes(self) -> bool:
        return self._engine.notes()

    def forget(self) -> tuple[str, ...]:
        raise Defect("nothing is erased from a snapshot of the ledger")

    def damage(self) -> tuple[str, ...]:
        return self._engine.damage()

    def close(self) -> None:
        """It ends with its block."""


class SqlLedger:
    def __init__(self, engine: LedgerEngine, *, beside: SqlInventory | None = None) -> None:
        self._engine = engine
        self._own = SqlInventory(engine)  # of the database that the record lies in
        self._beside = beside
        self._remains: tuple[str, ...] = ()
        self._talk = TurnReader(engine.read)
        # By agent and kind, between which indexes there is none; what an entry is never changes.
        self._gaps: dict[tuple[str, str], tuple[int, int]] = {}

    def append(
        self,
        agent: str,
        drafts: Sequence[Draft],
        stamp: Stamp,
        *,
        lease: Lease | None = None,
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
    ) -> tuple[Entry, ...]:
        beside = _Beside.of(drafts, marks, turns)
        found = self._unbound(agent) if _binds(drafts) else ()
        whole = (*(unbound.draft for _, unbound in found), *drafts)

        def work(session: SqlTransaction) -> tuple[Entry, ...]:
            if lease is not None:
                check_holds(_held(session, agent, lease.purpose), lease)
            made = _append(session, agent, whole, stamp, beside=beside)
            for inventory, unbound in found:
                if inventory is self._own:
                    unbound.settle(session.defer)
            return made

        made = self._engine.commit(agent, work) if drafts else ()
        for inventory, unbound in found:
            if inventory is not self._own:
                inventory.settle(unbound)
        return made[len(found) :]

    def _unbound(self, agent: str) -> tuple[tuple[SqlInventory, Unbound], ...]:
        """What no entry binds yet, by the database that it is kept in."""
        looked = ((one, one.unbound(agent)) for one in self.inventories)
        return tuple((one, unbound) for one, unbound in looked if unbound is not None)

    @property
    def inventories(self) -> tuple[SqlInventory, ...]:
        """Of what is kept beside the record, in its own database and in the home's."""
        return (self._own,) if self._beside is None else (self._own, self._beside)

    def marks(self, agent: str, kind: str) -> tuple[Mark, ...]:
        rows = self._engine.read(f"{_MARKS} ORDER BY key", (agent, kind))
        return tuple(read_mark(kind, *row) for row in rows)

    def mark(self, agent: str, kind: str, key: str) -> Mark | None:
        rows = self._engine.read(f"{_MARKS} AND key = ?", (agent, kind, key))
        return read_mark(kind, *rows[0]) if rows else None

    def erase(
        self,
        agent: str,
        index: int,
        fields: Collection[str],
        *,
        draft: Draft,
        stamp: Stamp,
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
    ) -> Entry:
        beside = _Beside.of((draft,), marks, turns)

        def work(session: SqlTransaction) -> Entry:
            rows = session.execute(f"{SELECT} AND idx = ?", (agent, index))
            left = without_fields(to_entry(rows[0]) if rows else None, index, fields)
            body, salts = write_object(left.body), write_object(left.salts)
            tombstone = _append(session, agent, (draft,), stamp, beside=beside)[0]
            session.execute(_ERASE, (body, salts, left.delivery, agent, index))
            return tombstone

        tombstone = self._engine.commit(agent, work)
        self._remains = self._engine.forget()
        return tombstone

    def unit(self, agent: str, work: Callable[[SqlTransaction], T]) -> T:
        """Work of its own in one transaction, for what an older Mentis left; no port has it."""
        return self._engine.commit(agent, work)

    def add_turn(self, agent: str, session: str, turn: Turn, *, lease: Lease | None = None) -> int:
        row = TurnRow.of(turn)

        def work(unit: SqlTransaction) -> int:
            if lease is not None:
                check_holds(_held(unit, agent, lease.purpose), lease)
            return add_turn(unit, agent, session, row)

        return self._engine.commit(agent, work)

    def turns(
        self, agent: str, session: str, *, since: int = 0, before: int | None = None
    ) -> tuple[Turn, ...]:
        return self._talk.turns(agent, session, since=since, before=before)

    def count_turns(self, agent: str, session: str) -> int:
        return self._talk.count(agent, session)

    def turning_points(
        self, agent: str, session: str, count: int, *, before: int
    ) -> tuple[tuple[int, Turn], ...]:
        return self._talk.turning_points(agent, session, count, before=before)

    def pending_turns(self, agent: str, session: str) -> tuple[tuple[int, Turn], ...]:
        return self._talk.pending_turns(agent, session)

    def last_turns(
        self, agent: str, session: str, count: int, *, before: int | None = None
    ) -> tuple[tuple[int, Turn], ...]:
        return self._talk.last_turns(agent, session, count, before=before)

    def title(self, agent: str, session: str) -> str:
        return self._talk.title(agent, session)

    def sessions(self, agent: str) -> tuple[str, ...]:
        return self._talk.sessions(agent)

    def remains(self) -> tuple[str, ...]:
        return self._remains

    def drop_before(self, agent: str, index: int) -> int:
        def work(session: SqlTransaction) -> int:
            head = _head(session.head(agent))
            if head is None:
                return 0
            going = (agent, min(index, head.index))
            count = session.execute(f"SELECT count(*) {_GOING}", going)[0][0]
            session.execute(_DROP, going)
            session.execute(f"DELETE {_GOING}", going)
            return count

        dropped = self._engine.commit(agent, work)
        self._remains = self._engine.forget()
        return dropped

    def together(self) -> AbstractContextManager[None]:
        return self._engine.together()

    @contextmanager
    def snapshot(self) -> Generator[LedgerStore]:
        with self._engine.snapshot() as read:
            yield SqlLedger(_Still(read, self._engine), beside=self._beside)

    def entries(self, agent: str, *, start: int = 0) -> Iterator[Entry]:
        """Read in batches; between two of them others may write, unless it is a snapshot."""
        # From the beginning means from whatever stands there, also a row somebody moved.
        if start:
            statement, where = f"{SELECT} AND idx >= ?", (agent, start)
        else:
            statement, where = SELECT, (agent,)
        rows = self._engine.read(f"{statement} ORDER BY idx LIMIT ?", (*where, _BATCH))
        first, last, read = rows[0][1] if rows else 0, -1, 0
        while rows:
            yield from map(to_entry, rows)
            last, read = rows[-1][1], read + len(rows)
            later = f"{SELECT} AND idx > ? ORDER BY idx LIMIT ?"
            rows = self._engine.read(later, (agent, last, _BATCH))
        if read:
            self._check_once(agent, (first, last), read)

    def _check_once(self, agent: str, span: tuple[int, int], read: int) -> None:
        """A second row of the same number, at the end of a batch, would have been passed over."""
        if self._engine.read(_BETWEEN, (agent, *span))[0][0] > read:
            raise damaged_cell(span[0], "idx", "an entry up from here stands there several times")

    def hashes(self, agent: str, *, start: int = 0) -> Iterator[str]:
        check_layout(*self._engine.read(_LAYOUT, (agent,) * 4)[0])
        after = start - 1
        while rows := self._engine.read(_HASHES, (agent, after, agent, after, _HASH_BATCH)):
            yield from (read_hash(index, digest) for index, digest in rows)
            after = rows[-1][0]

    def dropped_as(self, agent: str, delivery: str) -> int | None:
        return _dropped_as(self._engine.read(_DROPPED_DELIVERY, (agent, delivery)))

    def forget_delivery(self, agent: str, index: int) -> None:
        def work(session: SqlTransaction) -> None:
            session.execute(_FORGET_DELIVERY, (agent, index))

        self._engine.commit(agent, work)
        self._remains = self._engine.forget()

    def dropped_deliveries(self, agent: str, *, start: int = 0) -> Iterator[str | None]:
        after = start - 1
        while rows := self._engine.read(_DELIVERIES, (agent, after, _HASH_BATCH)):
            yield from (read_delivery(index, delivery) for index, delivery in rows)
            after = rows[-1][0]

    def latest(self, agent: str, count: int, *, kind: str = "") -> tuple[Entry, ...]:
        if count <= 0:
            return ()
        if kind:
            return self._latest_of_kind(agent, count, kind)
        rows = self._engine.read(f"{SELECT} ORDER BY idx DESC LIMIT ?", (agent, count))
        return tuple(map(to_entry, reversed(rows)))

    def _latest_of_kind(self, agent: str, count: int, kind: str) -> tuple[Entry, ...]:
        """The widest gap between those that were found is not walked through again."""
        statement = f"{SELECT}{_OF_KIND} ORDER BY idx DESC LIMIT ?"
        start, end = gap = self._gaps.get((agent, kind), (0, 0))
        rows = self._engine.read(statement, (agent, agent, LOOKED_BACK, end, _LAST, kind, count))
        if end and (rest := count - len(rows)):
            earlier = (agent, agent, LOOKED_BACK, 0, start, kind, rest)
            rows = [*rows, *self._engine.read(statement, earlier)]
        found = tuple(map(to_entry, reversed(rows)))
        if found:
            floor = max(0, found[-1].index - LOOKED_BACK)
            places = [*([floor] if len(found) < count else ()), *(entry.index for entry in found)]
            gaps = [gap, *((before + 1, after) for before, after in pairwise(places))]
            self._gaps[agent, kind] = max(gaps, key=lambda one: one[1] - max(one[0], floor))
        return found

    def last_of(
        self, agent: str, kinds: Collection[str], fields: Collection[str], *, before: int
    ) -> Iterator[Entry]:
        named = [f'%"{name}":%' for name in fields]
        chosen = (f"kind IN ({', '.join('?' * len(kinds))})", *("fields LIKE ?" for _ in named))
        statement = f"{SELECT} AND idx < ? AND ({' OR '.join(chosen)}) ORDER BY idx DESC LIMIT ?"
        count = _FEW
        while True:
            rows = self._engine.read(statement, (agent, before, *kinds, *named, count))
            found = [to_entry(row) for row in rows]
            yield from (e for e in found if e.kind in kinds or e.fields.keys() & fields)
            if len(found) < count:
                return
            before, count = found[-1].index, min(count * 4, _BATCH)

    def find(self, agent: str, index: int) -> Entry | None:
        rows = self._engine.read(f"{SELECT} AND idx = ?", (agent, index))
        return to_entry(rows[0]) if rows else None

    def find_delivery(self, agent: str, delivery: str) -> Entry | None:
        rows = self._engine.read(f"{SELECT} AND delivery = ?", (agent, delivery))
        return to_entry(rows[0]) if rows else None

    def head(self, agent: str) -> Head | None:
        return _head(self._engine.read(HEAD, (agent,)))

    def count(self, agent: str) -> int:
        head = self.head(agent)
        return 0 if head is None else head.index + 1

    def tally(self, agent: str) -> Tally:
        times = self._engine.read(TIMES, (agent,) * 2)[0]
        return to_tally(self._engine.read(GROUPS, (agent,)), times)

    def gaps(self, agent: str) -> tuple[tuple[int, int], ...]:
        # The count is one walk through an index; only what does not add up is looked at closely.
        if is_whole(*self._engine.read(SPAN, (agent,))[0]):
            return ()
        return check_gaps(self._engine.read(GAPS, (agent,)))

    def agents(self) -> tuple[str, ...]:
        return tuple(agent for (agent,) in self._engine.read(_AGENTS) if is_name(agent))

    def misnamed_agents(self) -> tuple[str, ...]:
        return tuple(repr(agent) for (agent,) in self._engine.read(_AGENTS) if not is_name(agent))

    def damage(self) -> tuple[str, ...]:
        return self._engine.damage()

    def keep_checkpoint(self, agent: str, size: int, note: str) -> None:
        def work(session: SqlTransaction) -> None:
            statement = "INSERT INTO checkpoints (agent, size, note) VALUES (?, ?, ?)"
            session.execute(statement, (agent, size, note))

        self._engine.commit(agent, work)

    def checkpoints(self, agent: str) -> tuple[tuple[int, str], ...]:
        statement = "SELECT size, note FROM checkpoints WHERE agent = ? ORDER BY id"
        return tuple(read_checkpoint(*row) for row in self._engine.read(statement, (agent,)))

    def take_lease(
        self, agent: str, purpose: str, owner: str, *, now: datetime, seconds: float
    ) -> Lease:
        asked = asked_lease(agent, purpose, owner, now=now, seconds=seconds)

        def work(session: SqlTransaction) -> Lease:
            lease = next_lease(_held(session, agent, purpose), asked, now=now)
            if lease.owner == owner:
                _keep_lease(session, LeaseRow(lease))
            return lease

        return self._engine.commit_unsynced(agent, work)

    def renew_lease(self, lease: Lease, *, now: datetime, seconds: float) -> Lease:
        def work(session: SqlTransaction) -> Lease:
            row = _held(session, lease.agent, lease.purpose)
            renewed = renewed_lease(row, lease, now=now, seconds=seconds)
            _keep_lease(session, LeaseRow(renewed))
            return renewed

        return self._engine.commit_unsynced(lease.agent, work)

    def release_lease(self, lease: Lease) -> None:
        def work(session: SqlTransaction) -> None:
            row = _held(session, lease.agent, lease.purpose)
            if row is not None and is_held(row, lease):
                _keep_lease(session, LeaseRow(row.lease, released=True))

        self._engine.commit_unsynced(lease.agent, work)

    def lease(self, agent: str, purpose: str) -> Lease | None:
        row = _lease_row(self._engine.read(_LEASE, (agent, purpose)))
        return None if row is None or row.released else row.lease

    def close(self) -> None:
        self._engine.close()


@dataclass(frozen=True, slots=True)
class _Beside:
    """What is written with entries, laid out: BadInput before anything is done for it."""

    marks: Sequence[Mark]
    columns: Sequence[str | None]
    turns: TurnWrites | None
    rows: Sequence[TurnRow]

    @classmethod
    def of(
        cls, drafts: Sequence[Draft], marks: Sequence[Mark], turns: TurnWrites | None
    ) -> _Beside:
        rows = tuple(map(TurnRow.of, turns.turns)) if turns is not None else ()
        return cls(marks, write_marks(marks, drafts), turns, rows)

    def write(self, session: SqlTransaction, agent: str) -> None:
        """Whatever may be refused comes before the first write."""
        write = None if self.turns is None else write_turns(session, agent, self.turns, self.rows)
        if self.marks:
            _mark(session, agent, self.marks, self.columns)
        if write is not None:
            write()


def _binds(drafts: Sequence[Draft]) -> bool:
    """Not together with what may be there already: that is known by its delivery."""
    return all(draft.kind in BINDING and draft.delivery is None for draft in drafts)


def _append(
    session: SqlTransaction, agent: str, drafts: Sequence[Draft], stamp: Stamp, *, beside: _Beside
) -> tuple[Entry, ...]:
    """What goes beside them is written with them, unless all of them were there already."""
    head: Before | None = _head(session.head(agent))
    made: list[Entry] = []
    rows: list[Row] = []
    for draft in drafts:
        entry = stamp(agent, head, draft)
        if draft.delivery is not None:
            known = _known(session, agent, draft.delivery, made)
            if known is not None:
                check_same_delivery(known, entry)
                made.append(known)
                continue
        made.append(entry)
        rows.append(to_row(entry))
        head = entry
    if rows:
        beside.write(session, agent)
    session.insert(rows)
    return tuple(made)


def _mark(
    session: SqlTransaction, agent: str, marks: Sequence[Mark], columns: Sequence[str | None]
) -> None:
    def stands(kind: str, key: str) -> bool:
        return bool(session.execute(f"{_MARKS} AND key = ?", (agent, kind, key)))

    check_marks(agent, marks, stands)
    for mark, column in zip(marks, columns, strict=True):
        place = agent, mark.kind, mark.key
        if column is None:
            session.execute(_CLEAR_MARK, place)
        else:
            session.execute(_SET_MARK, (*place, column))


def _known(
    session: SqlTransaction, agent: str, delivery: str, made: Sequence[Entry]
) -> Entry | None:
    rows = session.execute(f"{SELECT} AND delivery = ?", (agent, delivery))
    if rows:
        return to_entry(rows[0])
    if (index := _dropped_as(session.execute(_DROPPED_DELIVERY, (agent, delivery)))) is not None:
        raise refuse_dropped_delivery(agent, delivery, index)
    return next((entry for entry in made if entry.delivery == delivery), None)


def _dropped_as(rows: Sequence[Row]) -> int | None:
    if not rows:
        return None
    (index,) = rows[0]
    if type(index) is not int:
        raise damaged_cell(index, "idx", f"it holds {type(index).__name__}")
    return index


def _head(rows: Sequence[Row]) -> Head | None:
    if not rows:
        return None
    index, digest, time = rows[0]
    if (type(index), type(digest), type(time)) != (int, str, str):
        raise damaged_cell(index, "idx", "the last entry holds cells of odd types")
    if index >= _LAST:
        raise damaged_cell(index, "idx", "no ledger has as many entries")
    return Head(index=index, hash=digest, time=time)


def _lease_row(rows: Sequence[Row]) -> LeaseRow | None:
    return read_lease(rows[0]) if rows else None


def _held(session: SqlTransaction, agent: str, purpose: str) -> LeaseRow | None:
    return _lease_row(session.execute(_LEASE, (agent, purpose)))


def _keep_lease(session: SqlTransaction, row: LeaseRow) -> None:
    lease = row.lease
    key = (lease.agent, lease.purpose)
    session.execute(_KEEP_LEASE, (*key, lease.owner, lease.fence, lease.expires, int(row.released)))
