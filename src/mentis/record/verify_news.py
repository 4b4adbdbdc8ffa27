"""Is what the next turn would be told of acts what the record says came of them?"""

from __future__ import annotations

from typing import cast

from mentis.act import entries
from mentis.act.news import ENDS, bound_news, is_blank
from mentis.errors import StoreDamaged
from mentis.ports.ledger_store import LedgerStore
from mentis.values.entry import Entry, Finding
from mentis.values.mark import Mark

COLUMN = "news"


class NewsCheck:
    """The entries come from a chain that verified, so each is what its hash says."""

    def __init__(self, agent: str, ledger: LedgerStore) -> None:
        self._agent = agent
        self._ledger = ledger
        self._acts: dict[str, Entry] = {}  # of acts that are news, by their deliveries
        self._told: dict[str, int] = {}  # the entry that says that it was told
        try:
            self._keys = frozenset(mark.key for mark in self._marks())
        except StoreDamaged:
            self._keys = frozenset[str]()  # which comparing names

    def take(self, entry: Entry) -> None:
        if not self._keys:
            return
        if entry.kind == entries.KIND and entry.delivery is not None:
            if self._keys.intersection(entry.delivery.split("/")[1:2]):
                self._acts[entry.delivery] = entry
        elif entry.kind == "turn":
            for key in cast("list[str]", entry.body.get("told") or []):
                self._told[key] = entry.index

    def compare(self) -> tuple[dict[str, Finding], list[str]]:
        """By its key what no act came to, and what is to be said of the others."""
        findings, notes = dict[str, Finding](), list[str]()
        try:
            marks = self._marks()
        except StoreDamaged as damage:
            return {"": Finding(0, COLUMN, damage.message, "unreadable")}, notes
        for mark in marks:
            try:
                bound_news(mark, self._find)
            except StoreDamaged as fault:
                if self._may_have_been(mark):
                    notes.append(f"{fault.message}; that was erased or let go")
                else:
                    findings[mark.key] = Finding(0, COLUMN, fault.message, "forged")
                continue
            index = self._told.get(mark.key, -1)
            if index > self._released_at(mark.key):
                message = f"what came of act {mark.key} is to be told, and was told already"
                findings[mark.key] = Finding(index, COLUMN, message, "replayed")
        return findings, notes

    def _released_at(self, key: str) -> int:
        """What was told before the owner released it was that it is withheld."""
        entry = self._find(entries.delivery(key, "released"))
        return -1 if entry is None else entry.index

    def _marks(self) -> tuple[Mark, ...]:
        return self._ledger.marks(self._agent, entries.NEWS)

    def _find(self, delivery: str) -> Entry | None:
        return self._acts.get(delivery) or self._ledger.find_delivery(self._agent, delivery)

    def _may_have_been(self, mark: Mark) -> bool:
        """It says nothing at all, or its entry is where nobody can look any more."""
        try:
            if is_blank(entries.news(mark)):
                return True
        except StoreDamaged:
            return False
        own = f"{entries.KIND}/{mark.key}/"
        gone = self._ledger.dropped_deliveries(self._agent)
        ended = any((name or "").startswith(f"{own}{stage}") for name in gone for stage in ENDS)
        return ended and not any(name.startswith(own) for name in self._acts)
