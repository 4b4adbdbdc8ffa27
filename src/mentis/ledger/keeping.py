"""Operations on a ledger, one function per verb; store and key come from outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice

from mentis.errors import BadCheckpoint, RolledBack, SigningKeyError, StoreDamaged, UsageError
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.signer import Signer
from mentis.ports.witness import Growth
from mentis.values.checkpoint import (
    Checkpoint,
    GrowthProof,
    KeptCheckpoint,
    KeptNote,
    Pin,
    Proof,
    Segment,
    Standing,
)
from mentis.values.entry import Before, Draft, Entry
from mentis.values.json import JsonObject
from mentis.values.mark import Mark

from . import statements
from .checkpoint import note_signed_by, read_note, sign_checkpoint
from .keyring import KeyRing, changes_in
from .merkle import (
    Tree,
    prove_consistency,
    prove_inclusion,
    tree_of,
    verify_consistency,
    verify_inclusion,
)
from .recipes import check_recipe
from .segments import is_genuine, write_segment
from .signature import decode_key, signed_by, statement_of
from .standing import (
    HashesFrom,
    check_start,
    foreign_log,
    newest,
    refuse_gaps,
    refuse_missing,
    root_of,
    stand,
    stood_at,
)
from .statements import GivenUp


@dataclass(frozen=True, slots=True)
class LedgerHandle:
    """One agent's ledger, with what is pinned for it.

    `known` is where it stood when it was last compared: nothing is signed over hashes that do not
    lead there.
    """

    store: LedgerStore
    agent: str
    pin: Pin
    known: Standing | None = None

    @property
    def log(self) -> str:
        return self.pin.log(self.agent)

    @property
    def hashes_from(self) -> HashesFrom:
        return lambda start: self.store.hashes(self.agent, start=start)


def check_signer(signer: Signer, pin: Pin) -> None:
    """The key at hand must be the one that settings name, before anything is signed with it."""
    if signer.public != decode_key(pin.public_key):
        raise SigningKeyError(
            "the signing key is not the one that `ledger.public_key` names",
            hint="restore the key file, or pin the new key if its change is recorded",
        )


def start(ledger: LedgerHandle, kept: KeptCheckpoint | None = None) -> Standing:
    """Where it stands; RolledBack if a checkpoint of it has seen more or other.

    What is `kept` beside the key counts, since a database that was rolled back took its own
    checkpoints with it; those of the store count where they have seen more. Entries that are
    missing between others stop it, too, unless somebody has accepted that.
    """
    standing = compare(ledger, kept)
    refuse_gaps(ledger.agent, gaps(ledger))
    return standing


def gaps(ledger: LedgerHandle) -> tuple[tuple[int, int], ...]:
    """Runs of entries that are missing between others, and that nobody has given up."""
    found = ledger.store.gaps(ledger.agent)
    if not found:
        return ()
    # Seldom: only now the entries are read for rollbacks that were accepted.
    accepted = {gap for told in _rollbacks(ledger) for gap in statements.missing_in(told)}
    return tuple(gap for gap in found if gap not in accepted)


def compare(ledger: LedgerHandle, kept: KeptCheckpoint | None = None) -> Standing:
    """Where it stands, held against the last checkpoint alone."""
    last = last_seen(ledger, kept)
    if last is None:
        return Standing()
    since = kept.standing if kept else None
    return check_start(ledger.agent, ledger.hashes_from, last, since=since)


def hold_against(
    ledger: LedgerHandle, notes: Iterable[KeptNote], kept: Standing, now: Standing
) -> None:
    """RolledBack where somebody outside has seen more or other, and nobody has given that up.

    Where it stood when that was `kept`, and stands `now`, was compared already. Who signed a note
    is for whoever brings it.
    """
    same = {(standing.size, root_of(standing)) for standing in (kept, now) if standing.size}
    for note in notes:
        says = newest([note.note], ledger.log)
        if says is None or (says.size, says.root) in same:
            continue
        since = kept if kept.size < says.size else None
        if since is None and ledger.store.gaps(ledger.agent):
            continue  # somebody has accepted that: hashes before it lead nowhere any more
        try:
            check_start(ledger.agent, ledger.hashes_from, says, since=since, who=note.place)
        except RolledBack:
            if (says.size, says.root) not in _lost(ledger):
                raise


def refuse_shorter(ledger: LedgerHandle, size: int, *, who: str) -> None:
    """RolledBack where somebody outside has seen more entries, and nobody has given that up."""
    here = ledger.store.count(ledger.agent)
    if here < size and size not in {lost for lost, _ in _lost(ledger)}:
        refuse_missing(ledger.agent, here, size, who)


def _lost(ledger: LedgerHandle) -> set[tuple[int, str]]:
    """The checkpoints that were given up. Read seldom: it takes all entries."""
    return {lost for told in _rollbacks(ledger) for lost in statements.lost_in(told)}


def last_seen(ledger: LedgerHandle, kept: KeptCheckpoint | None) -> Checkpoint | None:
    """The checkpoint that a start is held against: the longest that nobody has given up."""
    own = kept and Checkpoint(ledger.log, kept.standing.size, root_of(kept.standing))
    stored = (note for _, note in ledger.store.checkpoints(ledger.agent))
    longer = [note for note in stored if _says_more(ledger, note, own)]
    if not longer:
        return own
    # Seldom: only now the entries are read for changes of the key and accepted rollbacks.
    ring = key_ring(ledger, ledger.store.entries(ledger.agent))
    given_up = {lost for told in _rollbacks(ledger, ring) for lost in statements.lost_in(told)}
    held = (note for note in longer if not _given_up(note, given_up))
    longest = newest((note for note in held if _signed(note, ring)), ledger.log)
    return longest or own


def refuse_foreign(ledger: LedgerHandle) -> None:
    """RolledBack when this chain has checkpoints, and none of them is of this log."""
    notes = (note for _, note in ledger.store.checkpoints(ledger.agent))
    if other := foreign_log(notes, ledger.log):
        raise RolledBack(
            f"the ledger of `{ledger.agent}` here is of another log: it has checkpoints of {other},"
            f" and none of {ledger.log}",
            hint="a second home of the same name needs a `name` or a `ledger.schema_name` of its"
            " own in mentis.toml; if this is the same home, put `ledger.origin` and its key back",
            agent=ledger.agent,
            other=other,
        )


def key_ring(ledger: LedgerHandle, entries: Iterable[Entry]) -> KeyRing:
    """The pinned key, and those that the changes in sound entries lead to."""
    telling = (entry for entry in entries if entry.kind in (statements.KEY, statements.ROLLBACK))
    sound = (entry for entry in telling if not any(check_recipe(entry, None)))
    changes = [change for entry in sound for change in changes_in(entry)]
    return KeyRing(ledger.agent, decode_key(ledger.pin.public_key), changes)


def checkpoint(
    ledger: LedgerHandle, signer: Signer, *, since: Standing | None = None
) -> tuple[str, Standing]:
    """Sign what is there now and keep the note beside it."""
    standing = stand(ledger.hashes_from, since)
    note = sign(ledger, signer, standing)
    ledger.store.keep_checkpoint(ledger.agent, standing.size, note)
    return note, standing


def sign(ledger: LedgerHandle, signer: Signer, standing: Standing) -> str:
    """That it stood there, as a note."""
    return sign_checkpoint(Checkpoint(ledger.log, standing.size, root_of(standing)), signer)


def growth_to(ledger: LedgerHandle, size: int) -> Growth:
    """How to prove that the ledger of this size goes on from an older one."""
    return lambda old: prove_consistency(ledger.hashes_from(0), old, size)


def prove(
    ledger: LedgerHandle, index: int, *, size: int | None = None, note: str | None = None
) -> Proof:
    """That the entry is in the ledger of `size`, or as the checkpoint `note` saw it, or as now."""
    says = newest([note], ledger.log) if note else None
    size = says.size if says else _known_size(ledger, size)
    if not 0 <= index < size:
        raise UsageError(
            f"there is no entry {index} among the {size} of `{ledger.agent}`",
            hint="`mentis status list` shows the entries",
        )
    path = prove_inclusion(ledger.hashes_from(0), index, size)
    (entry_hash,) = islice(ledger.hashes_from(index), 1)
    root = tree_of(islice(ledger.hashes_from(0), size)).root.hex()
    hexed = tuple(step.hex() for step in path)
    proof = Proof(ledger.agent, index, entry_hash, size, root, hexed, note)
    if (says and says.root != root) or not check_proof(proof):
        raise _not_what_was_seen(ledger, size)
    return proof


def prove_growth(
    ledger: LedgerHandle, old: int, *, size: int | None = None, note: str | None = None
) -> GrowthProof:
    """That what is there now, or was at `size`, begins with what was there at size `old`."""
    size = _known_size(ledger, size)
    if not 0 < old <= size:
        raise UsageError(
            f"a ledger of {size} entries cannot begin with one of {old}",
            hint="give the size of an older checkpoint",
        )
    path = prove_consistency(ledger.hashes_from(0), old, size)
    old_root = root_of(stand(_up_to(ledger, old)))
    root = root_of(stand(_up_to(ledger, size)))
    hexed = tuple(step.hex() for step in path)
    proof = GrowthProof(ledger.agent, old, old_root, size, root, hexed, note)
    says = newest([note], ledger.log) if note else None
    if (says and says.root != root) or not check_growth(proof):
        raise _not_what_was_seen(ledger, size)
    return proof


def check_growth(proof: GrowthProof) -> bool:
    return verify_consistency(
        (proof.old_size, bytes.fromhex(proof.old_root)),
        (proof.size, bytes.fromhex(proof.root)),
        [bytes.fromhex(step) for step in proof.path],
    )


def check_proof(proof: Proof) -> bool:
    return verify_inclusion(
        proof.hash,
        proof.index,
        size=proof.size,
        root=bytes.fromhex(proof.root),
        proof=[bytes.fromhex(step) for step in proof.path],
    )


def erase(
    ledger: LedgerHandle,
    index: int,
    fields: Collection[str] = (),
    *,
    reason: str,
    signer: Signer,
    stamp: Stamp,
    marks: Sequence[Mark] = (),
) -> Entry:
    """Remove value and salt of these fields, or of all but the delivery; returns the tombstone."""
    entry = ledger.store.find(ledger.agent, index)
    if entry is None:
        raise UsageError(
            f"there is no entry {index} of `{ledger.agent}` in the store",
            hint="`mentis status list` shows the entries; older ones may be in segments",
        )
    named = sorted(set(fields or statements.erasable(entry)))
    draft = tombstone(ledger, entry, named, reason=reason, signer=signer)
    return ledger.store.erase(ledger.agent, index, named, draft=draft, stamp=stamp, marks=marks)


def tombstone(
    ledger: LedgerHandle, entry: Entry, fields: Collection[str], *, reason: str, signer: Signer
) -> Draft:
    """Signed for an entry that is what its hash says, if that is the hash that is known."""
    if not is_genuine(entry, ledger.agent, entry.index, entry.hash):
        raise _unsound(ledger, entry.index)
    found: list[str] = []

    def hashes() -> Iterator[str]:
        for index, entry_hash in enumerate(ledger.hashes_from(0)):
            found.extend([entry_hash] if index == entry.index else [])
            yield entry_hash

    # Where somebody has accepted that entries are missing, hashes lead nowhere any more.
    if not ledger.store.gaps(ledger.agent):
        _stood(ledger, hashes(), entry.index + 1)
        if found != [entry.hash]:
            raise _unsound(ledger, entry.index)
    return statements.erasure(entry, fields, reason, signer)


def change_key(ledger: LedgerHandle, old: Signer, new: Signer, stamp: Stamp) -> Entry:
    """From the next entry on `new` signs. A checkpoint by `old` seals what was before."""
    check_signer(old, ledger.pin)
    checkpoint(ledger, old, since=ledger.known)
    return _append_after(
        ledger, lambda head: statements.key_change(ledger.agent, head, old, new), stamp
    )


def adopt(ledger: LedgerHandle, old: Signer, new: Signer, *, log: str, stamp: Stamp) -> Entry:
    """The copy goes on as `log`. `old` makes no checkpoint: what it seals is the original's."""
    check_signer(old, ledger.pin)
    logs = (ledger.log, log)
    return _append_after(
        ledger, lambda head: statements.adoption(ledger.agent, head, old, new, logs=logs), stamp
    )


def give_up(
    ledger: LedgerHandle, seen: Iterable[Checkpoint], keys: Collection[JsonObject] = ()
) -> GivenUp:
    """Which of the checkpoints that were `seen` fit no longer, and how far one still does.

    Only that far it is proved that the entries here are those from before.
    """
    known = {(says.size, says.root): says for says in seen}
    roots: dict[int, str | None] = {size: None for size, _ in known}
    tree = Tree()
    for entry_hash in ledger.hashes_from(0):
        tree.add(entry_hash)
        if tree.size in roots:
            roots[tree.size] = tree.root.hex()
    kept = max((size for size, root in known if roots[size] == root), default=0)
    lost = tuple(known[one] for one in sorted(known) if one[0] and roots[one[0]] != one[1])
    return GivenUp(lost, kept, tuple(keys))


def accept_rollback(
    ledger: LedgerHandle, given_up: GivenUp, *, reason: str, signer: Signer, stamp: Stamp
) -> Entry:
    """Go on from here although more or other was seen: the entry names each lost checkpoint."""

    def rollback_draft(head: Before | None) -> Draft:
        return statements.rollback(ledger.agent, head, given_up, reason=reason, signer=signer)

    return _append_after(ledger, rollback_draft, stamp)


def seal_segment(
    ledger: LedgerHandle, index: int, signer: Signer
) -> tuple[Segment, Iterator[bytes]]:
    """The segment of all entries before `index` that are still in the store, as lines of a file.

    Write them where they last, append what `record_rotation` says, then let the store drop them
    (`drop_before`).
    """
    first = next((entry.index for entry in ledger.store.entries(ledger.agent)), index)
    if not first < index < ledger.store.count(ledger.agent):
        raise UsageError(
            f"nothing to rotate: the entries here begin at {first}, and the last one stays",
            hint="choose an index between them",
        )
    before, standing = _stood(ledger, ledger.hashes_from(0), first, index)
    _check_moved(ledger, before, index)
    note = sign(ledger, signer, standing)
    ledger.store.keep_checkpoint(ledger.agent, standing.size, note)
    segment = Segment(ledger.agent, first, index - 1, before, note)
    entries = islice(ledger.store.entries(ledger.agent), index - first)
    return segment, write_segment(segment, entries)


def record_rotation(ledger: LedgerHandle, segment: Segment, signer: Signer, stamp: Stamp) -> Entry:
    """Say, signed, which entries are in a segment now."""
    (cut,) = _cuts(ledger, [segment])
    return _append(ledger, statements.rotation(ledger.agent, cut, signer), stamp)


def record_retention(
    ledger: LedgerHandle,
    segments: Sequence[Segment],
    *,
    told: Iterable[Entry],
    days: int,
    before: str,
    signer: Signer,
    stamp: Stamp,
    marks: Sequence[Mark] = (),
) -> Entry:
    """Say, signed, that these segments, which come first, and all that went before them are gone.

    Also what was let go earlier is named: the entry that said so may be in one of these segments.
    Verify first, so that nothing is called let go that somebody took. `told` are the entries that
    can be read: a signed rotation among them must name each segment just as it is. `marks` are set
    and taken away together with it.
    """
    cuts = _cuts(ledger, segments)
    rotated = list(_rotations(ledger, told))
    stored = next((entry.index for entry in ledger.store.entries(ledger.agent)), 0)
    for cut, segment in zip(cuts, segments, strict=True):
        if segment.last >= stored or cut not in rotated:
            raise _never_moved(ledger, segment)
    start = segments[0].first
    earlier = replace(segments[0], first=0, last=start - 1)
    gone = [*(_cuts(ledger, [earlier]) if start else ()), *cuts]
    draft = statements.retention(ledger.agent, gone, days=days, before=before, signer=signer)
    return _append(ledger, draft, stamp, marks)


def _cuts(ledger: LedgerHandle, segments: Sequence[Segment]) -> list[JsonObject]:
    """Their entries by the hashes, which also stay when a field of one is erased.

    `digest` is over the hashes of the cut, `root` and `head` are of all entries up to its end.
    """
    digests = [sha256() for _ in segments]

    def hashes() -> Iterator[str]:
        for index, entry_hash in enumerate(ledger.hashes_from(0)):
            for segment, digest in zip(segments, digests, strict=True):
                if segment.first <= index <= segment.last:
                    digest.update(bytes.fromhex(entry_hash))
            yield entry_hash

    ends = _stood(ledger, hashes(), *(segment.last + 1 for segment in segments))
    return [
        {
            "first": segment.first,
            "last": segment.last,
            "head": end.head,
            "root": root_of(end),
            "digest": digest.hexdigest(),
        }
        for segment, end, digest in zip(segments, ends, digests, strict=True)
    ]


def _stood(ledger: LedgerHandle, hashes: Iterable[str], *sizes: int) -> tuple[Standing, ...]:
    """Where it stood at these sizes, in one reading that also leads to what is known of it."""
    known = ledger.known or Standing()
    found = stood_at(hashes, {*sizes, known.size})
    if found.get(known.size) != known:
        raise _not_what_was_seen(ledger, known.size)
    if missing := [size for size in sizes if size not in found]:
        raise _not_what_was_seen(ledger, missing[0])
    return tuple(found[size] for size in sizes)


def _check_moved(ledger: LedgerHandle, before: Standing, index: int) -> None:
    """Each entry before `index` must have the hash that is signed, and follow on the one before."""
    place, prev = before.size, before.head
    for entry in islice(ledger.store.entries(ledger.agent), index - before.size):
        odd = any(found.column in ("hash", "recipe") for found in check_recipe(entry, None))
        if odd or (entry.index, entry.prev) != (place, prev):
            raise _unsound(ledger, place)
        place, prev = entry.index + 1, entry.hash


def _rotations(ledger: LedgerHandle, told: Iterable[Entry]) -> Iterator[JsonObject]:
    """What signed rotations say was moved, in sound entries."""
    telling = [entry for entry in told if entry.kind in statements.KINDS]
    ring = key_ring(ledger, telling)
    for entry in telling:
        signed, key = entry.body.get(statements.FIELD), ring.in_force(entry.index)
        says = {**statement_of(signed)}
        if key is None or not signed_by(signed, key) or any(check_recipe(entry, None)):
            continue
        if (says.pop("what", None), says.pop("agent", None)) == (entry.kind, ledger.agent):
            yield from [says] if entry.kind == statements.ROTATION else []


def _never_moved(ledger: LedgerHandle, segment: Segment) -> StoreDamaged:
    return StoreDamaged(
        f"no signed rotation of `{ledger.agent}` names the segment of entries {segment.first} to"
        f" {segment.last}, so it is not let go",
        hint="`mentis verify` names what does not belong there",
    )


def _unsound(ledger: LedgerHandle, index: int) -> StoreDamaged:
    return StoreDamaged(
        f"entry {index} of `{ledger.agent}` is not what its hash says, so nothing is signed",
        hint="`mentis verify` names what is wrong",
        index=index,
    )


def _says_more(ledger: LedgerHandle, note: str, own: Checkpoint | None) -> bool:
    """Whether it claims to have seen more of this log; who signed it is not looked at here."""
    says = newest([note], ledger.log)
    return says is not None and (own is None or says.size > own.size)


def _signed(note: str, ring: KeyRing) -> bool:
    """Whether a key signed it that might at its place; others are for `verify`."""
    read = read_note(note)
    return any(note_signed_by(read, key) for key in ring.may_sign(read.checkpoint.size))


def _rollbacks(ledger: LedgerHandle, ring: KeyRing | None = None) -> Iterator[JsonObject]:
    """What was accepted, as the key in force has signed it."""
    ring = ring or key_ring(ledger, ledger.store.entries(ledger.agent))
    for entry in ledger.store.entries(ledger.agent):
        if entry.kind != statements.ROLLBACK:
            continue
        signed, key = entry.body.get(statements.FIELD), ring.in_force(entry.index)
        told = statement_of(signed)
        here = (told.get("what"), told.get("agent"), told.get("after"))
        if (
            key is not None
            and signed_by(signed, key)
            and here == (statements.ROLLBACK, ledger.agent, entry.prev)
        ):
            yield told


def _given_up(note: str, given_up: Collection[tuple[int, str]]) -> bool:
    try:
        says = read_note(note).checkpoint
    except BadCheckpoint:
        return False
    return (says.size, says.root) in given_up


def _append(ledger: LedgerHandle, draft: Draft, stamp: Stamp, marks: Sequence[Mark] = ()) -> Entry:
    (entry,) = ledger.store.append(ledger.agent, [draft], stamp, marks=marks)
    return entry


def _append_after(
    ledger: LedgerHandle, said: Callable[[Before | None], Draft], stamp: Stamp
) -> Entry:
    """For a statement that names the entry it comes after, and counts nowhere else.

    It is signed inside the write: until then others may append.
    """

    def at(agent: str, head: Before | None, _nothing_yet: Draft) -> Entry:
        return stamp(agent, head, said(head))

    nothing_yet = Draft("", statements.SOURCE, {})
    return _append(ledger, nothing_yet, at)


def _known_size(ledger: LedgerHandle, size: int | None) -> int:
    count = ledger.store.count(ledger.agent)
    if size is not None and not 0 < size <= count:
        raise UsageError(
            f"the ledger of `{ledger.agent}` never had {size} entries; now it has {count}",
            hint="give the size of a checkpoint; `mentis ledger checkpoint --list` shows them",
        )
    return count if size is None else size


def _not_what_was_seen(ledger: LedgerHandle, size: int) -> StoreDamaged:
    return StoreDamaged(
        f"the first {size} entries of `{ledger.agent}` are not those the checkpoint has seen",
        hint="`mentis verify` names what is wrong",
        size=size,
    )


def _up_to(ledger: LedgerHandle, index: int) -> HashesFrom:
    return lambda start: islice(ledger.hashes_from(start), max(index - start, 0))
