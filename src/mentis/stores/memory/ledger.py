"""The record of agents in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from threading import Lock
from typing import TypeAlias

from mentis.errors import Defect, StoreError
from mentis.ports.entries import LOOKED_BACK, Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.delivery import check_same_delivery, refuse_dropped_delivery
from mentis.stores.erasing import without_fields
from mentis.stores.layout import read_mark
from mentis.stores.leasing import (
    LeaseRow,
    asked_lease,
    check_holds,
    is_held,
    next_lease,
    renewed_lease,
)
from mentis.stores.marking import check_marks, write_marks
from mentis.stores.sql_turns import TurnRow
from mentis.values.entry import Draft, Entry, Head
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.part import MediaPart
from mentis.values.tally import Tally
from mentis.values.turn import Turn, is_turning_point
from mentis.values.turn_writes import TurnWrites

_Sessions: TypeAlias = dict[tuple[str, str], tuple[Turn, ...]]  # by agent and session


@dataclass
class _Chain:
    """`dropped` and `kept` are the beginning and the end of one row of hashes."""

    kept: list[Entry] = field(default_factory=list[Entry])
    dropped: list[str] = field(default_factory=list[str])
    dropped_deliveries: dict[str, int] = field(default_factory=dict[str, int])

    def copy(self) -> _Chain:
        deliveries = dict(self.dropped_deliveries)
        return replace(
            self, kept=[*self.kept], dropped=[*self.dropped], dropped_deliveries=deliveries
        )


class LedgerInMemory:
    def __init__(self) -> None:
        self._chains: dict[str, _Chain] = {}
        self._checkpoints: dict[str, list[tuple[int, str]]] = {}
        self._leases: dict[tuple[str, str], LeaseRow] = {}  # by agent and purpose
        self._marks: dict[tuple[str, str, str], str] = {}
        self._turns: _Sessions = {}
        self._lock = Lock()
        self._still = False  # a snapshot, which nothing is written into

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
        columns = write_marks(marks, drafts)
        _refuse_unwritable(turns)
        with self._writing():
            if lease is not None:
                check_holds(self._leases.get((agent, lease.purpose)), lease)
            chain = self._chain(agent)
            kept = list(chain.kept)
            made = tuple(_extend(agent, chain, kept, (draft, stamp)) for draft in drafts)
            if len(kept) > len(chain.kept):  # else every draft was known, and so was the rest
                changed = self._changed(agent, turns)
                self._mark(agent, marks, columns)
                self._turns.update(changed)
            self._keep(agent, chain, kept)
            return made

    def marks(self, agent: str, kind: str) -> tuple[Mark, ...]:
        found = [place for place in list(self._marks) if place[:2] == (agent, kind)]
        marks = (self.mark(*place) for place in sorted(found))
        return tuple(mark for mark in marks if mark is not None)

    def mark(self, agent: str, kind: str, key: str) -> Mark | None:
        column = self._marks.get((agent, kind, key))
        return None if column is None else read_mark(kind, key, column)

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
        columns = write_marks(marks, (draft,))
        _refuse_unwritable(turns)
        with self._writing():
            chain = self._chain(agent)
            left = without_fields(self.find(agent, index), index, fields)
            kept = [left if entry.index == index else entry for entry in chain.kept]
            tombstone = _extend(agent, chain, kept, (draft, stamp))
            changed = self._changed(agent, turns)
            self._mark(agent, marks, columns)
            self._turns.update(changed)
            self._keep(agent, chain, kept)
            return tombstone

    def add_turn(self, agent: str, session: str, turn: Turn, *, lease: Lease | None = None) -> int:
        writes = TurnWrites(session, turns=(turn,))
        _refuse_unwritable(writes)
        with self._writing():
            if lease is not None:
                check_holds(self._leases.get((agent, lease.purpose)), lease)
            self._turns.update(self._changed(agent, writes))
            return len(self._turns[agent, session]) - 1

    def turns(
        self, agent: str, session: str, *, since: int = 0, before: int | None = None
    ) -> tuple[Turn, ...]:
        return self._turns.get((agent, session), ())[since:before]

    def count_turns(self, agent: str, session: str) -> int:
        return len(self.turns(agent, session))

    def turning_points(
        self, agent: str, session: str, count: int, *, before: int
    ) -> tuple[tuple[int, Turn], ...]:
        numbered = enumerate(self.turns(agent, session, before=before))
        found = [
            (number, _without_bytes(turn)) for number, turn in numbered if is_turning_point(turn)
        ]
        return tuple(found[-count:] if count > 0 else ())

    def pending_turns(self, agent: str, session: str) -> tuple[tuple[int, Turn], ...]:
        numbered = enumerate(self.turns(agent, session))
        return tuple((number, turn) for number, turn in numbered if turn.state == "pending")

    def last_turns(
        self, agent: str, session: str, count: int, *, before: int | None = None
    ) -> tuple[tuple[int, Turn], ...]:
        numbered = list(enumerate(self.turns(agent, session)))[:before]
        last = numbered[-count:] if count > 0 else []
        return tuple((number, _without_bytes(turn)) for number, turn in last)

    def title(self, agent: str, session: str) -> str:
        turns = reversed(self.turns(agent, session))
        return next((turn.text for turn in turns if turn.kind == "title" and turn.parts), "")

    def sessions(self, agent: str) -> tuple[str, ...]:
        return tuple(session for owner, session in tuple(self._turns) if owner == agent)

    def remains(self) -> tuple[str, ...]:
        return ()

    def drop_before(self, agent: str, index: int) -> int:
        with self._writing():
            chain = self._chain(agent)
            going = [entry for entry in chain.kept[:-1] if entry.index < index]
            chain.kept = chain.kept[len(going) :]
            chain.dropped += [entry.hash for entry in going]
            for entry in going:
                if entry.delivery is not None:
                    chain.dropped_deliveries[entry.delivery] = entry.index
            return len(going)

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def snapshot(self) -> Generator[LedgerStore]:
        still = copy(self)
        with self._lock:
            vars(still).update(
                _chains={agent: chain.copy() for agent, chain in self._chains.items()},
                _checkpoints={agent: list(kept) for agent, kept in self._checkpoints.items()},
                _leases=dict(self._leases),
                _marks=dict(self._marks),
                _turns=dict(self._turns),
                _still=True,
            )
        yield still

    def entries(self, agent: str, *, start: int = 0) -> Iterator[Entry]:
        return (entry for entry in self._chain(agent).kept if entry.index >= start)

    def hashes(self, agent: str, *, start: int = 0) -> Iterator[str]:
        chain = self._chain(agent)
        return iter([*chain.dropped, *(entry.hash for entry in chain.kept)][start:])

    def dropped_as(self, agent: str, delivery: str) -> int | None:
        return self._chain(agent).dropped_deliveries.get(delivery)

    def forget_delivery(self, agent: str, index: int) -> None:
        with self._writing():
            known = self._chain(agent).dropped_deliveries
            for name in [name for name, at in known.items() if at == index]:
                del known[name]

    def dropped_deliveries(self, agent: str, *, start: int = 0) -> Iterator[str | None]:
        chain = self._chain(agent)
        delivered = {index: name for name, index in chain.dropped_deliveries.items()}
        return (delivered.get(index) for index in range(start, len(chain.dropped)))

    def latest(self, agent: str, count: int, *, kind: str = "") -> tuple[Entry, ...]:
        found = self._chain(agent).kept
        if kind:
            found = [entry for entry in found[-LOOKED_BACK:] if entry.kind == kind]
        return tuple(found[-count:] if count > 0 else ()) if count > 0 else ()

    def last_of(
        self, agent: str, kinds: Collection[str], fields: Collection[str], *, before: int
    ) -> Iterator[Entry]:
        for entry in reversed(self._chain(agent).kept):
            if entry.index < before and (entry.kind in kinds or entry.fields.keys() & fields):
                yield entry

    def find(self, agent: str, index: int) -> Entry | None:
        return next((e for e in self._chain(agent).kept if e.index == index), None)

    def find_delivery(self, agent: str, delivery: str) -> Entry | None:
        return next((e for e in self._chain(agent).kept if e.delivery == delivery), None)

    def head(self, agent: str) -> Head | None:
        return _head(self._chain(agent).kept)

    def count(self, agent: str) -> int:
        head = self.head(agent)
        return 0 if head is None else head.index + 1

    def tally(self, agent: str) -> Tally:
        kept = self._chain(agent).kept
        return Tally(
            len(kept),
            kept[0].time if kept else None,
            kept[-1].time if kept else None,
            dict(sorted(Counter(entry.source for entry in kept).items())),
            dict(sorted(Counter(entry.kind for entry in kept).items())),
        )

    def gaps(self, agent: str) -> tuple[tuple[int, int], ...]:
        steps = pairwise(entry.index for entry in self._chain(agent).kept)
        return tuple((low + 1, high - 1) for low, high in steps if high > low + 1)

    def agents(self) -> tuple[str, ...]:
        return tuple(sorted(self._chains))

    def damage(self) -> tuple[str, ...]:
        return ()

    def misnamed_agents(self) -> tuple[str, ...]:
        return ()

    def keep_checkpoint(self, agent: str, size: int, note: str) -> None:
        with self._writing():
            self._checkpoints.setdefault(agent, []).append((size, note))

    def checkpoints(self, agent: str) -> tuple[tuple[int, str], ...]:
        return tuple(self._checkpoints.get(agent, ()))

    def take_lease(
        self, agent: str, purpose: str, owner: str, *, now: datetime, seconds: float
    ) -> Lease:
        asked = asked_lease(agent, purpose, owner, now=now, seconds=seconds)
        with self._writing():
            lease = next_lease(self._leases.get((agent, purpose)), asked, now=now)
            self._leases[agent, purpose] = LeaseRow(lease)
            return lease

    def renew_lease(self, lease: Lease, *, now: datetime, seconds: float) -> Lease:
        key = lease.agent, lease.purpose
        with self._writing():
            renewed = renewed_lease(self._leases.get(key), lease, now=now, seconds=seconds)
            self._leases[key] = LeaseRow(renewed)
            return renewed

    def release_lease(self, lease: Lease) -> None:
        key = lease.agent, lease.purpose
        with self._writing():
            row = self._leases.get(key)
            if row is not None and is_held(row, lease):
                self._leases[key] = LeaseRow(row.lease, released=True)

    def lease(self, agent: str, purpose: str) -> Lease | None:
        row = self._leases.get((agent, purpose))
        return None if row is None or row.released else row.lease

    def close(self) -> None:
        """Nothing is held."""

    @contextmanager
    def _writing(self) -> Generator[None]:
        if self._still:
            raise Defect("nothing is written into a snapshot of the ledger")
        with self._lock:
            yield

    def _mark(self, agent: str, marks: Sequence[Mark], columns: Sequence[str | None]) -> None:
        check_marks(agent, marks, lambda kind, key: (agent, kind, key) in self._marks)
        for mark, column in zip(marks, columns, strict=True):
            if column is None:
                self._marks.pop((agent, mark.kind, mark.key), None)
            else:
                self._marks[agent, mark.kind, mark.key] = column

    def _changed(self, agent: str, writes: TurnWrites | None) -> _Sessions:
        """The session as it will be, if that is another."""
        if writes is None:
            return {}
        before = self.turns(agent, writes.session)
        for number in writes.emptied:
            if not 0 <= number < len(before):
                raise StoreError(f"session `{writes.session}` of `{agent}` has no turn {number}")
        after = writes.applied_to(before)
        return {(agent, writes.session): after} if after else {}

    def _chain(self, agent: str) -> _Chain:
        return self._chains.get(agent) or _Chain()

    def _keep(self, agent: str, chain: _Chain, kept: list[Entry]) -> None:
        if kept:
            chain.kept = kept
            self._chains[agent] = chain


def _refuse_unwritable(writes: TurnWrites | None) -> None:
    """BadInput for a turn that no other store could keep."""
    for turn in writes.turns if writes is not None else ():
        TurnRow.of(turn)


def _extend(agent: str, chain: _Chain, kept: list[Entry], asked: tuple[Draft, Stamp]) -> Entry:
    draft, stamp = asked
    entry = stamp(agent, _head(kept), draft)
    if draft.delivery is not None:
        if (index := chain.dropped_deliveries.get(draft.delivery)) is not None:
            raise refuse_dropped_delivery(agent, draft.delivery, index)
        known = next((e for e in kept if e.delivery == draft.delivery), None)
        if known is not None:
            check_same_delivery(known, entry)
            return known
    kept.append(entry)
    return entry


def _head(kept: list[Entry]) -> Head | None:
    return Head(kept[-1].index, kept[-1].hash, kept[-1].time) if kept else None


def _without_bytes(turn: Turn) -> Turn:
    parts = [replace(p, data=None) if isinstance(p, MediaPart) else p for p in turn.parts]
    return replace(turn, parts=tuple(parts))
