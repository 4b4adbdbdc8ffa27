"""Checkpoints, proofs, repairs and what else is done to a record as JSON, for every surface."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mentis.codec.forms import to_object
from mentis.home.signing import SignedCheckpoint
from mentis.values.entry import Entry

from .erasure_turns import ErasedTurns, what_remains
from .export import CheckedProof
from .keys import list_anchors
from .record import Record, Repair, fields_to_erase
from .rotation import Expiry, Rotation


def checkpoint_data(made: SignedCheckpoint) -> dict[str, object]:
    told = {"note": made.note, "size": made.standing.size}
    sent = list(made.told)
    return {**told, "anchors": sent, "told": sent, "faults": list(made.faults)}


def checkpoints_data(record: Record) -> dict[str, object]:
    record.require_sealing()
    rows = [{"size": size, "note": note} for size, note in record.checkpoints()]
    return {"agent": record.agent, "checkpoints": rows}


def anchors_data(record: Record) -> dict[str, object]:
    states = list_anchors(record)
    rows = [{"name": one.name, "size": one.size, "fault": one.fault} for one in states]
    return {"entries": record.store.count(record.agent), "anchors": rows}


def checked_proof_data(checked: CheckedProof) -> dict[str, object]:
    names = ("kind", "holds", "signed", "changed", "known", "good")
    return {**{name: getattr(checked, name) for name in names}, "proof": to_object(checked.proof)}


def repair_data(done: Repair) -> dict[str, object]:
    return {
        "entry": done.entry and done.entry.index,
        "database": list(done.database),
        "taken": list(done.taken),
        "refusal": done.refusal,
        "verdict": to_object(done.verdict),
    }


def rotation_data(done: Rotation) -> dict[str, object]:
    told = {"file": str(done.path), "first": done.first, "last": done.last}
    return {**told, "dropped": done.dropped}


def expiry_data(done: Expiry) -> dict[str, object]:
    return {
        "deleted": [str(path) for path in done.files],
        "entry": done.entry and done.entry.index,
    }


@dataclass(frozen=True, slots=True)
class Erasure:
    """What went of an entry, what stays, where it may still be, and the entry that says so."""

    index: int
    fields: tuple[str, ...]
    left: tuple[str, ...]
    said: ErasedTurns | None
    remains: tuple[str, ...]
    tombstone: Entry


def erase_entry(record: Record, entry: Entry, fields: Collection[str], *, reason: str) -> Erasure:
    """Erase it, and look at what is left."""
    named = fields_to_erase(entry, fields)
    said = record.turns_to_empty(entry, named)
    tombstone = record.erase(entry.index, fields, reason=reason)
    left = tuple(sorted(name for name in entry.body if name not in named))
    remains = (*record.remains(), *what_remains(entry, said))
    return Erasure(entry.index, tuple(named), left, said, remains, tombstone)


def erasure_data(done: Erasure) -> dict[str, object]:
    told: dict[str, object] = {
        "index": done.index,
        "fields": list(done.fields),
        "remains": list(done.remains),
        "left": list(done.left),
    }
    if done.said:
        told["emptied"] = {"session": done.said.session, "turns": list(done.said.numbers)}
    return {**told, "tombstone": {"index": done.tombstone.index, "hash": done.tombstone.hash}}
