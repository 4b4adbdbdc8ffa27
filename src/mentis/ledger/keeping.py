"""What can be done with a ledger, one function per verb; store and key come from outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from mentis.errors import BadCheckpoint, SigningKeyError, StoreDamaged, UsageError
from mentis.ports.ledger_store import LedgerStore, Stamp
from mentis.ports.signer import Signer
from mentis.values.checkpoint import (
    Checkpoint,
    GrowthProof,
    Kept,
    Pin,
    Proof,
    Segment,
    Standing,
)
from mentis.values.entry import Draft, Entry
from mentis.values.json import JsonObject

from . import statements
from .checkpoint import note_signed_by, read_note, sign_checkpoint
from .merkle import (
    Tree,
    prove_consistency,
    prove_inclusion,
    tree_of,
    verify_consistency,
    verify_inclusion,
)
from .segments import write_segment
from .signature import decode_key, signed_by, statement_of
from .standing import HashesFrom, check_start, newest, root_of, stand
from .statements import GivenUp


@dataclass(frozen=True, slots=True)
class Keeping:
    """One agent's ledger, with what is pinned for it."""

    store: LedgerStore
    agent: str
    pin: Pin

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
            hint="restore the key file, or pin the new key if the change of it is recorded",
        )


def start(ledger: Keeping, kept: Kept | None = None) -> Standing:
    """Where it stands; RolledBack if a checkpoint of it has seen more or other.

    What is `kept` beside the key counts, since a database that was rolled back took its own
    checkpoints with it; those of the store count where they have seen more.
    """
    last = last_seen(ledger, kept)
    if last is None:
        return Standing()
    since = kept.standing if kept else None
    return check_start(ledger.agent, ledger.hashes_from, last, since=since)


def last_seen(ledger: Keeping, kept: Kept | None) -> Checkpoint | None:
    """The checkpoint that a start is held against: the longest that nobody has given up."""
    own = kept and Checkpoint(ledger.log, kept.standing.size, root_of(kept.standing))
    notes = [note for _, note in ledger.store.checkpoints(ledger.agent)]
    longest = newest(filter(_signed_for(ledger), notes), ledger.log)
    if longest is None or (own and longest.size <= own.size):
        return own
    # Seldom: only now the entries are read for rollbacks that were accepted.
    given_up = set(_rollbacks(ledger))
    held = (note for note in notes if not _given_up(note, given_up))
    longest = newest(filter(_signed_for(ledger), held), ledger.log)
    return longest if longest and (own is None or longest.size > own.size) else own


def checkpoint(
    ledger: Keeping, signer: Signer, *, since: Standing | None = None
) -> tuple[str, Standing]:
    """Sign what is there now and keep the note beside it."""
    standing = stand(ledger.hashes_from, since)
    return _seal(ledger, signer, standing), standing


def prove(
    ledger: Keeping, index: int, *, size: int | None = None, note: str | None = None
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
    ledger: Keeping, old: int, *, size: int | None = None, note: str | None = None
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
    ledger: Keeping,
    index: int,
    fields: Collection[str] = (),
    *,
    reason: str,
    signer: Signer,
    stamp: Stamp,
) -> Entry:
    """Remove value and salt of these fields, or of all that are left; returns the tombstone."""
    entry = ledger.store.find(ledger.agent, index)
    if entry is None:
        raise UsageError(
            f"there is no entry {index} of `{ledger.agent}` in the store",
            hint="`mentis status list` shows the entries; older ones may be in segments",
        )
    named = sorted(set(fields or entry.body))
    draft = statements.erasure(entry, named, reason, signer)
    return ledger.store.erase(ledger.agent, index, named, draft=draft, stamp=stamp)


def change_key(ledger: Keeping, old: Signer, new: Signer, stamp: Stamp) -> Entry:
    """From the next entry on `new` signs. A checkpoint by `old` seals what was before."""
    check_signer(old, ledger.pin)
    checkpoint(ledger, old)
    head = ledger.store.head(ledger.agent)
    return _append(ledger, statements.key_change(ledger.agent, head, old, new), stamp)


def give_up(
    ledger: Keeping, seen: Iterable[Checkpoint], keys: Collection[JsonObject] = ()
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
    ledger: Keeping, given_up: GivenUp, *, reason: str, signer: Signer, stamp: Stamp
) -> Entry:
    """Go on from here although more or other was seen: the entry names each lost checkpoint."""
    head = ledger.store.head(ledger.agent)
    draft = statements.rollback(ledger.agent, head, given_up, reason=reason, signer=signer)
    return _append(ledger, draft, stamp)


def seal_segment(ledger: Keeping, index: int, signer: Signer) -> tuple[Segment, Iterator[bytes]]:
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
    before = stand(_up_to(ledger, first))
    note = _seal(ledger, signer, stand(_up_to(ledger, index)))
    segment = Segment(ledger.agent, first, index - 1, before, note)
    entries = islice(ledger.store.entries(ledger.agent), index - first)
    return segment, write_segment(segment, entries)


def record_rotation(ledger: Keeping, segment: Segment, signer: Signer, stamp: Stamp) -> Entry:
    """Say, signed, which entries are in a segment now."""
    cut = _cut(ledger, segment.first, segment.last)
    return _append(ledger, statements.rotation(ledger.agent, cut, signer), stamp)


def record_retention(
    ledger: Keeping,
    segments: Collection[Segment],
    *,
    days: int,
    before: str,
    signer: Signer,
    stamp: Stamp,
) -> Entry:
    """Say, signed, that these segments, which come first, and all that went before them are gone.

    Also what was let go earlier is named: the entry that said so may be in one of these segments.
    Verify first, so that nothing is called let go that somebody took.
    """
    start = min(segment.first for segment in segments)
    gone = [_cut(ledger, 0, start - 1)] if start else []
    gone += [_cut(ledger, segment.first, segment.last) for segment in segments]
    draft = statements.retention(ledger.agent, gone, days=days, before=before, signer=signer)
    return _append(ledger, draft, stamp)


def _cut(ledger: Keeping, first: int, last: int) -> JsonObject:
    """These entries by their hashes, which also stay when a field of one is erased.

    `digest` is over the hashes of the cut, `root` and `head` are of all entries up to its end.
    """
    standing = stand(_up_to(ledger, last + 1))
    digest = sha256()
    for entry_hash in islice(ledger.hashes_from(first), last - first + 1):
        digest.update(bytes.fromhex(entry_hash))
    return {
        "first": first,
        "last": last,
        "head": standing.head,
        "root": root_of(standing),
        "digest": digest.hexdigest(),
    }


def _signed_for(ledger: Keeping) -> Callable[[str], bool]:
    """Whether the pinned key signed a note; others are for `verify`."""
    public = decode_key(ledger.pin.public_key)

    def signed(note: str) -> bool:
        try:
            return note_signed_by(read_note(note), public)
        except BadCheckpoint:
            return False

    return signed


def _rollbacks(ledger: Keeping) -> Iterator[tuple[int, str]]:
    """Size and root of what was given up, as the pinned key has signed it."""
    public = decode_key(ledger.pin.public_key)
    for entry in ledger.store.entries(ledger.agent):
        signed = entry.body.get(statements.FIELD)
        if entry.kind == statements.ROLLBACK and signed_by(signed, public):
            told = statement_of(signed)
            if told.get("agent") == ledger.agent and told.get("after") == entry.prev:
                yield from statements.lost_in(told)


def _given_up(note: str, given_up: Collection[tuple[int, str]]) -> bool:
    try:
        says = read_note(note).checkpoint
    except BadCheckpoint:
        return False
    return (says.size, says.root) in given_up


def _append(ledger: Keeping, draft: Draft, stamp: Stamp) -> Entry:
    (entry,) = ledger.store.append(ledger.agent, [draft], stamp)
    return entry


def _seal(ledger: Keeping, signer: Signer, standing: Standing) -> str:
    says = Checkpoint(ledger.log, standing.size, root_of(standing))
    note = sign_checkpoint(says, signer)
    ledger.store.keep_checkpoint(ledger.agent, standing.size, note)
    return note


def _known_size(ledger: Keeping, size: int | None) -> int:
    count = ledger.store.count(ledger.agent)
    if size is not None and not 0 < size <= count:
        raise UsageError(
            f"the ledger of `{ledger.agent}` never had {size} entries; now it has {count}",
            hint="give the size of a checkpoint; `mentis ledger checkpoint --list` shows them",
        )
    return count if size is None else size


def _not_what_was_seen(ledger: Keeping, size: int) -> StoreDamaged:
    return StoreDamaged(
        f"the first {size} entries of `{ledger.agent}` are not those the checkpoint has seen",
        hint="`mentis status verify` names what is wrong",
        size=size,
    )


def _up_to(ledger: Keeping, index: int) -> HashesFrom:
    return lambda start: islice(ledger.hashes_from(start), max(index - start, 0))
