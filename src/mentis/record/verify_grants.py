"""Is what waits for a yes, or was given one, what the entries say of it?

Each such mark is set and taken away together with an entry, so the entries say which there are and
what they hold: they need no leaf of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import cast

from mentis.act import entries
from mentis.act.mcp.pins import KIND as TOOL
from mentis.act.mcp.pins import PIN, granted_digest
from mentis.errors import StoreDamaged
from mentis.ledger.statements import REPAIR
from mentis.ports.ledger_store import LedgerStore
from mentis.values.act import WaitingAct
from mentis.values.entry import Attack, Entry, Finding
from mentis.values.json import JsonObject
from mentis.values.mark import Mark

COLUMN = "grants"
_STAGES = {"waiting": entries.WAITING, "approved": entries.APPROVED}
_NAMES = {
    entries.WAITING: "act {}, which waits for a yes,",
    entries.APPROVED: "the yes to act {}",
    PIN: "the trust in the definition of tool `{}`",
}


@dataclass(slots=True)
class GrantCheck:
    """The entries come from a chain that verified, so each is what its hash says. `odd` are the
    marks that a finding names and that may be taken away, by its message.
    """

    agent: str
    store: LedgerStore
    partial: bool = False  # not all entries were read
    findings: list[Finding] = field(default_factory=list[Finding])
    odd: dict[str, Mark] = field(default_factory=dict[str, Mark])
    _blanked: bool = False  # an entry was erased that may have trusted any tool
    # The entries that speak of each, the last of them at the end.
    _grants: dict[tuple[str, str], tuple[Entry, ...]] = field(
        default_factory=dict[tuple[str, str], tuple[Entry, ...]]
    )

    def take(self, entry: Entry) -> None:
        if entry.kind == entries.KIND:
            self._take_act(entry)
        elif entry.kind == TOOL:
            self._blanked = self._blanked or "tool" not in entry.body
            if name := granted_digest(entry)[0]:
                self._grants[PIN, name] = (entry,)
        elif entry.kind == REPAIR:  # what it names is taken as it is now
            told = "\n".join(map(str, cast("Sequence[object]", entry.body.get("findings") or ())))
            named = [place for place in self._grants if f": {_name(*place)} " in told]
            for place in named:
                del self._grants[place]

    def _take_act(self, entry: Entry) -> None:
        told = entry.body.get("act")
        head = cast("JsonObject", told if isinstance(told, Mapping) else {})
        _, key, stage, *_ = (*(entry.delivery or "").split("/"), "", "", "")
        key, stage = str(head.get("key") or key), str(head.get("stage") or stage)
        asked = self._grants.pop((entries.WAITING, key), ())
        self._grants.pop((entries.APPROVED, key), None)
        if stage in _STAGES:
            self._grants[_STAGES[stage], key] = (*asked, entry)

    def compare(self) -> None:
        for kind in _NAMES:
            try:
                marks = self.store.marks(self.agent, kind)
            except StoreDamaged as damage:
                self.findings.append(Finding(0, COLUMN, damage.message, "unreadable"))
                continue
            for mark in marks:
                self._look_at(mark)
        for place, spoken in sorted(self._grants.items(), key=itemgetter(0)):
            self._find(spoken[-1].index, f"{_name(*place)} is gone", "deleted")

    def _look_at(self, mark: Mark) -> None:
        spoken = self._grants.pop((mark.kind, mark.key), ())
        if not spoken:
            if self.partial or self._was_let_go(mark):
                return
            told = f"{_name(mark.kind, mark.key)} stands here, and no entry says so"
            self._find(0, told, "inserted")
        elif not all(_says(entry, mark) for entry in spoken):
            index = spoken[-1].index
            told = f"{_name(mark.kind, mark.key)} is not as entry {index} has it"
            self._find(index, told, "edited")
        else:
            return
        self.odd[told] = mark

    def _was_let_go(self, mark: Mark) -> bool:
        """Its entry is where nobody can look any more, or nothing is left in it."""
        if mark.kind == PIN and self._blanked:
            return True
        own = f"tool/{mark.key}/" if mark.kind == PIN else f"{entries.KIND}/{mark.key}/"
        return any((one or "").startswith(own) for one in self.store.dropped_deliveries(self.agent))

    def _find(self, index: int, message: str, attack: Attack) -> None:
        self.findings.append(Finding(index, COLUMN, message, attack))


def _name(kind: str, key: str) -> str:
    return _NAMES[kind].format(key)


def _says(entry: Entry, mark: Mark) -> bool:
    if mark.kind == PIN:
        return granted_digest(entry)[1] == (mark.value or {}).get("digest")
    try:
        waiting = entries.waiting_act(mark)
    except StoreDamaged:
        return False
    return waiting.call.key == mark.key and _says_act(entry, waiting)


def _says_act(entry: Entry, waiting: WaitingAct) -> bool:
    """All that the entry has; one of an older Mentis has less, and of an erased one it is gone."""
    head = cast("JsonObject", entry.body.get("act") or {})
    asked = entries.waiting_draft(waiting).body
    same = cast("JsonObject", asked["act"])
    left = {name: value for name, value in head.items() if name != "stage"}
    if any(not entries.is_same_json(same.get(name), value) for name, value in left.items()):
        return False
    return all(
        entries.is_same_json(entry.body[name], asked.get(name))
        for name in ("payload", "tainted")
        if name in entry.body
    )


def taken_away(grants: Mapping[str, Mark], named: Sequence[str]) -> list[Mark]:
    """What a repair takes away, so that nothing is done that nobody asked for or said yes to."""
    return [Mark(one.kind, one.key) for told, one in grants.items() if told in named]
