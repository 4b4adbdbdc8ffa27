"""Handing the record over: the bundle for an auditor, and proofs that were handed over."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal

from mentis.codec.forms import from_json
from mentis.disk.atomic import sync_folder, unwritable
from mentis.errors import (
    BadCheckpoint,
    BadInput,
    HomeCopy,
    HomeUnwritable,
    StoreError,
    StoreFull,
    StoreLocked,
    UsageError,
)
from mentis.home.identity import RECORDED, persona_of
from mentis.home.parts import Parts
from mentis.home.signing import missing_key, open_pin
from mentis.ledger import keeping
from mentis.ledger.bundle import BundleTexts, export_bundle
from mentis.ledger.checkpoint import note_signed_by, read_note
from mentis.ledger.signature import decode_key
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home
from mentis.values.checkpoint import GrowthProof, Pin, Proof

from .record import Record, open_record
from .source import EntrySource, lock_changes
from .texts import Disclosure

_TRIES = 3


@dataclass(frozen=True, slots=True)
class RecordExport:
    path: Path
    entries: int
    pin: Pin
    command: str  # what the auditor runs


@dataclass(frozen=True, slots=True)
class CheckedProof:
    """Whether the path leads to the root, and why anybody should believe that root.

    `signed` is None where the proof brings no checkpoint, or no key is pinned to check it with;
    `known` is None where whoever checks has named no root. One of them has to say yes. `changed`:
    not the pinned key signed it, but one that signed changes of the key lead to.
    """

    kind: Literal["inclusion", "growth"]
    proof: Proof | GrowthProof
    holds: bool
    signed: bool | None
    known: bool | None = None
    changed: bool = False

    @property
    def good(self) -> bool:
        believed = (self.signed, self.known)
        return self.holds and True in believed and False not in believed


def write_export(record: Record, path: Path, disclosure: Disclosure | None = None) -> RecordExport:
    """Everything an auditor needs in one file, with a checkpoint of now, or the newest one there is
    where nothing can be written or the key is not here; with a `disclosure`, what that adds or
    leaves out.

    It holds what is there at one moment, at which nobody is in the middle of erasing or moving;
    StoreLocked while one is. A segment that somebody writes anew or takes away meanwhile makes it
    begin again.
    """
    pin = record.require_sealing().pin
    with suppress(HomeUnwritable, HomeCopy, StoreFull):
        if missing_key(record.home, record.settings, record.environ) is None:
            record.checkpoint()
        else:
            record.signable_ledger()  # RolledBack, as it would be with the key
    for _ in range(_TRIES):
        with ExitStack() as stack:
            with lock_changes(record.home, record.settings):
                source = stack.enter_context(record.snapshot())
            try:
                count = _exported(record, path, source, disclosure)
            except (StoreError, UsageError):
                if not source.is_overtaken(record.store, record.segments):
                    raise
                continue
        command = f"python -I verify.py {path.name} --origin {pin.origin} --key {pin.public_key}"
        return RecordExport(path, count, pin, command)
    raise _changed(path)


def _exported(
    record: Record, path: Path, source: EntrySource, disclosure: Disclosure | None
) -> int:
    _check_whole(record, source)
    try:
        with _open_new(path) as file, _gone_on_failure(path):
            count = _write(file, record, source, disclosure)
            if source.is_torn():
                raise _changed(path)
        sync_folder(path.parent)
    except FileExistsError as error:
        raise UsageError(f"{path} is there already", hint="choose another name") from error
    except OSError as error:
        raise unwritable(path, error) from error
    return count


def _changed(path: Path) -> StoreLocked:
    return StoreLocked(
        f"{path} was not written: segments were changed while they were read",
        hint="try again once nobody erases from the record or moves its entries",
    )


def _check_whole(record: Record, source: EntrySource) -> None:
    if source.damage:
        raise StoreError(source.damage[0].message, hint="put the segment back as it was")
    if source.first and any(one.attack == "deleted" for one in record.verify().findings):
        raise UsageError(
            f"entries 0 to {source.first - 1} are neither in the store nor in a segment here",
            hint="put their segments back for the export",
        )


def _open_new(path: Path) -> IO[bytes]:
    """For its owner alone, as the database is: all that was said is in it, with the salts."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


@contextmanager
def _gone_on_failure(path: Path) -> Generator[None]:
    """Half a bundle is worse than none."""
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _write(
    file: IO[bytes], record: Record, source: EntrySource, disclosure: Disclosure | None
) -> int:
    entries, gone = source.entries(), source.dropped_hashes()
    texts = disclosure and BundleTexts(disclosure.of, disclosure.texts is not None)
    pin, notes = record.require_sealing().pin, source.notes()
    return export_bundle(
        file, record.agent, entries, pin=pin, notes=notes, dropped=gone, texts=texts
    )


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
    keys = () if pin is None else (decode_key(pin.public_key),)
    return CheckedProof(kind, proof, holds, _signed(proof, pin, keys), known)


def check_proof_at(
    home: Path, data: bytes, environ: Mapping[str, str], *, root: str | None = None
) -> CheckedProof:
    """The same with what a home has pinned, and with the changes of the key in its record."""
    there = (home / "mentis.toml").is_file()
    pin = open_pin(load_settings(home if there else None, environ))
    checked = check_proof(data, pin, root=root)
    place, persona = Home(home), persona_of(checked.proof.agent, "")
    known = (*place.personas(), *((persona,) if persona.startswith(RECORDED) else ()))
    recorded = there and place.database.is_file() and persona in known
    if checked.signed is not False or not recorded:
        return checked
    with open_record(home, persona, Parts(environ=environ), readonly=True) as record:
        signed = record.agent == checked.proof.agent and _signed(
            checked.proof, pin, _keys(record, checked.proof.size)
        )
    return replace(checked, signed=True, changed=True) if signed else checked


def _keys(record: Record, size: int) -> list[bytes]:
    """The keys that might sign a checkpoint of this size."""
    with record.snapshot() as source:
        return keeping.key_ring(record.keeping, source.entries()).may_sign(size)


def _signed(proof: Proof | GrowthProof, pin: Pin | None, keys: Collection[bytes]) -> bool | None:
    if proof.note is None or pin is None:
        return None
    try:
        note = read_note(proof.note)
    except BadCheckpoint:
        return False
    says = note.checkpoint
    fits = (says.origin, says.size, says.root) == (pin.log(proof.agent), proof.size, proof.root)
    return fits and any(note_signed_by(note, key) for key in keys)
