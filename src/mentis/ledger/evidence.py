"""Weighs what stands beside the entries: checkpoints, tombstones, rollbacks, changes of the key.

It is collected while the chain is read and weighed at the end, when all keys are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from mentis.errors import BadCheckpoint
from mentis.values.checkpoint import (
    Checkpoint,
    Cosignature,
    KeptNote,
    Pin,
    WitnessedSize,
    WitnessPolicy,
)
from mentis.values.entry import Attack, Entry, ErasedFields, Finding, Rollback
from mentis.values.json import JsonObject
from mentis.values.words import quantity

from .checkpoint import SignedNote, key_id, note_signed_by, read_note
from .cosignature import cosignatures_in
from .cuts import Cuts
from .keyring import KeyRing, changes_in
from .recipes import erased_fields
from .signature import decode_key, signed_by, statement_of
from .statements import (
    ERASURE,
    FIELD,
    KEY,
    KINDS,
    ROLLBACK,
    aside_in,
    erased_in,
    lost_in,
    missing_in,
    unread_in,
)

_MOST = 100_000
_CLOCKS_APART = 600  # seconds by which honest clocks may differ


@dataclass(slots=True)
class WeighedEvidence:
    """The outcome: what is wrong, what was erased, what else is to be said, what is vouched for."""

    findings: list[Finding] = field(default_factory=list[Finding])
    erased: list[ErasedFields] = field(default_factory=list[ErasedFields])
    notes: list[str] = field(default_factory=list[str])
    vouched: int = 0
    denied: int = 0  # how many entries one from outside has seen that are not, or not so, here
    given: int = 0  # checkpoints from outside
    uncounted: list[str] = field(default_factory=list[str])  # which of these do not count, and why
    witnessed: WitnessedSize | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    kept: KeptNote
    note: SignedNote
    cosignatures: tuple[Cosignature, ...] = ()

    @property
    def says(self) -> Checkpoint:
        return self.note.checkpoint

    @property
    def name(self) -> str:
        return f"{self.kept.place}, size {self.says.size}"


_GivenUp = dict[tuple[int, str], int]


class Evidence:
    def __init__(self, agent: str, pin: Pin | None, notes: Iterable[KeptNote]) -> None:
        self._agent = agent
        self._pin = pin
        self._policy = pin.policy if pin else WitnessPolicy()
        self._unreadable: list[Finding] = []
        self._unread: list[str] = []
        self._given = 0
        self._notes = [read for kept in notes if (read := self._read(kept))]
        self._roots: dict[int, str | None] = {read.says.size: None for read in self._notes}
        self._times: dict[int, str] = {}  # of the entries that came right after a checkpoint
        self._gone: dict[int, tuple[str, set[str]]] = {}  # what no tombstone explains yet
        self._read_from: int | None = None
        self._lost: dict[int, frozenset[str]] = {}
        self._beyond = 0
        self._statements: list[tuple[Entry, object]] = []
        self._cuts = Cuts()
        self.keys: list[JsonObject] = []
        self.rollbacks: list[Rollback] = []

    def wants_root(self, size: int) -> bool:
        return size in self._roots

    def give_root(self, size: int, root: str) -> None:
        self._roots[size] = root

    def take(self, entry: Entry, *, sound: bool = True) -> None:
        """An entry that is not `sound` in itself changes no key."""
        if self._read_from is None:
            self._read_from = entry.index
        if entry.index in self._roots:
            self._times[entry.index] = entry.time
        gone = erased_fields(entry)
        if gone and len(self._gone) < _MOST:
            self._gone[entry.index] = (entry.hash, set(gone))
            self._lost[entry.index] = frozenset(gone)
        elif gone:
            self._beyond += 1
        if entry.kind not in KINDS:
            return
        signed = entry.body.get(FIELD)
        if sound:
            self.keys.extend(changes_in(entry))
        if entry.kind != KEY:
            self._statements.append((entry, signed))

    def weigh(
        self, size: int, *, dropped: int = 0, moved: int = 0, base: int = 0
    ) -> WeighedEvidence:
        """`base` entries were not read, and their hashes neither. `moved` are not in the store."""
        weighed = WeighedEvidence(findings=list(self._unreadable), given=self._given)
        weighed.uncounted.extend(self._unread)
        ring = self._ring()
        if ring is not None:
            weighed.findings.extend(ring.findings)
        rollbacks = self._weigh_statements(ring, weighed)
        if ring is None:
            self._say_unpinned(weighed)
        else:
            self._set_apart(ring, dropped, weighed)
            self._weigh_notes(ring, rollbacks, size, weighed)
            self._say_unread(base, weighed)
        self._weigh_gone(weighed)
        weighed.findings.extend(self._cuts.missing(dropped, self._roots.get(dropped)))
        weighed.notes.extend(self._cuts.unexplained_gaps(dropped, moved))
        return weighed

    def _ring(self) -> KeyRing | None:
        if self._pin is None:
            return None
        return KeyRing(self._agent, decode_key(self._pin.public_key), self.keys)

    def _read(self, kept: KeptNote) -> _Read | None:
        try:
            note = read_note(kept.note)
            cosigned = cosignatures_in(note, self._policy.witnesses)
            # Wherever it lies: nobody here could have made what a witness has signed.
            kept = replace(kept, outside=kept.outside or bool(cosigned))
            self._given += kept.outside
            return _Read(kept, note, cosigned)
        except BadCheckpoint as error:
            self._given += kept.outside
            message = f"{kept.place}: {error.message}"
            self._unreadable.append(Finding(0, "checkpoint", message, "forged"))
            self._unread.extend([f"{kept.place}: it cannot be read"] if kept.outside else [])
            return None

    def _weigh_statements(self, ring: KeyRing | None, weighed: WeighedEvidence) -> list[Rollback]:
        """Tombstones take away what they explain; rollbacks come back."""
        rollbacks = self.rollbacks
        for entry, signed in self._statements:
            key = None if ring is None else ring.in_force(entry.index)
            told = statement_of(signed)
            if key is None or not signed_by(signed, key) or told.get("agent") != self._agent:
                message = f"the {entry.kind} is not signed by the key of this log"
                weighed.findings.append(Finding(entry.index, "body", message, "forged"))
            elif told.get("what") != entry.kind:
                message = f"the {entry.kind} carries a signed statement of something else"
                weighed.findings.append(Finding(entry.index, "body", message, "forged"))
            elif entry.kind == ERASURE:
                self._weigh_erasure(entry.index, told, weighed)
            elif entry.kind == ROLLBACK:
                rollbacks.extend(self._accepted(entry, told, weighed))
            else:
                weighed.findings.extend(
                    self._cuts.take(entry, told, self._roots, read_from=self._read_from or 0)
                )
        return rollbacks

    def _weigh_erasure(self, tombstone: int, told: JsonObject, weighed: WeighedEvidence) -> None:
        erased = erased_in(told, tombstone)
        if erased is None:
            message = "the erasure names no fields of an entry"
            weighed.findings.append(Finding(tombstone, "body", message, "forged"))
            return
        entry_hash, gone = self._gone.get(erased.index, ("", set[str]()))
        if entry_hash == told.get("hash"):
            gone.difference_update(erased.fields)
        weighed.erased.append(erased)
        weighed.findings.extend(self._returned(erased))

    def _returned(self, erased: ErasedFields) -> Iterator[Finding]:
        """A value that is there although a tombstone says that it is gone."""
        if self._read_from is None or erased.index < self._read_from or self._beyond:
            return  # that entry was not read, or there are too many to remember
        for name in sorted(set(erased.fields) - self._lost.get(erased.index, frozenset())):
            message = f"field {name!r} is here, and entry {erased.tombstone} says it was erased"
            yield Finding(erased.index, "body", message, "erased")

    def _accepted(
        self, entry: Entry, told: JsonObject, weighed: WeighedEvidence
    ) -> Iterator[Rollback]:
        if told.get("after") != entry.prev:
            message = "the rollback was accepted at another place of the chain"
            weighed.findings.append(Finding(entry.index, "body", message, "forged"))
            return
        lost = tuple(lost_in(told))
        weighed.notes.append(
            f"entry {entry.index}: a rollback was accepted, which gives up {_given_up(told)}"
            f" ({told.get('reason')}); a checkpoint proved {told.get('kept')} of the"
            f" {entry.index} entries before it to be from before"
        )
        yield Rollback(entry.index, lost)

    def _weigh_notes(
        self, ring: KeyRing, rollbacks: list[Rollback], size: int, weighed: WeighedEvidence
    ) -> None:
        given_up = {lost: one.entry for one in rollbacks for lost in one.lost}
        good = [read for read in self._notes if self._genuine(read, ring, given_up, weighed)]
        good = [read for read in good if not self._excused(read, given_up, size, weighed)]
        longer = [read for read in good if read.says.size > size]
        if longer:
            weighed.findings.append(_missing(longer, size))
            _uncount(longer, "it has seen entries that are not here", weighed)
        matching = [read for read in good if self._roots[read.says.size] == read.says.root]
        other = [read for read in good if self._differs(read.says)]
        if other:
            weighed.findings.append(_rewritten(other, matching))
            _uncount(other, "it has seen other entries", weighed)
        outside = [read.says.size for read in matching if read.kept.outside]
        weighed.vouched = max(outside, default=0)
        denied = (read.says.size for read in (*longer, *other) if read.kept.outside)
        weighed.denied = max(denied, default=0)
        self._weigh_witnesses(good, matching, size, weighed)

    def _weigh_witnesses(
        self, good: list[_Read], matching: list[_Read], size: int, weighed: WeighedEvidence
    ) -> None:
        """Those of what was verified before are not compared again; that enough saw them counts."""
        policy = self._policy
        if not policy.witnesses:
            return
        early = [r for r in good if r.says.size <= size and self._roots[r.says.size] is None]
        weighed.witnessed = _witnessed([*matching, *early], max(policy.quorum, 1))
        weighed.notes.extend(self._early_times(matching))
        seen = weighed.witnessed.size if weighed.witnessed else 0
        asked = f"{policy.quorum} of {quantity(len(policy.witnesses), 'witness', 'witnesses')}"
        if policy.quorum and size and not seen:
            message = f"no checkpoint here is cosigned by {asked}"
            weighed.findings.append(Finding(0, "checkpoint", message, "unwitnessed"))
        elif policy.quorum and seen < max((read.says.size for read in matching), default=0):
            after = f"what came after entry {seen - 1} is signed"
            weighed.notes.append(f"{after}, and not yet seen by {asked}")

    def _early_times(self, matching: list[_Read]) -> Iterator[str]:
        """Entries that claim to be older than a checkpoint they are not in."""
        for read in matching:
            claimed = self._times.get(read.says.size, "")
            if not claimed or not read.cosignatures:
                continue
            latest = max(read.cosignatures, key=lambda one: one.time)
            if datetime.fromisoformat(claimed).timestamp() < latest.time - _CLOCKS_APART:
                yield (
                    f"entry {read.says.size} says that it is of {claimed}, and {latest.name} saw"
                    f" the record without it at {latest.moment}: it was dated back, or a clock was"
                    " wrong"
                )

    def _genuine(
        self, read: _Read, ring: KeyRing, given_up: _GivenUp, weighed: WeighedEvidence
    ) -> bool:
        assert self._pin is not None  # noqa: S101 - there is no ring without it
        log, says = self._pin.log(self._agent), read.says
        if says.origin != log:
            message = f"{read.kept.place}: it is a checkpoint of {says.origin!r}, not of {log!r}"
            weighed.findings.append(Finding(0, "checkpoint", message, "identity"))
            _uncount([read], "it is of another log", weighed)
            return False
        # A change of the key may have gone with what is given up, so any key of ours will do.
        lost = (says.size, says.root) in given_up and _signed_by_any(read, ring.trusted_keys)
        if not lost and not _signed(read, ring):
            message = (
                f"{read.kept.place}: the checkpoint of size {says.size} is not signed by the key"
                " of this log"
            )
            weighed.findings.append(Finding(0, "checkpoint", message, "forged"))
            _uncount([read], "the key of this log did not sign it", weighed)
            return False
        return True

    def _differs(self, says: Checkpoint) -> bool:
        root = self._roots[says.size]
        return root is not None and root != says.root

    def _excused(
        self, read: _Read, given_up: _GivenUp, size: int, weighed: WeighedEvidence
    ) -> bool:
        """Only what a signed rollback names, by size and root: so never one signed after it."""
        says = read.says
        entry = given_up.get((says.size, says.root))
        if entry is None or not (says.size > size or self._differs(says)):
            return False
        _uncount([read], f"the rollback in entry {entry} gives it up", weighed)
        return True

    def _set_apart(self, ring: KeyRing, dropped: int, weighed: WeighedEvidence) -> None:
        """Changes of the key may be in segments that were not given: then nobody can say.

        Only of a key that is not known here, and of a root that is right: what bears the name of
        a known key must be signed by it, and the roots follow from the hashes that were kept.
        """
        log = "" if self._pin is None else self._pin.log(self._agent)
        unknown = [
            read
            for read in self._notes
            if read.says.size <= dropped
            and read.says.origin == log
            and self._roots[read.says.size] == read.says.root
            and not _names_known(read, ring)
        ]
        self._notes = [read for read in self._notes if read not in unknown]
        for read in unknown:
            weighed.notes.append(
                f"{read.kept.place}: the checkpoint of size {read.says.size} counts for nothing"
                " here: its root is right, but the key that signed it is known only from segments"
                " that were not given"
            )
        _uncount(unknown, "its key is known only from segments that were not given", weighed)

    def _say_unpinned(self, weighed: WeighedEvidence) -> None:
        if self._notes:
            weighed.notes.append(
                f"not checked: {quantity(len(self._notes), 'checkpoint')}, as no log identity and"
                " public key are pinned in settings (ledger.origin, ledger.public_key)"
            )
        for read in self._notes:
            if read.kept.outside:
                message = f"{read.name}: nothing is pinned that this checkpoint can be checked with"
                weighed.findings.append(Finding(0, "checkpoint", message, "identity"))
        _uncount(self._notes, "no key is pinned to check it with", weighed)

    def _say_unread(self, base: int, weighed: WeighedEvidence) -> None:
        early = [read for read in self._notes if 0 < read.says.size < base]
        if early:
            weighed.notes.append(
                f"not compared again: {quantity(len(early), 'checkpoint')} of what was verified"
                " before"
            )
        _uncount(early, "it was not compared again", weighed)

    def _weigh_gone(self, weighed: WeighedEvidence) -> None:
        for index, (_, fields) in self._gone.items():
            for name in sorted(fields):
                message = f"field {name!r} is gone; only its commitment is left"
                weighed.findings.append(Finding(index, "body", message, "erased"))
        if self._beyond:
            message = f"{self._beyond} further entries have lost fields; too many to explain"
            weighed.findings.append(Finding(max(self._gone) + 1, "body", message, "erased"))


def _witnessed(reads: list[_Read], quorum: int) -> WitnessedSize | None:
    """The largest size that so many have seen; one may have cosigned each of several copies."""
    seen: dict[int, dict[str, Cosignature]] = {}
    for read in reads:
        found = seen.setdefault(read.says.size, {})
        for one in read.cosignatures:
            before = found.get(one.name, one)
            found[one.name] = max(one, before, key=lambda each: each.time)
    enough = [size for size, found in seen.items() if size and len(found) >= quorum]
    if not enough:
        return None
    return WitnessedSize(max(enough), tuple(seen[max(enough)].values()))


def _given_up(told: JsonObject) -> str:
    sizes = ", ".join(str(size) for size, _ in lost_in(told))
    words = [f"the checkpoints of size {sizes}"] if sizes else []
    words += [f"entries {first} to {last}" for first, last in missing_in(told)]
    words += [", ".join(aside)] if (aside := aside_in(told)) else []
    unread = ", ".join(unread_in(told))
    return " and ".join(words) + (f", without having asked {unread}" if unread else "")


def _uncount(reads: Iterable[_Read], reason: str, weighed: WeighedEvidence) -> None:
    weighed.uncounted.extend(f"{read.name}: {reason}" for read in reads if read.kept.outside)


def _names_known(read: _Read, ring: KeyRing) -> bool:
    """Whether a signature bears the id of a key that is known here."""
    origin = read.says.origin
    known = {key_id(origin, key) for key in ring.trusted_keys}
    return any(one.name == origin and one.key_id in known for one in read.note.signatures)


def _signed(read: _Read, ring: KeyRing) -> bool:
    return _signed_by_any(read, ring.may_sign(read.says.size))


def _signed_by_any(read: _Read, keys: Iterable[bytes]) -> bool:
    return any(note_signed_by(read.note, key) for key in keys)


def _missing(longer: list[_Read], size: int) -> Finding:
    # Of those that say the same, the one from outside: nobody here could have made it up.
    largest = max(longer, key=lambda read: (read.says.size, read.kept.outside))
    attack: Attack = "rolled-back" if all(read.kept.outside for read in longer) else "truncated"
    message = (
        f"{largest.kept.place}: a checkpoint has seen {largest.says.size} entries,"
        f" only {size} are here"
    )
    return Finding(size, "checkpoint", message, attack if size else "emptied")


def _rewritten(other: list[_Read], matching: list[_Read]) -> Finding:
    first = min(other, key=lambda read: (read.says.size, not read.kept.outside))
    low = max((r.says.size for r in matching if r.says.size < first.says.size), default=0)
    message = (
        f"{first.kept.place}: entries {low} to {first.says.size - 1} are not those the checkpoint"
        f" has seen (root {first.says.root})"
    )
    return Finding(low, "checkpoint", message, "rewritten")
