"""Going on with a ledger that is shorter or other than what was seen of it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.errors import BadCheckpoint, RolledBack, StoreDamaged, StoreError, UsageError
from mentis.home.anchors import AnchorNotes, read_anchors
from mentis.home.database import no_empty_left
from mentis.ledger import keeping, statements
from mentis.ledger.anchors import read_given
from mentis.ledger.checkpoint import note_signed_by, read_note
from mentis.ledger.cosignature import cosignatures_in
from mentis.ledger.signature import decode, decode_key, statement_of
from mentis.ledger.statements import GivenUp
from mentis.stores.files.home import find_home
from mentis.values.checkpoint import Checkpoint, KeptChange, KeptNote
from mentis.values.entry import Entry

from .evidence import verified_file
from .record import Record, open_record
from .segments import SegmentFile


@dataclass(frozen=True, slots=True)
class AcceptedRollback:
    """The entry that says so, which anchors could not be asked what they know, and where the
    segments are now that were of the history which is given up.
    """

    entry: Entry
    unread: tuple[str, ...] = ()
    aside: tuple[Path, ...] = ()


@contextmanager
def open_rolled_back(home: str | Path, persona: str | None = None) -> Generator[Record]:
    """The record to accept a rollback of; one whose database is gone is begun anew, and gone again
    if nothing comes of it.
    """
    with no_empty_left(find_home(Path(home))), open_record(home, persona, anew=True) as record:
        yield record


def entries_left(home: str | Path, persona: str | None = None) -> int:
    """How many entries there are to go on from; no database is begun where it is gone."""
    try:
        with open_record(home, persona) as record:
            return record.store.count(record.agent)
    except RolledBack:
        if find_home(Path(home)).database.exists():
            raise
        return 0


def accept_rollback(
    record: Record,
    *,
    reason: str,
    checkpoints: Sequence[Path] = (),
    without_anchors: bool = False,
) -> AcceptedRollback:
    """Go on from what is there although a checkpoint has seen more or other.

    The entry names each checkpoint that is given up: those that are known here, and those in
    `checkpoints`. One that turns up later is named by doing this again with its file. An anchor
    that cannot be asked stops it, unless it shall be done `without_anchors`. Segments of what is
    given up are set aside: else they would pass for those of the ledger as it goes on.
    """
    sealing = record.require_sealing()
    record.unbind_inventory()
    given = [kept for file in checkpoints for kept in read_given(file)]
    heard = read_anchors(sealing.anchors)
    if heard.unread and not without_anchors:
        raise StoreError(
            f"what is given up cannot be told: {heard.unread[0]}",
            hint="bring the anchor back, or go on with --without-anchors, which the entry says",
            unread=list(heard.unread),
        )
    foreign: Sequence[SegmentFile] = ()
    if missing := keeping.gaps(record.keeping):
        entry = _accept_missing(record, GivenUp((), missing=missing, unread=heard.unread), reason)
    else:
        refused = _refused(record)
        foreign = _foreign(record, refused=refused)
        known = _known(record, heard) if refused or foreign else ()
        seen = [*_genuine(record, given), *known]
        told = GivenUp((), unread=heard.unread, segments=tuple(one.path.name for one in foreign))
        entry = _accept_lost(record, seen, told, reason)
    # What was verified before is not all there any more.
    verified_file(record.home, record.settings, record.environ, agent=record.agent).unlink(
        missing_ok=True
    )
    # Last: cut short before this, doing it again sets them aside.
    aside = tuple(map(record.segments.set_aside, foreign))
    return AcceptedRollback(entry, heard.unread, aside)


def _foreign(record: Record, *, refused: bool) -> tuple[SegmentFile, ...]:
    """Segments of a history that is given up, now or before; of any other `verify` speaks."""
    with record.snapshot() as source:
        foreign = source.foreign()
        if refused or not foreign:
            return foreign
        gave_up = any(entry.kind == statements.ROLLBACK for entry in source.entries())
        return foreign if gave_up else ()


def _accept_lost(record: Record, seen: Sequence[Checkpoint], told: GivenUp, reason: str) -> Entry:
    lost = _lost_changes(record)
    given_up = keeping.give_up(record.keeping, seen, [one.signed for one in lost])
    if not given_up.lost and not told.segments:
        raise UsageError(
            "nothing was rolled back: the ledger is what its last checkpoint saw, or longer",
            hint="`mentis verify` checks every entry; --checkpoint names one to give up",
        )
    given_up = replace(given_up, unread=told.unread, segments=told.segments)
    entry = _append(record, given_up, reason)
    _carry(record, lost, entry)
    record.require_sealing().checkpoint(record.store, record.agent, anew=True)
    return entry


def _accept_missing(record: Record, given_up: GivenUp, reason: str) -> Entry:
    """Entries are gone between others. Their place in the tree is known from what was kept."""
    sealing = record.require_sealing()
    kept = sealing.folder.kept_checkpoint(record.agent)
    sealed = kept.standing.size if kept else 0
    try:
        standing = keeping.compare(record.keeping, kept)
    except RolledBack as refusal:
        raise _beyond_help("and the end is not what the last checkpoint saw") from refusal
    if any(last >= sealed for _, last in given_up.missing):
        raise _beyond_help(f"and the last checkpoint has seen only the first {sealed}")
    entry = _append(record, given_up, reason)
    sealing.checkpoint(record.store, record.agent, since=standing)
    return entry


def _beyond_help(why: str) -> StoreDamaged:
    return StoreDamaged(
        f"entries are missing between others, {why}: nothing can be built on what is left",
        hint="put a backup in its place; `mentis verify` names what is missing",
    )


def _append(record: Record, given_up: GivenUp, reason: str) -> Entry:
    signer = record.require_sealing().signer()
    return keeping.accept_rollback(
        record.keeping, given_up, reason=reason, signer=signer, stamp=record.stamp_signed()
    )


def _refused(record: Record) -> bool:
    try:
        sealing = record.require_sealing()
        kept = sealing.folder.kept_checkpoint(record.agent)
        standing = keeping.start(record.keeping, kept)
        sealing.ask_witnesses(record.keeping, kept, standing)
    except RolledBack:
        return True
    return False


def _known(record: Record, heard: AnchorNotes) -> Iterator[Checkpoint]:
    """What is known here of how the ledger was: beside the key, in the store, at the anchors."""
    sealing = record.require_sealing()
    last = keeping.last_seen(record.keeping, sealing.folder.kept_checkpoint(record.agent))
    if last is not None:
        yield last
    own = [KeptNote(note, "the ledger", outside=False) for _, note in record.checkpoints()]
    yield from _genuine(record, [*own, *heard.notes])


def _genuine(record: Record, notes: Sequence[KeptNote]) -> Iterator[Checkpoint]:
    """Of this log and signed by one of its keys, or by a witness, who knows a key that came later;
    anything else there is nothing to accept about.
    """
    keys, policy = _keys(record), record.require_sealing().policy
    for kept in notes:
        try:
            note = read_note(kept.note)
        except BadCheckpoint:
            continue
        ours = note.checkpoint.origin == record.keeping.log
        signed = any(note_signed_by(note, key) for key in keys)
        if ours and (signed or cosignatures_in(note, policy.witnesses)):
            yield note.checkpoint


def _keys(record: Record) -> list[bytes]:
    """The pinned key and those before it, as they are known beside it."""
    sealing = record.require_sealing()
    told = [statement_of(one.signed) for one in sealing.folder.changes(record.agent)]
    before = [decode(str(one.get("old"))) or b"" for one in told]
    return [decode_key(sealing.pin.public_key), *before]


def _lost_changes(record: Record) -> list[KeptChange]:
    """Changes of the key that went with the entries that held them; nothing carries them yet."""
    changes = record.require_sealing().folder.changes(record.agent)
    gone = {one.hash for one in changes}
    for entry_hash in record.store.hashes(record.agent) if changes else ():
        gone.discard(entry_hash)
    carried = list(_carried(record)) if gone else []
    return [one for one in changes if one.hash in gone and one.signed not in carried]


def _carried(record: Record) -> Iterator[object]:
    for entry in record.store.entries(record.agent):
        if entry.kind == statements.ROLLBACK:
            yield from statements.keys_in(statement_of(entry.body.get(statements.FIELD)))


def _carry(record: Record, lost: Sequence[KeptChange], entry: Entry) -> None:
    folder = record.require_sealing().folder
    if lost:
        hashes = {one.hash for one in lost}
        folder.keep_changes(
            record.agent,
            [
                replace(one, hash=entry.hash) if one.hash in hashes else one
                for one in folder.changes(record.agent)
            ],
        )
