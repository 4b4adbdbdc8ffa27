"""Which definitions of foreign tools are trusted: a mark each, and what changed in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mentis.act.mcp.pins import KIND, PIN
from mentis.act.mcp.told import PinChange
from mentis.errors import StoreConflict
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.values.digest import Digest
from mentis.values.entry import Draft
from mentis.values.json import JsonObject
from mentis.values.mark import Mark


@dataclass(frozen=True, slots=True)
class Pins:
    """Those of one agent. These methods block."""

    ledger: LedgerStore
    stamp: Stamp
    agent: str

    def digests(self) -> dict[str, Digest]:
        """By the name of the act."""
        marks = self.ledger.marks(self.agent, PIN)
        return {mark.key: str(cast("JsonObject", mark.value).get("digest")) for mark in marks}

    def judge(self, changes: Sequence[PinChange]) -> tuple[PinChange, ...]:
        """The same; but what the chain knows of is not new, though its mark may be gone."""
        return tuple(self._judged(change) for change in changes)

    def record(self, changes: Sequence[PinChange]) -> tuple[PinChange, ...]:
        """Record what is declared for the first time, and what is declared differently."""
        judged = self.judge(changes)
        for change in judged:
            try:
                self._record(change)
            except StoreConflict:
                if self.digests().get(change.name) != change.digest:
                    raise
        return judged

    def approve(self, change: PinChange, *, by: str) -> None:
        """A person trusts that definition from now on."""
        body = {"tool": {**_told(change), "verdict": "approved"}, "decided": {"by": by}}
        self._append(Draft(KIND, "runtime", body), _pin(change, "any"))

    def _judged(self, change: PinChange) -> PinChange:
        first = self._first(change.name)
        if change.verdict != "pinned" or first in ("", change.digest):
            return change
        return replace(change, verdict="changed", before=first)

    def _first(self, name: str) -> Digest:
        """What was trusted when it was first seen; "" when it never was."""
        entry = self.ledger.find_delivery(self.agent, _delivery(name))
        if entry is None:
            return ""
        told = entry.body.get("tool")
        known = cast("JsonObject", told).get("digest") if isinstance(told, Mapping) else None
        return str(known or "erased")

    def _record(self, change: PinChange) -> None:
        body = {"tool": _told(change)}
        if change.verdict == "pinned":
            delivery = "" if self._first(change.name) else _delivery(change.name)
            draft = Draft(KIND, "runtime", body, delivery=delivery or None)
            self._append(draft, _pin(change, "nothing"))
            return
        # The question is asked each time it comes up, and recorded once.
        delivery = f"tool/{change.name}/{change.before}/{change.digest}"
        self._append(Draft(KIND, "runtime", body, delivery=delivery))

    def _append(self, draft: Draft, *marks: Mark) -> None:
        self.ledger.append(self.agent, [draft], self.stamp, marks=marks)


def _delivery(name: str) -> str:
    return f"tool/{name}/first"


def _pin(change: PinChange, replaces: str) -> Mark:
    value = {"digest": change.digest, "source": change.source}
    return Mark(PIN, change.name, value, "nothing" if replaces == "nothing" else "any")


def _told(change: PinChange) -> dict[str, object]:
    told: dict[str, object] = {
        "name": change.name,
        "source": change.source,
        "digest": change.digest,
        "verdict": change.verdict,
    }
    return {**told, "before": change.before} if change.before else told
