"""All entries of a chain in their order: first those in segments, then those in the store."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import cast

from mentis.errors import StoreDamaged
from mentis.ledger.segments import is_genuine
from mentis.ports.ledger_store import LedgerStore
from mentis.values.checkpoint import KeptNote
from mentis.values.entry import Attack, Entry, Finding

from .segment_files import SegmentFile, SegmentFolder

_NAMED = 5
_MOST = 20


class Source:
    """`start` leaves out what comes before it. What cannot be read or does not fit is `damage`."""

    def __init__(
        self,
        agent: str,
        ledger: LedgerStore,
        segments: SegmentFolder | None = None,
        start: int | None = None,
    ) -> None:
        self._agent = agent
        self._ledger = ledger
        self._start = start
        self._segments = segments
        self.damage: tuple[Finding, ...] = ()
        self._sound = self._look()
        self.stored = 0 if start else self._begins()
        self.first = self.stored
        self.sealed: tuple[KeptNote, ...] = ()
        if segments is not None and self.stored:
            try:
                self.first = segments.covered(self.stored)
                self.sealed = tuple(segments.notes(self.first, self.stored))
            except StoreDamaged as damage:
                self.damage += (Finding(0, "segment", damage.message, "unreadable"),)

    def dropped(self) -> Iterator[str]:
        """The hashes of what is neither in the store nor in a segment."""
        wanted = 0 if self._start or not self._sound else self.first
        return islice(self._ledger.hashes(self._agent), wanted)

    def entries(self) -> Iterator[Entry]:
        if self._start:
            yield from self._ledger.entries(self._agent, start=self._start)
            return
        if self._segments is not None and self.first < self.stored:
            yield from self._segment_entries(self._segments)
        yield from self._ledger.entries(self._agent)

    def strays(self) -> Iterator[Finding | str]:
        """What is in the folder and was not read: a finding, or a remark about a mere copy."""
        if self._segments is None or self._start or not self._sound:
            return
        try:
            yield from self._strays(self._segments)
        except StoreDamaged as damage:
            if self.stored == 0:  # else it is known already
                yield Finding(0, "segment", damage.message, "unreadable")

    def _strays(self, segments: SegmentFolder) -> Iterator[Finding | str]:
        for name in segments.strange():
            message = f"{name}: this is no segment of `{self._agent}`, or not the one of its name"
            yield Finding(0, "segment", message, "inserted")
        read = {
            file.path
            for file, at in segments.reading(before=self.stored, start=self.first)
            if at <= file.segment.first and file.segment.last < self.stored
        }
        for file in segments.files():
            if file.path not in read:
                yield self._stray(file)
        if others := segments.others():
            named = ", ".join(map(repr, others[:_NAMED]))
            more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
            yield f"beside the segments, and no part of the record: {named}{more}"

    def _stray(self, file: SegmentFile) -> Finding | str:
        first, last = file.segment.first, file.segment.last
        named = f"{file.path.name}: entries {first} to {last} in it"
        if self._is_copy(file):
            return f"{named} are a copy that nothing needs"
        message = f"{named} are not those of the ledger, or it never had them"
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

    def _segment_entries(self, segments: SegmentFolder) -> Iterator[Entry]:
        sealed = segments.entries(before=self.stored, start=self.first)
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
