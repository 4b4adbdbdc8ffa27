"""All entries of a chain in their order: first those in segments, then those in the store."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from operator import itemgetter
from typing import cast

from mentis.disk.lock import folder_lock
from mentis.errors import StoreDamaged
from mentis.ledger.segments import is_genuine
from mentis.ledger.statements import ERASURE, RETENTION
from mentis.ports.ledger_store import LedgerStore
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.values.checkpoint import KeptNote
from mentis.values.entry import Attack, Entry, Finding

from .segments import FoundSegments, SegmentFile, SegmentFolder

_NAMED = 5
_MOST = 20


def lock_changes(home: Home, settings: Settings) -> AbstractContextManager[None]:
    """Nobody is in the middle of erasing, moving or letting go meanwhile; StoreLocked while one is.

    Whoever has it already must not ask again, who would wait for himself.
    """
    return folder_lock(home.path.resolve(), seconds=settings.model.store.busy_seconds)


@contextmanager
def read_still(agent: str, ledger: LedgerStore, folder: SegmentFolder) -> Generator[EntrySource]:
    """All of it as it is at one moment, however long it is read."""
    # First: a file that comes after this, and that the store does not need yet, is nobody's stray.
    found = folder.look()
    with ledger.snapshot() as store:
        yield EntrySource(agent, store, found)


class EntrySource:
    """`start` leaves out what comes before it. What cannot be read or does not fit is `damage`.

    The ledger should be a snapshot, and what was found in the folder looked at right before that.
    """

    def __init__(
        self,
        agent: str,
        ledger: LedgerStore,
        found: FoundSegments | None = None,
        start: int | None = None,
    ) -> None:
        self._agent = agent
        self._ledger = ledger
        self._start = start
        self._found = found or FoundSegments()
        self.damage: tuple[Finding, ...] = ()
        self._sound = self._look()
        self.stored = 0 if start else self._begins()
        self.first = self.stored
        self.sealed: tuple[KeptNote, ...] = ()
        choosing = self._sound and not start
        self.segments = self._found.fitting(self._kept) if choosing else self._found
        if self.stored and self._found.damage:
            self.damage += (Finding(0, "segment", self._found.damage, "unreadable"),)
        elif self.stored:
            self.first = self.segments.first_covered(self.stored)
            self.sealed = tuple(self.segments.notes(self.first, self.stored))

    def dropped_hashes(self) -> Iterator[str]:
        """The hashes of what is neither in the store nor in a segment."""
        wanted = 0 if self._start or not self._sound else self.first
        return islice(self._ledger.hashes(self._agent), wanted)

    def entries(self) -> Iterator[Entry]:
        if self._start:
            yield from self._ledger.entries(self._agent, start=self._start)
            return
        if self.first < self.stored:
            yield from self._segment_entries()
        yield from self._ledger.entries(self._agent)

    def notes(self) -> list[str]:
        """The checkpoints that the store has kept, the shortest first."""
        kept = sorted(self._ledger.checkpoints(self._agent), key=itemgetter(0))
        return [note for _, note in kept]

    def is_torn(self) -> bool:
        """Whether a segment that is read is no longer the file that was looked at."""
        return any(not file.stands() for file, _ in self._reading())

    def is_overtaken(self, ledger: LedgerStore, folder: SegmentFolder | None) -> bool:
        """Whether others have moved, erased or let go of anything since, in the store as it is now,
        so that what was read elsewhere than in the snapshot may not fit it.
        """
        if folder is not None and folder.look() != self._found:
            return True
        try:
            later = ledger.entries(self._agent, start=self._ledger.count(self._agent))
            return any(entry.kind in (ERASURE, RETENTION) for entry in later)
        except StoreDamaged:
            return False

    def strays(self) -> Iterator[Finding | str]:
        """What is in the folder and was not read: a finding, or a remark about a mere copy."""
        if self._start or not self._sound:
            return
        if self._found.damage and not self.stored:  # else it is known already
            yield Finding(0, "segment", self._found.damage, "unreadable")
        for name in self._found.strange:
            message = f"{name}: this is no segment of `{self._agent}`, or not the one of its name"
            yield Finding(0, "segment", message, "inserted")
        for file in self._unread():
            yield self._stray(file)
        if others := self._found.others:
            named = ", ".join(map(repr, others[:_NAMED]))
            more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
            yield f"beside the segments, and no part of the record: {named}{more}"

    def foreign(self) -> tuple[SegmentFile, ...]:
        """Segments of this agent that nothing is read from, with entries of another history."""
        if not self._sound:
            return ()
        read = {file.path for file, _ in self._reading()}
        unread = (file for file in self._unread() if file.path not in read)
        return tuple(file for file in unread if not self._is_copy(file))

    def _unread(self) -> Iterator[SegmentFile]:
        read = {
            file.path
            for file, at in self._reading()
            if at <= file.segment.first and file.segment.last < self.stored
        }
        return (file for file in self._found.files if file.path not in read)

    def _reading(self) -> Iterator[tuple[SegmentFile, int]]:
        return self.segments.reading(before=self.stored, start=self.first)

    def _stray(self, file: SegmentFile) -> Finding | str:
        first, last = file.segment.first, file.segment.last
        named = f"{file.path.name}: entries {first} to {last} in it"
        if self._is_copy(file):
            return f"{named} are a copy that nothing needs"
        message = (
            f"{named} are not those of the ledger, or it never had them (what a rollback has left"
            " there, `mentis ledger accept-rollback` sets aside)"
        )
        return Finding(first, "segment", message, "inserted")

    def _is_copy(self, file: SegmentFile) -> bool:
        """Whether each entry is there with the hash that the store has kept, and as that says."""
        first, last = file.segment.first, file.segment.last
        if not 0 <= first <= last < self._ledger.count(self._agent):
            return False
        hashes = self._ledger.hashes(self._agent, start=first)
        try:
            return all(
                is_genuine(entry, self._agent, entry.index, kept)
                for entry, kept in zip(file.entries(), hashes, strict=False)
            )
        except StoreDamaged:
            return False

    def _segment_entries(self) -> Iterator[Entry]:
        sealed = self.segments.entries(before=self.stored, start=self.first)
        if not self._sound:  # a finding already; then the segments speak for themselves
            yield from sealed
            return
        hashes = self._ledger.hashes(self._agent, start=self.first)
        deliveries = self._ledger.dropped_deliveries(self._agent, start=self.first)
        for entry, kept, delivery in zip(sealed, hashes, deliveries, strict=False):
            if entry.delivery != delivery and not _erased_delivery(entry):
                self._misdelivered(entry.index)
            if entry.hash != kept:
                raise StoreDamaged(
                    f"the hash the store has kept of entry {entry.index} is not that of the"
                    " entry in the segment",
                    index=entry.index,
                    column="hash",
                )
            yield entry

    def _misdelivered(self, index: int) -> None:
        """Then one would be taken twice, or another never."""
        message = "the delivery the store has kept of this entry is not that of the segment"
        finding = Finding(index, "delivery", message)
        if finding not in self.damage and len(self.damage) < _MOST:
            self.damage += (finding,)

    def _kept(self, index: int) -> str | None:
        return next(iter(self._ledger.hashes(self._agent, start=index)), None)

    def _look(self) -> bool:
        """Whether what was dropped and what is kept fit together."""
        try:
            next(iter(self._ledger.hashes(self._agent)), None)
        except StoreDamaged as damage:
            self.damage += (damage_finding(damage),)
            return False
        return True

    def _begins(self) -> int:
        try:
            first = next((entry.index for entry in self._ledger.entries(self._agent)), 0)
        except StoreDamaged:
            return 0  # which reading the entries finds, too
        return max(first, 0)


def _erased_delivery(entry: Entry) -> bool:
    return entry.delivery is None and "delivery" in entry.fields


def damage_finding(damage: StoreDamaged) -> Finding:
    index, column = damage.facts.get("index"), damage.facts.get("column")
    attack = damage.facts.get("attack", "unreadable")
    return Finding(
        index if isinstance(index, int) else 0,
        str(column or ""),
        damage.message,
        cast("Attack", attack),
    )
