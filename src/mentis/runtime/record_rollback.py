"""Going on with a ledger that is shorter or other than what was seen of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mentis.errors import BadCheckpoint, RolledBack, UsageError
from mentis.ledger import keeping, statements
from mentis.ledger.anchors import read_given
from mentis.ledger.checkpoint import note_signed_by, read_note
from mentis.ledger.signature import decode, decode_key, statement_of
from mentis.values.checkpoint import Checkpoint, KeptChange, KeptNote
from mentis.values.entry import Entry

from .anchoring import read_anchors
from .evidence import verified_file
from .record import Record


def accept_rollback(record: Record, *, reason: str, checkpoints: Sequence[Path] = ()) -> Entry:
    """Go on from what is there although a checkpoint has seen more or other.

    The entry names each checkpoint that is given up: those that are known here, and those in
    `checkpoints`. One that turns up later is named by doing this again with its file.
    """
    sealing, ledger = record.sealed(), record.keeping
    given = [kept for file in checkpoints for kept in read_given(file)]
    lost = _lost_changes(record)
    seen = [*_genuine(record, given), *_known(record)] if _refused(record) else ()
    given_up = keeping.give_up(
        ledger, seen or _genuine(record, given), [one.signed for one in lost]
    )
    if not given_up.lost:
        raise UsageError(
            "nothing was rolled back: the ledger is what its last checkpoint saw, or longer",
            hint="`mentis status verify` checks every entry; --checkpoint names one to give up",
        )
    entry = keeping.accept_rollback(
        ledger, given_up, reason=reason, signer=sealing.signer(), stamp=record.stamp()
    )
    _carry(record, lost, entry)
    sealing.checkpoint(record.store, record.agent, anew=True)
    # What was verified before is not all there any more.
    verified_file(record.home, record.settings, record.environ, agent=record.agent).unlink(
        missing_ok=True
    )
    return entry


def _refused(record: Record) -> bool:
    try:
        keeping.start(record.keeping, record.sealed().folder.kept(record.agent))
    except RolledBack:
        return True
    return False


def _known(record: Record) -> Iterator[Checkpoint]:
    """What is known here of how the ledger was: beside the key, in the store, at the anchors."""
    sealing = record.sealed()
    last = keeping.last_seen(record.keeping, sealing.folder.kept(record.agent))
    if last is not None:
        yield last
    own = [KeptNote(note, "the ledger", outside=False) for _, note in record.checkpoints()]
    yield from _genuine(record, [*own, *read_anchors(sealing.anchors)[0]])


def _genuine(record: Record, notes: Sequence[KeptNote]) -> Iterator[Checkpoint]:
    """Of this log and signed by one of its keys; anything else there is nothing to accept about."""
    keys = _keys(record)
    for kept in notes:
        try:
            note = read_note(kept.note)
        except BadCheckpoint:
            continue
        ours = note.checkpoint.origin == record.keeping.log
        if ours and any(note_signed_by(note, key) for key in keys):
            yield note.checkpoint


def _keys(record: Record) -> list[bytes]:
    """The pinned key and those before it, as they are known beside it."""
    sealing = record.sealed()
    told = [statement_of(one.signed) for one in sealing.folder.changes(record.agent)]
    before = [decode(str(one.get("old"))) or b"" for one in told]
    return [decode_key(sealing.pin.public_key), *before]


def _lost_changes(record: Record) -> list[KeptChange]:
    """Changes of the key that went with the entries that held them; nothing carries them yet."""
    changes = record.sealed().folder.changes(record.agent)
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
    folder = record.sealed().folder
    if lost:
        hashes = {one.hash for one in lost}
        folder.keep_changes(
            record.agent,
            [
                replace(one, hash=entry.hash) if one.hash in hashes else one
                for one in folder.changes(record.agent)
            ],
        )
