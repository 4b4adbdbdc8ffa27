"""One ledger handed to both verifiers, ours and the auditor's, and ways to bend it on the way.

They share no code, so that one finds what the other overlooks; what they say must be the same.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, cast

from mentis.errors import NotCanonical
from mentis.ledger import auditor, keeping
from mentis.ledger.bundle import export_bundle
from mentis.ledger.chain import commit_field, hash_entry
from mentis.ledger.checkpoint import note_signed_by, read_note, sign_checkpoint, split_notes
from mentis.ledger.merkle import tree_of
from mentis.ledger.origin import import_history
from mentis.ledger.records import read_entry, write_entry
from mentis.ledger.signature import encode_key, sign_statement
from mentis.ledger.standing import newest
from mentis.ledger.verify import Beginning, verify_chain
from mentis.ports.signer import SeededSigner
from mentis.values.checkpoint import Checkpoint, KeptNote, Pin
from mentis.values.entry import Draft, Entry

from .conftest import ORIGIN, Ledger
from .test_keeping import OTHER, erase, let_go, rotate
from .test_origin import encoded, history

Row = dict[str, Any]
AGENT = "ada"
FIRST = SeededSigner()
KEYS = {encode_key(signer.public): signer for signer in (FIRST, OTHER)}


@dataclass(frozen=True)
class Handed:
    """The lines of the entries, the checkpoints as one text, and the hashes of what was let go."""

    lines: tuple[bytes, ...]
    notes: str
    pin: Pin
    dropped: tuple[str, ...] = ()
    outside: str = ""

    @property
    def rows(self) -> list[Row]:
        return [json.loads(line) for line in self.lines]

    def with_rows(self, rows: Sequence[Row]) -> Handed:
        return replace(self, lines=tuple(json.dumps(row).encode() + b"\n" for row in rows))


def ours(handed: Handed) -> list[str]:
    """What our own verification finds."""
    notes = [KeptNote(note, "here", outside=False) for note in split_notes(handed.notes)]
    notes += [KeptNote(note, "there", outside=True) for note in split_notes(handed.outside)]
    dropped = len(handed.dropped)
    read = (read_entry(line, number=n) for n, line in enumerate(handed.lines, dropped))
    beginning = Beginning(handed.dropped, dropped)
    verdict = verify_chain(AGENT, read, pin=handed.pin, notes=notes, beginning=beginning)
    return [f"{one.index}, {one.column}: {one.message}" for one in verdict.findings]


def theirs(handed: Handed, kept: str) -> list[str]:
    """What the auditor finds in the bundle; `kept` is a file for checkpoints from outside."""
    with open(kept, "w", encoding="utf-8") as file:  # noqa: PTH123 - as the auditor does
        file.write(handed.outside)
    files = [kept] if handed.outside else []
    key, bundle = handed.pin.public_key, bundled(handed)
    try:
        told = auditor.audit(bundle, key=key, origin=handed.pin.origin, checkpoints=files)
    except auditor.Unreadable as error:
        return [str(error)]
    return [f"{one['index']}, {one['column']}: {one['message']}" for one in told["findings"]]


def bundled(handed: Handed) -> io.BytesIO:
    """A bundle with exactly these lines."""
    plain, made = io.BytesIO(), io.BytesIO()
    export_bundle(plain, AGENT, [], pin=handed.pin, notes=[], dropped=handed.dropped)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(made, "w") as target:
        about = json.loads(source.read("ledger.json")) | {"entries": len(handed.lines)}
        changed = {
            "entries.jsonl": b"".join(handed.lines),
            "checkpoints.txt": handed.notes.encode(errors="surrogatepass"),
            "ledger.json": json.dumps(about).encode(),
        }
        for name in source.namelist():
            if name == "report.html":  # it would hold other lines
                continue
            target.writestr(name, changed.get(name) or source.read(name))
    return made


def everything() -> Handed:
    """An import, an erasure, a new key, a rotation, a rollback; the whole chain is here."""
    ledger = Ledger()
    ledger.fill(3)
    ledger.add(*import_history(encoded(history(3))).drafts)
    ledger.add(Draft("note", "test", {"numbers": [1e-07, 1e30, 0.5, 12], "\U0001f600": "\ufb33"}))
    erase(ledger, 1, "text")
    ledger.rotate(4)
    keeping.change_key(ledger.keeping, ledger.signer, OTHER, ledger.stamp)
    changed = replace(ledger, signer=OTHER)
    ledger.fill(2)
    lost = newest([ledger.note(2)], changed.keeping.log)
    assert lost is not None
    given_up = keeping.give_up(changed.keeping, [replace(lost, size=99)])
    keeping.accept_rollback(changed.keeping, given_up, reason="x", signer=OTHER, stamp=ledger.stamp)
    keeping.checkpoint(changed.keeping, OTHER)
    return _handed(changed, ledger.entries, changed.note(5))


def let_go_of() -> Handed:
    """The beginning is gone by policy, with an entry whose tombstone stayed, and a change of key.

    Checkpoints by the key before that change are still there: nobody can say whose they are.
    """
    ledger = Ledger()
    ledger.fill(4)
    keeping.checkpoint(ledger.keeping, ledger.signer)
    keeping.change_key(ledger.keeping, ledger.signer, OTHER, ledger.stamp)
    changed = replace(ledger, signer=OTHER)
    ledger.fill(2)
    erase(changed, 1, "text")
    hashes = tuple(entry.hash for entry in ledger.entries[:6])
    let_go(changed, rotate(changed, 6))
    ledger.fill(1)
    keeping.checkpoint(changed.keeping, OTHER)
    rest = ledger.entries
    says = Checkpoint(
        changed.keeping.log, 8, tree_of([*hashes, *(e.hash for e in rest[:2])]).root.hex()
    )
    return replace(_handed(changed, rest, sign_checkpoint(says, OTHER)), dropped=hashes)


def _handed(ledger: Ledger, entries: Sequence[Entry], outside: str) -> Handed:
    notes = "\n".join(note for _, note in ledger.store.checkpoints(AGENT))
    return Handed(tuple(map(write_entry, entries)), notes, ledger.pin, outside=outside)


# What an owner could do who holds the keys: make everything after a change fit again.


def mended(handed: Handed, bent: int, rows: list[Row]) -> Handed:
    """Every commitment, link, hash and signature made anew, from row `bent` on.

    What the other rows say about others is put right, too: only `bent` stays as it was bent.
    """
    rows = deepcopy(rows)
    hashes = [*handed.dropped, *(row.get("hash") for row in rows[:bent])]
    for place in range(bent, len(rows)):
        # Bent beyond what can be mended, it stays as it is.
        with suppress(TypeError, KeyError, AttributeError, ValueError, NotCanonical):
            _mend(rows[place], hashes, told=place != bent)
        hashes.append(rows[place].get("hash"))
    there = [str(entry_hash) for entry_hash in hashes if _is_hash(entry_hash)]
    if len(there) != len(hashes):
        return handed.with_rows(rows)
    notes = [_signed_anew(note, there) for note in split_notes(handed.notes)]
    outside = [_signed_anew(note, there) for note in split_notes(handed.outside)]
    return replace(handed.with_rows(rows), notes="\n".join(notes), outside="\n".join(outside))


def _mend(row: Row, hashes: list[Any], *, told: bool) -> None:
    signed = row["body"].get("signed")
    if told:
        row["prev"] = hashes[-1] if hashes else None
    if isinstance(signed, dict) and "statement" in signed:
        signing = cast("Row", signed)
        if told:
            _put_right(signing["statement"], row, hashes)
        signers = [KEYS[key] for key in signing["signatures"] if key in KEYS]
        row["body"]["signed"] = sign_statement(signing["statement"], *signers)
    for name, value in row["body"].items():
        row["fields"][name] = commit_field(name, value, bytes.fromhex(row["salts"][name]))
    row["hash"] = hash_entry(Entry(**row))


def _put_right(statement: Row, row: Row, hashes: list[Any]) -> None:
    if "after" in statement:
        statement["after"] = row["prev"]
    if statement["what"] == "erasure":
        statement["hash"] = hashes[statement["index"]]
    for cut in [statement, *statement.get("segments", ())]:
        if "root" in cut:
            cut["root"] = tree_of(hashes[: cut["last"] + 1]).root.hex()


def _signed_anew(note: str, hashes: list[str]) -> str:
    read = read_note(note)
    says, signer = read.checkpoint, FIRST if note_signed_by(read, FIRST.public) else OTHER
    root = tree_of(hashes[: says.size]).root.hex()
    return sign_checkpoint(Checkpoint(f"{ORIGIN}/{AGENT}", says.size, root), signer)


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


# Places inside a row, and what to do there


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value but the whole."""
    members: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        members = list(cast("Row", value).items())
    elif isinstance(value, list):
        members = list(enumerate(cast("list[Any]", value)))
    for key, part in members:
        yield (*path, key)
        yield from places(part, (*path, key))


def bend(row: Row, path: tuple[Any, ...], value: object) -> Row:
    """The row with another value at this place; `...` takes it away."""
    changed = deepcopy(row)
    box: Any = changed
    for key in path[:-1]:
        box = box[key]
    if value is ...:
        del box[path[-1]]
    else:
        box[path[-1]] = value
    return changed
