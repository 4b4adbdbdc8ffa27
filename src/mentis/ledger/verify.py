"""Derives a chain anew, entry by entry, and names what does not match.

Integrity (the findings): what is here has not changed. Completeness: whether anything could be
missing, which only a checkpoint that somebody else keeps can tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

from mentis.errors import StoreDamaged
from mentis.values.checkpoint import KeptNote, Pin
from mentis.values.entry import Entry, Finding, Verdict, VerifiedPrefix
from mentis.values.measured import CLOCK, JUMP
from mentis.values.words import entries_of

from .deliveries import Deliveries
from .evidence import Evidence, WeighedEvidence
from .merkle import Tree
from .origin import KIND, linked_hash
from .places import ChainOrder
from .recipes import check_recipe

MAX_FINDINGS = 20
_UNSEEN = "entries removed from the end, or a history rewritten with new hashes, cannot be seen."
NOTE = f"No checkpoint from outside was given: {_UNSEEN}"
EMPTY_NOTE = f"There are no entries. {NOTE}"
_REPORT_EVERY = 1000
_TOLD = 3


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is not in the store, which begins at `stored`.

    `dropped` are the hashes of entries that are nowhere to be read, which a signed retention must
    explain; those between them and `stored` are read from segments.
    """

    dropped: Iterable[str] = ()
    stored: int = 0


def verify_chain(
    agent: str,
    entries: Iterable[Entry],
    *,
    pin: Pin | None = None,
    notes: Iterable[KeptNote] = (),
    since: VerifiedPrefix | None = None,
    beginning: Beginning | None = None,
    again: Callable[[], Iterable[Entry]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Verdict:
    """Read a whole chain once, in constant memory; every link and every field is derived anew.

    `since`: begin after what an earlier run has verified (`Verdict.trusted`). `beginning`: what
    of it is not in the store. `again`: how to read the entries a second time, should a delivery
    seem to stand there twice. `progress` is told how far it is.
    """
    reading = _Reading(agent, Evidence(agent, pin, notes), since)
    beginning = beginning or Beginning()
    try:
        reading.skip(beginning.dropped)
        for entry in entries:
            reading.take(entry)
            if progress is not None and reading.count % _REPORT_EVERY == 0:
                progress(reading.count)
    except StoreDamaged as damage:
        reading.stop(damage)
    second = again() if again is not None else None if isinstance(entries, Iterator) else entries
    return replace(reading.verdict(second, beginning.stored), pinned=pin is not None)


class _Reading:
    """How far verification has come: the entry before, and what was found so far."""

    def __init__(self, agent: str, evidence: Evidence, since: VerifiedPrefix | None) -> None:
        self._evidence = evidence
        since = since or VerifiedPrefix(agent, 0, None, "", ())
        self._since = since
        self._places = ChainOrder(agent, since.size, since.head, since.time)
        self._tree = Tree(since.size, map(bytes.fromhex, since.peaks))
        evidence.keys.extend(since.keys)
        evidence.rollbacks.extend(since.rollbacks)
        self._origin_hash = since.origin_hash
        self._deliveries = Deliveries()
        self._findings: list[Finding] = []
        self._dropped = 0
        self._regressed: list[int] = []
        self._jumped: list[int] = []
        self.count = since.size
        self.more = 0
        self._mark()

    def skip(self, dropped: Iterable[str]) -> None:
        for entry_hash in dropped:
            self._grow(entry_hash)
            self._places.size, self._places.head = self.count, entry_hash
            self._dropped += 1
        if self._dropped:
            self._evidence.give_root(self.count, self._tree.root.hex())

    def take(self, entry: Entry) -> None:
        for finding in self._places.take(entry):
            self._note(finding)
        sound = True
        for finding in check_recipe(entry, self._origin_hash):
            sound = False
            if finding.column == "hash":
                self._places.find_origin(entry)
            self._note(finding)
        if entry.kind == KIND:
            self._origin_hash = linked_hash(entry)
        self._evidence.take(entry, sound=sound)
        if replayed := self._deliveries.take(entry):
            self._note(replayed)
        clock = entry.body.get("clock")
        if isinstance(clock, dict) and "regressed" in clock:
            self._regressed.append(entry.index)
            del self._regressed[MAX_FINDINGS:]
        if entry.kind == CLOCK and JUMP in entry.body:
            self._jumped.append(entry.index)
            del self._jumped[MAX_FINDINGS:]
        self._grow(entry.hash)

    def stop(self, damage: StoreDamaged) -> None:
        """Nothing can be read beyond this point, which is a finding like any other."""
        index, column = damage.facts.get("index"), damage.facts.get("column")
        self._note(
            Finding(
                index=index if isinstance(index, int) else self._places.size,
                column=column if isinstance(column, str) else "",
                message=f"{damage.message}; the chain could not be read further",
                attack="unreadable",
            )
        )

    def verdict(self, again: Iterable[Entry] | None, stored: int) -> Verdict:
        weighed = self._evidence.weigh(
            self.count, dropped=self._dropped, moved=stored, base=self._since.size
        )
        named = [self._places.name_attack(finding) for finding in self._findings]
        found = _merged(named, [*self._deliveries.findings(again), *weighed.findings])
        return Verdict(
            agent=self._places.agent,
            entries=self.count,
            head=self._places.head,
            findings=tuple(found[:MAX_FINDINGS]),
            completeness=_completeness(self.count, weighed),
            more=self.more + max(0, len(found) - MAX_FINDINGS),
            root=self._tree.root.hex(),
            vouched=weighed.vouched,
            witnessed=weighed.witnessed,
            erased=tuple(weighed.erased),
            notes=(*weighed.notes, *self._remarks()),
            trusted=None if found else self._trusted(),
        )

    def _note(self, finding: Finding) -> None:
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(finding)
        else:
            self.more += 1

    def _grow(self, entry_hash: str) -> None:
        try:
            self._tree.add(entry_hash)
        except ValueError:  # not hexadecimal: a finding already, and no root can match any more
            self._tree.add("00" * 32)
        self.count += 1
        self._mark()

    def _mark(self) -> None:
        if self._evidence.wants_root(self.count):
            self._evidence.give_root(self.count, self._tree.root.hex())

    def _remarks(self) -> Iterator[str]:
        if self._since.size:
            yield (
                f"entries 0 to {self._since.size - 1} were verified before and not read again:"
                " not whether they changed since, whether a later entry repeats one of their"
                " deliveries, or whether an erased value is back"
            )
        if self._dropped:
            yield f"entries 0 to {self._dropped - 1} are not here: only their hashes were used"
        if self._regressed:
            told = ", ".join(map(str, self._regressed))
            yield f"the clock had gone back at entry {told}; the time before was kept"
        if self._jumped:
            yield f"the clock had jumped before entry {', '.join(map(str, self._jumped))}"

    def _trusted(self) -> VerifiedPrefix:
        return VerifiedPrefix(
            agent=self._places.agent,
            size=self.count,
            head=self._places.head,
            time=self._places.time,
            peaks=tuple(peak.hex() for peak in self._tree.peaks),
            origin_hash=self._origin_hash,
            keys=tuple(self._evidence.keys),
            rollbacks=tuple(self._evidence.rollbacks),
        )


def _merged(read: list[Finding], weighed: list[Finding]) -> list[Finding]:
    """Those of the reading stay in its order, the others take their place among them.

    A checkpoint that is not ours has no place in the chain, and comes last.
    """
    reached = accumulate((finding.index for finding in read), max)
    placed = [*zip(reached, read, strict=True), *((_place(other), other) for other in weighed)]
    return [finding for _, finding in sorted(placed, key=lambda pair: pair[0])]


def _place(finding: Finding) -> float:
    foreign = finding.column == "checkpoint" and finding.attack in ("forged", "identity")
    return math.inf if foreign else finding.index


def _uncounted(reasons: list[str]) -> str:
    told = "; ".join(reasons[:_TOLD]) or "only of the empty ledger"
    more = f"; and {len(reasons) - _TOLD} more" if len(reasons) > _TOLD else ""
    return f"No checkpoint from outside counts here ({told}{more}): {_UNSEEN}"


def _incomplete(count: int, weighed: WeighedEvidence) -> str:
    seen = entries_of(weighed.denied)
    less = (
        f"{seen}, and {count} are here" if weighed.denied > count else f"{seen}, others than here"
    )
    kept = f"; the first {weighed.vouched} are as one saw them" if weighed.vouched else ""
    return f"NOT complete: a checkpoint from outside has seen {less}{kept}."


def _completeness(count: int, weighed: WeighedEvidence) -> str:
    if weighed.denied:
        return _incomplete(count, weighed)
    if not weighed.vouched:
        note = _uncounted(weighed.uncounted) if weighed.given else NOTE
        return note if count else f"There are no entries. {note}"
    if weighed.vouched == count:
        seen = "the one entry" if count == 1 else f"all {count} entries"
        return f"A checkpoint from outside has seen {seen}."
    return (
        f"A checkpoint from outside has seen the first {weighed.vouched} of {count} entries;"
        " of those after it, removal and rewriting cannot be seen."
    )
