"""Handing the record over: the bundle for an auditor, and proofs that were handed over."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from mentis.codec.forms import from_json
from mentis.disk.atomic import sync_folder, unwritable
from mentis.errors import BadCheckpoint, BadInput, StoreError, UsageError
from mentis.ledger import keeping
from mentis.ledger.bundle import export_bundle
from mentis.ledger.checkpoint import note_signed_by, read_note
from mentis.ledger.signature import decode_key
from mentis.values.checkpoint import GrowthProof, Pin, Proof

from .record import Record
from .sources import Source


@dataclass(frozen=True, slots=True)
class Exported:
    path: Path
    entries: int
    pin: Pin
    command: str  # what the auditor runs


@dataclass(frozen=True, slots=True)
class CheckedProof:
    """Whether the path leads to the root, and why anybody should believe that root.

    `signed` is None where the proof brings no checkpoint, or no key is pinned to check it with;
    `known` is None where whoever checks has named no root. One of them has to say yes.
    """

    kind: Literal["inclusion", "growth"]
    proof: Proof | GrowthProof
    holds: bool
    signed: bool | None
    known: bool | None = None

    @property
    def good(self) -> bool:
        believed = (self.signed, self.known)
        return self.holds and True in believed and False not in believed


def export(record: Record, path: Path) -> Exported:
    """Everything an auditor needs in one file, with a checkpoint of now."""
    pin = record.sealed().pin
    record.checkpoint()
    source = Source(record.agent, record.store, record.segments)
    if source.damage:
        raise StoreError(source.damage[0].message, hint="put the segment back as it was")
    if source.first and any(one.attack == "deleted" for one in record.verify().findings):
        raise UsageError(
            f"entries 0 to {source.first - 1} are neither in the store nor in a segment here",
            hint="put their segments back for the export",
        )
    notes = [note for _, note in record.checkpoints()]
    try:
        with path.open("xb") as file:
            count = _write(file, record.agent, source, pin=pin, notes=notes)
        sync_folder(path.parent)
    except FileExistsError as error:
        raise UsageError(f"{path} is there already", hint="choose another name") from error
    except OSError as error:
        path.unlink(missing_ok=True)
        raise unwritable(path, error) from error
    command = f"python -I verify.py {path.name} --origin {pin.origin} --key {pin.public_key}"
    return Exported(path, count, pin, command)


def _write(file: IO[bytes], agent: str, source: Source, *, pin: Pin, notes: list[str]) -> int:
    gone = source.dropped()
    return export_bundle(file, agent, source.entries(), pin=pin, notes=notes, dropped=gone)


def check_proof(data: bytes, pin: Pin | None, *, root: str | None = None) -> CheckedProof:
    """A proof as `mentis ledger proof --json` prints it; only pin and `root` are believed."""
    try:
        proof: Proof | GrowthProof = from_json(Proof, data)
        kind: Literal["inclusion", "growth"] = "inclusion"
    except BadInput as refusal:
        try:
            proof, kind = from_json(GrowthProof, data), "growth"
        except BadInput:
            raise refusal from None
    try:
        holds = (
            keeping.check_proof(proof) if isinstance(proof, Proof) else keeping.check_growth(proof)
        )
    except ValueError as error:
        raise BadInput(f"the proof holds something that is no hash: {error}") from error
    known = None if root is None else root.lower() == proof.root.lower()
    return CheckedProof(kind, proof, holds, _signed(proof, pin), known)


def _signed(proof: Proof | GrowthProof, pin: Pin | None) -> bool | None:
    if proof.note is None or pin is None:
        return None
    try:
        note = read_note(proof.note)
    except BadCheckpoint:
        return False
    says = note.checkpoint
    fits = (says.origin, says.size, says.root) == (pin.log(proof.agent), proof.size, proof.root)
    return fits and note_signed_by(note, decode_key(pin.public_key))
