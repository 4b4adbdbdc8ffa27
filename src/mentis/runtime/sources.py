"""All entries of a chain in their order: first those in segments, then those in the store."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import cast

from mentis.errors import StoreDamaged
from mentis.ports.ledger_store import LedgerStore
from mentis.values.checkpoint import KeptNote
from mentis.values.entry import Attack, Entry, Finding

from .segment_files import SegmentFolder


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

    def _segment_entries(self, segments: SegmentFolder) -> Iterator[Entry]:
        sealed = segments.entries(before=self.stored, start=self.first)
        if not self._sound:  # a finding already; then the segments speak for themselves
            yield from sealed
            return
        hashes = self._ledger.hashes(self._agent, start=self.first)
        for entry, kept in zip(sealed, hashes, strict=False):
            if entry.hash != kept:
                raise StoreDamaged(
                    f"the hash the store has kept of entry {entry.index} is not that of the"
                    " entry in the segment",
                    index=entry.index,
                    column="hash",
                )
            yield entry

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


def damage_finding(damage: StoreDamaged) -> Finding:
    index, column = damage.facts.get("index"), damage.facts.get("column")
    attack = damage.facts.get("attack", "unreadable")
    return Finding(
        index if isinstance(index, int) else 0,
        str(column or ""),
        damage.message,
        cast("Attack", attack),
    )
