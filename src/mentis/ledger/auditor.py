#!/usr/bin/env python3
"""Verifies an exported ledger. Needs Python 3.11 and the package `cryptography`, nothing else.

    python verify.py LEDGER.zip [--key BASE64] [--origin NAME] [--checkpoint FILE ...]

It shares no code with the program that wrote the bundle. Give the public key and the origin as you
know them from elsewhere, and any checkpoint that somebody else kept: what the bundle says about
itself, whoever made it could have made up.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

Found = tuple[int, str, str]
_Note = tuple[str, int, bytes, bytes, list[tuple[str, bytes]]]
_GivenUp = dict[tuple[int, bytes], int]
_KINDS = ("erasure", "key", "rollback", "rotation", "retention")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Verify an exported ledger.")
    parser.add_argument("bundle")
    parser.add_argument("--key", help="the log's public key, base64, as you know it")
    parser.add_argument("--origin", help="the name of the log, as you know it")
    parser.add_argument("--checkpoint", action="append", default=[], metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    asked = parser.parse_args(arguments)
    try:
        told = audit(asked.bundle, key=asked.key, origin=asked.origin, checkpoints=asked.checkpoint)
    except WrongArgument as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        sys.stderr.write(f"error: {asked.bundle} cannot be read as a ledger: {error!r}\n")
        return 1
    sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n" if asked.json else _told(told))
    return 1 if told["findings"] else 0


def audit(
    bundle: str, *, key: str | None, origin: str | None, checkpoints: Iterable[str]
) -> dict[str, Any]:
    """The verdict on one bundle."""
    pinned = None if key is None else _given_key(key)
    given = [(path, note, True) for path in checkpoints for note in _given_notes(path)]
    with zipfile.ZipFile(bundle) as archive:
        about = json.loads(archive.read("ledger.json"))
        inner = split_notes(archive.read("checkpoints.txt").decode())
        notes = [("in the bundle", note, False) for note in inner]
        audit_of = _Audit(about["agent"], origin or about["origin"], notes + given)
        if "dropped.txt" in archive.namelist():
            audit_of.skip(archive.read("dropped.txt").decode().split())
        with archive.open("entries.jsonl") as lines:
            for line in lines:
                audit_of.take(json.loads(line, object_pairs_hook=_members))
    told = audit_of.finish(pinned or _unbase64(about["public_key"]))
    if key is None or origin is None:
        told["notes"].append(
            "the log's name or key was taken from the bundle itself; give --key and --origin"
        )
    return told


class WrongArgument(Exception):
    """What was given besides the bundle cannot be used."""


def _given_key(key: str) -> bytes:
    try:
        raw = _unbase64(key)
    except ValueError as error:
        raise WrongArgument(f"--key: {error}") from error
    if len(raw) != 32:
        raise WrongArgument(f"--key: {key!r} has {len(raw)} bytes; an Ed25519 public key has 32")
    return raw


def _given_notes(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - one file, no more imports
            notes = split_notes(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise WrongArgument(f"--checkpoint {path}: it cannot be read: {error}") from error
    if not notes:
        raise WrongArgument(f"--checkpoint {path}: it holds no checkpoint")
    return notes


class _Audit:
    def __init__(self, agent: str, origin: str, notes: list[tuple[str, str, bool]]) -> None:
        self.agent, self.origin = agent, f"{origin}/{agent}"
        self.findings: list[Found] = []
        self.size, self.head, self.time = 0, None, ""
        self.peaks: list[bytes] = []
        self.given = any(outside for _, _, outside in notes)
        self.uncounted: list[str] = []
        self.notes = [(place, *read, outside) for place, read, outside in self.read(notes)]
        self.wanted = {size for _, _, size, _, _, _, _ in self.notes}
        self.roots: dict[int, bytes] = {}
        self.gone: dict[int, tuple[str, set[str]]] = {}  # what no tombstone explains yet
        self.erased: dict[int, set[str]] = {}
        self.signed: list[_Signed] = []
        self.dropped = 0
        self.let_go: list[tuple[int, int, bytes]] = []  # first, end, root
        self.deliveries: set[str | None] = set()
        self.import_head: str | None = None

    def read(self, notes: list[tuple[str, str, bool]]) -> Iterator[tuple[str, _Note, bool]]:
        for place, note, outside in notes:
            try:
                yield place, _read_note(note), outside
            except ValueError:
                self.find(0, "checkpoint", f"{place}: this is not a checkpoint")
                self.uncount(place, outside, "it cannot be read")

    def uncount(self, name: str, outside: bool, reason: str) -> None:
        if outside:
            self.uncounted.append(f"{name}: {reason}")

    def take(self, entry: dict[str, Any]) -> None:
        index = entry["index"]
        if index != self.size:
            self.find(self.size, "index", f"expected entry {self.size}, got entry {index}")
        if entry["agent"] != self.agent:
            self.find(index, "agent", f"expected {self.agent!r}, got {entry['agent']!r}")
        if entry["prev"] != self.head:
            self.find(index, "prev", f"expected {self.head}, got {entry['prev']}")
        if entry["time"] < self.time:
            self.find(index, "time", "earlier than the entry before")
        self.check_inside(entry)
        self.head, self.time = entry["hash"], entry["time"]
        self.grow(bytes.fromhex(entry["hash"]))

    def skip(self, hashes: list[str]) -> None:
        """Entries at the beginning that were let go: their hashes are left."""
        for entry_hash in hashes:
            self.head = entry_hash
            self.grow(bytes.fromhex(entry_hash))
        self.dropped = self.size
        self.roots[self.size] = self.root()

    def find(self, index: int, column: str, message: str) -> None:
        self.findings.append((index, column, message))

    def check_inside(self, entry: dict[str, Any]) -> None:
        index, before = entry["index"], len(self.findings)
        if entry["recipe"] != "mentis-1":
            self.find(index, "recipe", f"unknown recipe {entry['recipe']!r}")
            return
        names = ("agent", "index", "time", "source", "kind", "ruleset", "prev", "fields")
        header = {"v": entry["recipe"], **{name: entry[name] for name in names}}
        derived = _sha256(b"mentis-1/entry\0" + jcs(header)).hex()
        if derived != entry["hash"]:
            self.find(index, "hash", f"expected {derived}, got {entry['hash']}")
        for name in sorted({*entry["fields"], *entry["body"], *entry["salts"]}):
            self.check_field(entry, name)
        if entry["delivery"] != entry["body"].get("delivery"):
            self.find(index, "delivery", "it is not what the entry commits to")
        if entry["delivery"] is not None and entry["delivery"] in self.deliveries:
            self.find(index, "delivery", "this delivery is an entry already")
        self.deliveries.add(entry["delivery"])
        if entry["kind"] in _KINDS:
            sound = len(self.findings) == before
            told = entry["body"].get("signed")
            self.signed.append(_Signed(entry["kind"], index, told, entry["prev"], sound))
        if entry["kind"] == "import":
            self.check_import(entry)

    def check_field(self, entry: dict[str, Any], name: str) -> None:
        index, committed = entry["index"], entry["fields"].get(name)
        if committed is not None and name not in entry["body"] and name not in entry["salts"]:
            self.gone.setdefault(index, (entry["hash"], set()))[1].add(name)
            self.erased.setdefault(index, set()).add(name)
            return
        if committed is None or name not in entry["body"] or name not in entry["salts"]:
            self.find(
                index, "body", f"field {name!r}: value, salt and commitment do not go together"
            )
            return
        salt = bytes.fromhex(entry["salts"][name])
        if (
            _sha256(b"mentis-1/field\0" + salt + jcs([name, entry["body"][name]])).hex()
            != committed
        ):
            self.find(index, "body", f"field {name!r} is not what the entry commits to")

    def check_import(self, entry: dict[str, Any]) -> None:
        link, original = entry["body"].get("link"), entry["body"].get("original")
        if link is None:
            self.import_head = None
            return
        before = self.import_head
        if before is not None and not link["begins"] and link["prev"] != before:
            self.find(entry["index"], "original", "the imported chain breaks here")
        self.import_head = link["hash"]
        if original is not None:
            text = f"{original['text']}|{link['timestamp']}|{original['salt']}"
            prev = json.loads(original["text"]).get("prev_window_hash")
            if _sha256(text.encode()).hex() != link["hash"] or prev != link["prev"]:
                self.find(entry["index"], "original", "the imported entry does not have its hash")

    def grow(self, entry_hash: bytes) -> None:
        node, size = _sha256(b"\0" + entry_hash), self.size
        while size & 1:
            node, size = _sha256(b"\1" + self.peaks.pop() + node), size >> 1
        self.peaks.append(node)
        self.size += 1
        if self.size in self.wanted:
            self.roots[self.size] = self.root()

    def root(self) -> bytes:
        if not self.peaks:
            return _sha256(b"")
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = _sha256(b"\1" + peak + root)
        return root

    def finish(self, pinned: bytes) -> dict[str, Any]:
        keys = self.keys(pinned)
        erased, remarks, given_up = self.statements(keys)
        vouched = self.checkpoints(keys, given_up)
        self.missing()
        if self.dropped:
            remarks.append(f"entries 0 to {self.dropped - 1} are not here: only their hashes are")
        for index, (_, fields) in self.gone.items():
            for name in sorted(fields):
                self.find(index, "body", f"field {name!r} is gone and no tombstone says so")
        return {
            "agent": self.agent,
            "log": self.origin,
            "entries": self.size,
            "head": self.head,
            "root": self.root().hex(),
            "intact": not self.findings,
            "vouched": vouched,
            "given": self.given,
            "uncounted": self.uncounted,
            "erased": erased,
            "notes": remarks,
            "findings": [
                {"index": index, "column": column, "message": message}
                for index, column, message in sorted(self.findings, key=_order)
            ],
        }

    def keys(self, pinned: bytes) -> _Keys:
        """Which key counts where: changes are signed by the key before and the new one.

        Each names the entry it comes after, and counts nowhere else. One that a rollback took
        away counts where the statement of that, signed by the newest of them, carries it.
        """
        changes = list(self.changes())
        if not changes:
            return _Keys([], [pinned], {0}, set())
        keys, sound = [_public(changes[0][1], "old")], list[bool]()
        for index, told, bound, _ in changes:
            new = _public(told, "new")
            both = _signed(told, keys[-1]) and _signed(told, new)
            sound.append(bound and both and _public(told, "old") == keys[-1])
            keys.append(new)
            if not sound[-1]:
                reason = "is not signed by both keys, or was made for another place"
                self.find(index, "body", f"the change of the key {reason}")
        trusted: set[int] = set()
        if pinned in keys:
            low = high = keys.index(pinned)
            while high < len(sound) and sound[high]:
                high += 1
            while low and sound[low - 1]:
                low -= 1
            trusted = set(range(low, high + 1))
        carried = {index for index, _, _, carried in changes if carried}
        return _Keys([index for index, *_ in changes], keys, trusted, carried)

    def changes(self) -> Iterator[tuple[int, Any, bool, bool]]:
        """Index, signed statement, whether it is bound to this place, whether it was carried."""
        for one in self.signed:
            says = _statement(one.told)
            here = self.is_of(one.told, one.kind) and says.get("after") == one.prev
            if one.sound and one.kind == "key":
                yield one.index, one.told, here, False
            elif one.sound and one.kind == "rollback" and says.get("keys"):
                here = here and _signed(one.told, _public(says["keys"][-1], "new"))
                for change in says["keys"]:
                    yield one.index, change, here and self.is_of(change, "key"), True

    def is_of(self, told: Any, what: str) -> bool:  # noqa: ANN401 - JSON
        says = _statement(told)
        return says.get("what") == what and says.get("agent") == self.agent

    def statements(self, keys: _Keys) -> tuple[list[dict[str, Any]], list[str], _GivenUp]:
        erased: list[dict[str, Any]] = []
        remarks: list[str] = []
        given_up: _GivenUp = {}
        for one in self.signed:
            key, says = keys.in_force(one.index), _statement(one.told)
            if one.kind == "key":
                continue
            if key is None or not _signed(one.told, key) or not self.is_of(one.told, one.kind):
                reason = "is not signed by the key of this log"
                self.find(one.index, "body", f"the {one.kind} {reason}")
            elif one.kind == "erasure":
                self.explain(one.index, says)
                erased.append({name: says[name] for name in ("index", "fields", "reason")})
            elif one.kind == "rollback" and says["after"] != one.prev:
                self.find(one.index, "body", "the rollback was accepted at another place")
            elif one.kind in ("rotation", "retention"):
                self.cut(one.index, one.kind, says)
            elif one.kind == "rollback":
                lost = {(lost["size"], bytes.fromhex(lost["root"])) for lost in says["lost"]}
                given_up |= dict.fromkeys(lost, one.index)
                sizes = ", ".join(str(size) for size, _ in sorted(lost))
                remarks.append(
                    f"entry {one.index}: a rollback was accepted, which gives up the checkpoints"
                    f" of size {sizes} ({says['reason']})"
                )
        return erased, remarks, given_up

    def cut(self, index: int, kind: str, says: dict[str, Any]) -> None:
        """Entries were moved into a segment, or let go for good: the root must be ours."""
        for told in [says] if kind == "rotation" else says["segments"]:
            first, end, root = told["first"], told["last"] + 1, bytes.fromhex(told["root"])
            if not 0 <= first < end <= index:
                self.find(index, "body", f"the {kind} names no entries before it")
            elif self.roots.get(end, root) != root:
                self.find(first, "hash", f"other entries were there at the {kind} in entry {index}")
            elif kind == "retention":
                self.let_go.append((first, end, root))

    def missing(self) -> None:
        """What is not here must have been let go, as a signed entry says."""
        reach = 0
        for first, end, _ in sorted(self.let_go):
            reach = max(reach, end) if first <= reach else reach
        ends = {(end, root) for _, end, root in self.let_go}
        known = reach >= self.dropped and (self.dropped, self.roots.get(self.dropped)) in ends
        if self.dropped and not known:
            last = self.dropped - 1
            self.find(
                0, "index", f"entries 0 to {last} are missing and no signed retention says so"
            )

    def explain(self, tombstone: int, says: dict[str, Any]) -> None:
        """A tombstone says which fields are gone; then they must be gone."""
        index, named = says["index"], set(says["fields"])
        entry_hash, fields = self.gone.get(index, ("", set()))
        if entry_hash == says["hash"]:
            fields.difference_update(named)
        for name in sorted(named - self.erased.get(index, set())):
            message = f"field {name!r} is here, and entry {tombstone} says it was erased"
            self.find(index, "body", message)

    def checkpoints(self, keys: _Keys, given_up: _GivenUp) -> int:
        vouched = 0
        for place, origin, size, root, text, signatures, outside in self.notes:
            signed = [key for key in keys.known if _note_signed(origin, text, signatures, key)]
            seen = _sha256(b"") if size == 0 else self.roots.get(size)
            # A change of the key may have gone with what is given up: any of the keys will do.
            lost = bool(signed) and (size, root) in given_up
            if origin != self.origin:
                reason = "it is of another log"
                self.find(0, "checkpoint", f"{place}: of {origin!r}, not of {self.origin!r}")
            elif not lost and not set(signed) & set(keys.may_sign(size)):
                reason = "the key of this log did not sign it"
                self.find(0, "checkpoint", f"{place}: size {size} is not signed by this log's key")
            elif seen == root:
                vouched = max(vouched, size if outside else 0)
                continue
            elif lost:
                reason = f"the rollback in entry {given_up[size, root]} gives it up"
            elif size > self.size:
                reason = "it has seen entries that are not here"
                self.find(self.size, "checkpoint", f"{place}: {size} entries were there")
            else:
                reason = "it has seen other entries"
                self.find(0, "checkpoint", f"{place}: other entries were there at size {size}")
            self.uncount(f"{place}, size {size}", outside, reason)
        return vouched


@dataclass(frozen=True)
class _Signed:
    kind: str
    index: int
    told: Any
    prev: str | None
    sound: bool  # the entry derives to its hash


@dataclass(frozen=True)
class _Keys:
    indexes: list[int]
    keys: list[bytes]
    trusted: set[int]
    carried: set[int]

    @property
    def known(self) -> list[bytes]:
        return [self.keys[place] for place in sorted(self.trusted)]

    def in_force(self, index: int) -> bytes | None:
        place = self.place(index + (index in self.carried))
        return self.keys[place] if place in self.trusted else None

    def may_sign(self, size: int) -> list[bytes]:
        """A later key may vouch for an earlier size, never the other way round."""
        return [self.keys[place] for place in self.trusted if place >= self.place(size)]

    def place(self, size: int) -> int:
        return sum(index < size for index in self.indexes)


def _order(found: Found) -> tuple[bool, int]:
    """By entry; a checkpoint as a whole has no place among them and comes last."""
    index, column, _ = found
    return (index, column) == (0, "checkpoint"), index


def split_notes(text: str) -> list[str]:
    notes: list[list[str]] = []
    below = True
    for line in text.splitlines():
        if below and not line.startswith("— "):
            if not line:
                continue
            notes.append([])
        below = line.startswith("— ")
        notes[-1].append(line)
    return ["\n".join(note) + "\n" for note in notes]


def _read_note(note: str) -> _Note:
    text, _, below = note.rpartition("\n\n")
    origin, size, root = text.split("\n")[:3]
    if str(int(size)) != size or int(size) < 0 or len(_unbase64(root)) != 32:
        raise ValueError("size or root is not what it should be")
    lines = (line.split(" ") for line in below.splitlines())
    signatures = [(name, _unbase64(raw)) for dash, name, raw in lines if dash == "—"]
    return origin, int(size), _unbase64(root), f"{text}\n".encode(), signatures


def _note_signed(origin: str, text: bytes, signatures: list[tuple[str, bytes]], key: bytes) -> bool:
    key_id = _sha256(origin.encode() + b"\n\x01" + key)[:4]
    ours = (raw[4:] for name, raw in signatures if name == origin and raw[:4] == key_id)
    return any(_verify(key, text, signature) for signature in ours)


def _statement(told: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    says = cast("dict[str, Any]", told).get("statement") if isinstance(told, dict) else None
    return cast("dict[str, Any]", says) if isinstance(says, dict) else {}


def _public(told: Any, name: str) -> bytes:  # noqa: ANN401 - JSON
    try:
        return _unbase64(str(_statement(told).get(name)))
    except ValueError:
        return b""


def _signed(told: Any, key: bytes) -> bool:  # noqa: ANN401 - JSON
    says = _statement(told)
    signatures = told.get("signatures") if says else None
    if not isinstance(signatures, dict):
        return False
    named = cast("dict[str, Any]", signatures).get(base64.b64encode(key).decode())
    try:
        signature = _unbase64(str(named))
    except ValueError:
        return False
    return _verify(key, b"mentis-1/statement\0" + jcs(says), signature)


def _verify(key: bytes, message: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def jcs(value: Any) -> bytes:  # noqa: ANN401 - any JSON
    """RFC 8785."""
    return _join(value).encode()


def _jcs(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        keys = sorted(members, key=lambda key: key.encode("utf-16-be"))
        yield f"{{{','.join(f'{_text(key)}:{_join(members[key])}' for key in keys)}}}"
    elif isinstance(value, list):
        yield f"[{','.join(map(_join, cast('list[Any]', value)))}]"
    elif isinstance(value, float):
        yield number(value)
    else:
        yield _text(value)


def _join(value: Any) -> str:  # noqa: ANN401 - any JSON
    return "".join(_jcs(value))


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON
    return json.dumps(value, ensure_ascii=False)


def number(value: float) -> str:
    """A number as ECMAScript writes it; Python finds the same digits and places them otherwise."""
    if value == 0:
        return "0"
    sign, text = ("-", repr(-value)) if value < 0 else ("", repr(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        padded = digits.ljust(point, "0")
        rest = padded[point:]
        return f"{sign}{padded[:point]}{'.' + rest if rest else ''}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands there twice")
    return members


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text[:40]!r} is not base64") from error


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _told(told: dict[str, Any]) -> str:
    word = "ok" if told["intact"] else "BROKEN"
    lines = [f"{word}  {told['log']}: {told['entries']} entries, head {told['head']}"]
    shown = told["findings"][:20]
    lines += [f"  entry {found['index']}, {found['column']}: {found['message']}" for found in shown]
    if len(told["findings"]) > 20:
        lines.append(f"  and {len(told['findings']) - 20} more")
    for gone in told["erased"]:
        names = ", ".join(gone["fields"])
        lines.append(f"  entry {gone['index']}: erased {names} ({gone['reason']})")
    lines += [f"note: {note}" for note in told["notes"]]
    if told["vouched"]:
        after = told["entries"] - told["vouched"]
        rest = f"; whether any of the {after} after them is missing, nobody can say"
        lines.append(
            f"complete: a checkpoint from outside has seen {told['vouched']} entries"
            + (rest if after else "")
        )
    else:
        why = "without a checkpoint from outside (--checkpoint)"
        if told["given"]:
            reasons = "; ".join(told["uncounted"][:3]) or "only of the empty ledger"
            why = f"no checkpoint from outside counts here ({reasons})"
        lines.append(
            f"not known: {why}: entries removed from the end, or a history rewritten by whoever"
            " holds the key, cannot be seen"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
