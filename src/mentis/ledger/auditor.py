#!/usr/bin/env python3
"""Verifies an exported ledger. Needs Python 3.11 and the package `cryptography`, nothing else.

    python verify.py LEDGER.zip --key BASE64 --origin NAME [--checkpoint FILE] [--witness KEY]
    python verify.py report.html --key BASE64 --origin NAME   # the page out of it holds the same

It shares no code with the program that wrote the bundle. Give the public key and the origin as you
know them from elsewhere, any checkpoint that somebody else kept, and the keys of witnesses: what
the bundle says about itself, whoever made it could have made up. Without key and origin it is never
called `ok`.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import io
import json
import math
import re
import struct
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from typing import IO, Any, cast

Found = tuple[int, str, str]
_Note = tuple[str, int, bytes, bytes, list[tuple[str, bytes]]]
_Placed = tuple[str, str, int, bytes, bytes, list[tuple[str, bytes]], bool]  # with where it is from
_GivenUp = dict[tuple[int, str], int]
_KINDS = ("erasure", "key", "rollback", "rotation", "retention")

_FORMAT = "mentis-bundle-1"
_NEEDED = ("entries.jsonl", "checkpoints.txt", "ledger.json")
_DATA = (*_NEEDED, "dropped.txt", "texts.jsonl")  # what report.html holds as well
_MEMBERS = (*_DATA, "verify.py", "README.txt", "report.html")
# SHA-256 of the script and the style that this version puts into report.html.
_SCRIPT = "19d9bb08cdc4bf1a79281741af328fa14e40911f10bd745e01e5da5f6d4b1845"
_STYLE = "852ba4c66cadf1aafadd5532e06e2be98a3064be5d6530d6a24d095a9951503d"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_ABOUT, _MOST_NOTES = 64 * 1024, 64 * 1024 * 1024
_MOST_LINE, _MOST_NOTE = 8 * 1024 * 1024, 16 * 1024
_MOST_CANONICAL, _MOST_DEPTH, _MOST_INTEGER = 1024 * 1024, 64, 2**53 - 1
_MOST_FINDINGS, _MOST_MESSAGE = 1000, 1000
_MOST_PAGE = 2 * 1024 * 1024 * 1024
_MOST_KEPT, _OVERHEAD = 256 * 1024 * 1024, 512  # of what is remembered, in all and each

_TEXTS = ("agent", "time", "source", "kind", "hash", "recipe")
_OPTIONAL = ("ruleset", "prev", "delivery")
_OBJECTS = ("fields", "body", "salts")
_COLUMNS = frozenset({"index", *_TEXTS, *_OPTIONAL, *_OBJECTS})
_ABOUT = frozenset({"format", "agent", "entries", "origin", "public_key", "verifier_key"})
_TEXT = frozenset({"entry", "place", "digest", "text", "base64", "left_out"})
_BODIES, _STEP = ("request", "answer", "original"), ("acts", "payload", "reply", "request")
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,256}")
_HASH, _SALT = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}")
_SIZE, _SIGNATURE = re.compile(r"0|[1-9][0-9]{0,15}"), re.compile(r"— (\S+) (\S+)")
_HEADING, _END = struct.Struct("<4s3HI3I2H"), struct.Struct("<4s4H2IH")
_BLOCK = re.compile(rb'<script type="text/plain" id="([a-z.]+)">\n(.*?)</script>', re.DOTALL)
# A page as it is written: nothing in it keeps its script from being run, or does its work.
_PAGE = re.compile(
    rb'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv='
    rb"\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-(\S+)';"
    rb" style-src 'sha256-(\S+)'; base-uri 'none'; form-action 'none'\">"
    rb'<meta name="viewport" content="width=device-width, initial-scale=1">'
    rb'<meta name="color-scheme" content="light dark"><title>[^<]*</title><style>([^<]*)</style>'
    rb'</head><body><div id="check" role="status" class="unchecked"><p><b>Nothing was checked here'
    rb"[.]</b> What you read is what this file says of itself[.] With scripts on, the page checks"
    rb" itself as soon as it is opened; the verifier at its end checks it without a browser[.]</p>"
    rb'</div><main>(.*?)</main>(?:<script type="text/plain" id="[a-z.]+">\n[^<]*</script>)+'
    rb"<script>(.*)</script></body></html>",
    re.DOTALL,
)
_MARK = re.compile(
    rb"</?(?:a|b|blockquote|code|d[dlt]|div|h[1-3]|header|li|p|section|span|table|tbody|td|th|thead|tr"
    rb"|ul)"
    rb'(?: [a-z-]+="[^"<>]*")*>|[^<>]+'
)
_PERCENT = re.compile(rb"%(25|3C|0D|00)|%|<|\r|\0")
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Verify an exported ledger.")
    parser.add_argument("bundle", help="the exported ledger, a zip")
    parser.add_argument("--key", help="the log's public key, base64, as you know it")
    parser.add_argument("--origin", help="the name of the log, as you know it")
    kept = "checkpoints that somebody else has kept; may be given several times"
    parser.add_argument("--checkpoint", action="append", default=[], metavar="FILE", help=kept)
    seen = "the key of a witness, NAME+ID+KEY, as you know it; may be given several times"
    parser.add_argument("--witness", action="append", default=[], metavar="KEY", help=seen)
    many = "how many of these witnesses must have seen the ledger; by default all"
    parser.add_argument("--quorum", type=int, metavar="NUMBER", help=many)
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    asked = parser.parse_args(arguments)
    try:
        told = audit(
            asked.bundle,
            key=asked.key,
            origin=asked.origin,
            checkpoints=asked.checkpoint,
            quorum=_given_quorum(asked.witness, asked.quorum),
        )
    except KeyboardInterrupt:
        sys.stderr.write("stopped: there is no verdict\n")
        return 130
    except WrongArgument as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except Unreadable as error:
        sys.stderr.write(f"error: {asked.bundle} cannot be read as a ledger: {error}\n")
        return 1
    except (OSError, zipfile.BadZipFile) as error:
        why = _reason(error)
        sys.stderr.write(f"error: {asked.bundle} cannot be read as a ledger: {why}\n")
        return 1
    except Exception as error:  # noqa: BLE001 - whoever made the file chose what is in it
        sys.stderr.write(f"error: {asked.bundle} cannot be read as a ledger: {error!r}\n")
        return 1
    sys.stdout.write(json.dumps(told) + "\n" if asked.json else _told(told))
    return 0 if told["verdict"] == "ok" else 1


def audit(
    bundle: str | IO[bytes],
    *,
    key: str | None,
    origin: str | None,
    checkpoints: Iterable[str],
    quorum: Quorum | None = None,
) -> dict[str, Any]:
    """The verdict on one bundle."""
    pinned = None if key is None else _given_key(key)
    given = [(path, note, True) for path in checkpoints for note in _given_notes(path)]
    with opened_bundle(bundle) as (parts, archive):
        told = _audit_parts(parts, pinned=pinned, origin=origin, given=given, quorum=quorum)
        if archive is not None and "report.html" in archive.namelist():
            _check_report(archive, told)
    return told


@contextmanager
def opened_bundle(
    bundle: str | IO[bytes],
) -> Generator[tuple[BundleMembers, zipfile.ZipFile | None]]:
    """What a bundle holds, or the page out of it; only of one that is well packed."""
    with _opened(bundle) as file:
        if _is_page(file):
            yield _page_parts(file), None
            return
        with zipfile.ZipFile(file) as archive:
            _check_members(archive)
            _check_layout(archive)
            yield _archive_parts(archive), archive


@dataclass
class BundleMembers:
    """The members of a bundle, wherever they lie: each is read line by line, when it is needed."""

    about: dict[str, Any]
    notes: Iterable[str]
    entries: Iterable[bytes]
    dropped: Iterable[bytes] = ()
    texts: Iterable[bytes] | None = None
    remarks: tuple[str, ...] = ()


def _audit_parts(
    parts: BundleMembers,
    *,
    pinned: bytes | None,
    origin: str | None,
    given: list[tuple[str, str, bool]],
    quorum: Quorum | None = None,
) -> dict[str, Any]:
    about = parts.about
    notes = chain((("in the bundle", note, False) for note in _split(parts.notes)), given)
    audit_of = _Audit(origin or about["origin"], about["agent"], notes, quorum)
    audit_of.skip(map(_read_hash, parts.dropped))
    if parts.texts is not None:
        audit_of.texts = TextLines(parts.texts, whole=about["texts"])
    audit_of.read_all(parts.entries, about["entries"])
    told = audit_of.finish(pinned or _unbase64(about["public_key"]))
    told["pinned"] = pinned is not None and origin is not None
    told["notes"] += parts.remarks
    if not told["pinned"]:
        told["notes"].append(
            "the log's name or key was taken from the bundle itself, which anybody could have made;"
            " give --key and --origin"
        )
    return {"verdict": _word(told), **told}


def audit_lines(
    about: bytes,
    notes: Iterable[str],
    entries: Iterable[bytes],
    *,
    dropped: Iterable[bytes] = (),
    texts: Iterable[bytes] | None = None,
) -> dict[str, Any]:
    """The verdict on the parts of a bundle that is being made; nothing is pinned."""
    parts = BundleMembers(_read_about(about), notes, entries, dropped, texts)
    return _audit_parts(parts, pinned=None, origin=None, given=[])


def _opened(bundle: str | IO[bytes]) -> Any:  # noqa: ANN401 - a file that closes itself, or not
    return open(bundle, "rb") if isinstance(bundle, str) else nullcontext(bundle)  # noqa: PTH123


def _is_page(file: IO[bytes]) -> bool:
    begins = file.read(15)
    file.seek(0)
    return begins.lower() == b"<!doctype html>"


def _archive_parts(archive: zipfile.ZipFile) -> BundleMembers:
    about = _read_about(_read(archive, "ledger.json", _MOST_ABOUT))
    names = archive.namelist()
    _check_texts_named(about, "texts.jsonl" in names)
    return BundleMembers(
        about,
        _note_lines(_lines(archive, "checkpoints.txt", _MOST_NOTE)),
        _lines(archive, "entries.jsonl", _MOST_LINE),
        _lines(archive, "dropped.txt", 65) if "dropped.txt" in names else (),
        _lines(archive, "texts.jsonl", _MOST_LINE) if "texts.jsonl" in names else None,
    )


def _check_texts_named(about: dict[str, Any], there: bool) -> None:
    if ("texts" in about) != there:
        raise Unreadable("texts.jsonl and what ledger.json says of it do not go together")


# The page that a bundle holds, which holds the bundle


def _page_parts(file: IO[bytes]) -> BundleMembers:
    page = _limited(file)
    blocks = _page_blocks(page)
    for name in _NEEDED:
        if name not in blocks:
            raise Unreadable(f"the page does not hold {name!r}")
    about = _read_about(b"".join(_page_lines(blocks["ledger.json"])))
    _check_texts_named(about, "texts.jsonl" in blocks)
    told = "what the page shows is not compared here: open it in a browser, which does that"
    return BundleMembers(
        about,
        _note_lines(_page_lines(blocks["checkpoints.txt"])),
        _page_lines(blocks["entries.jsonl"]),
        _page_lines(blocks["dropped.txt"]) if "dropped.txt" in blocks else (),
        _page_lines(blocks["texts.jsonl"]) if "texts.jsonl" in blocks else None,
        (told, *_frame_remarks(page)),
    )


def _limited(file: IO[bytes]) -> bytes:
    content = file.read(_MOST_PAGE + 1)
    if len(content) > _MOST_PAGE:
        raise Unreadable(f"the page takes more than {_MOST_PAGE} bytes")
    return content


def _page_blocks(page: bytes) -> dict[str, bytes]:
    """What the page holds under the names of members, each once."""
    blocks: dict[str, bytes] = {}
    for found in _BLOCK.finditer(page):
        name = found[1].decode()
        if name in blocks or name not in _DATA:
            raise Unreadable(f"the page holds {name!r} twice, or where it does not belong")
        blocks[name] = found[2]
    return blocks


def _page_lines(block: bytes) -> Iterator[bytes]:
    """Each line with the beginning of its SHA-256 before it, and without what HTML would read."""
    for number, line in enumerate(block.splitlines(keepends=True)):
        mark, space, packed = line.removesuffix(b"\n")[:32], line[32:33], line[33:]
        plain = _PERCENT.sub(_unpacked, packed)
        if space != b" " or _sha256(plain.removesuffix(b"\n")).hex()[:32].encode() != mark:
            raise Torn(f"line {number} of the page's data was changed after it was written")
        yield plain


def _unpacked(found: re.Match[bytes]) -> bytes:
    if found[1] is None:
        raise Torn(f"the page's data hold {found[0]!r}, which is never written there")
    return bytes.fromhex(found[1].decode())


def _check_report(archive: zipfile.ZipFile, told: dict[str, Any]) -> None:
    """The page must hold what the bundle holds; its script is believed by nobody who cannot see
    whose it is.
    """
    page = _read(archive, "report.html", _MOST_PAGE)
    blocks, names = _page_blocks(page), set(archive.namelist())
    for name in _DATA:
        same = (name in blocks) == (name in names)
        if same and name in blocks:
            with archive.open(name) as file:
                same = _same_bytes(file, _page_lines(blocks[name]))
        if not same:
            message = f"report.html does not hold the {name} of this bundle"
            told["findings"].append({"index": 0, "column": "report", "message": message})
            told["intact"], told["verdict"] = False, "BROKEN"
    told["notes"] += _frame_remarks(page)


def _frame_remarks(page: bytes) -> tuple[str, ...]:
    """Only in a page that was written like this its own script decides what it says of itself."""
    found = _PAGE.fullmatch(page)
    if found is not None:
        script, style, css, shown, code = found.groups()
        hashes = [_sha256(code), _sha256(css)]
        named = [base64.b64encode(one) for one in hashes] == [script, style]
        known = [one.hex() for one in hashes] == [_SCRIPT, _STYLE]
        if named and known and not _MARK.sub(b"", shown):
            return ()
    told = (
        "report.html is not framed as this verifier knows it, or carries another script or style:"
        " what the page says of itself counts for nothing"
    )
    return (told,)


def _same_bytes(file: IO[bytes], lines: Iterable[bytes]) -> bool:
    try:
        return all(file.read(len(line)) == line for line in lines) and not file.read(1)
    except (Unreadable, zlib.error, zipfile.BadZipFile):
        return False


class Unreadable(Exception):
    """The bundle, or a part of it, does not have the form it should have."""


class Torn(Unreadable):
    """What is packed in the bundle is not what was packed."""


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


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _given_notes(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - one file, no more imports
            notes = split_notes(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise WrongArgument(f"--checkpoint {path}: it cannot be read: {_reason(error)}") from error
    if not notes:
        raise WrongArgument(f"--checkpoint {path}: it holds no checkpoint")
    return notes


@dataclass(frozen=True)
class Quorum:
    """Witnesses by name and key, and how many of them must have seen the ledger."""

    witnesses: tuple[tuple[str, bytes], ...]
    number: int


def _given_quorum(keys: list[str], number: int | None) -> Quorum | None:
    witnesses = tuple(map(_witness_key, keys))
    asked = len(witnesses) if number is None else number
    if not 0 <= asked <= len({name for name, _ in witnesses}):
        raise WrongArgument(f"--quorum {asked}: {len(witnesses)} witnesses are given")
    return Quorum(witnesses, asked) if witnesses else None


def _witness_key(text: str) -> tuple[str, bytes]:
    try:
        name, identity, key = text.split("+", 2)
        raw = _unbase64(key)
    except ValueError as error:
        raise WrongArgument(f"--witness {text[:60]}: this is no NAME+ID+KEY") from error
    if len(raw) != 33 or raw[:1] != b"\4" or _witness_id(name, raw[1:]).hex() != identity:
        raise WrongArgument(f"--witness {text[:60]}: id, name and key do not fit together")
    return name, raw[1:]


def _witness_id(name: str, key: bytes) -> bytes:
    return _sha256(name.encode() + b"\n\4" + key)[:4]


class _Audit:
    def __init__(
        self,
        home: str,
        agent: str,
        notes: Iterable[tuple[str, str, bool]],
        quorum: Quorum | None = None,
    ) -> None:
        self.quorum = quorum
        self.cosigned: dict[int, dict[str, int]] = {}  # when each witness saw this many entries
        self.agent, self.home, self.origin = agent, home, f"{home}/{agent}"
        self.findings: list[Found] = []
        self.found = self.kept = 0
        self.sealed: int | None = None  # how far the key of the log has signed
        self.size, self.head, self.time = 0, None, ""
        self.peaks: list[bytes] = []
        self.given = False
        self.denied = 0  # how many entries one from outside has seen that are not, or not so, here
        self.uncounted: list[str] = []
        self.notes = [(place, *read, outside) for place, read, outside in self.read(notes)]
        self.wanted = {size for _, _, size, _, _, _, _ in self.notes}
        self.roots: dict[int, bytes] = {}
        self.gone: dict[int, tuple[str, set[str]]] = {}  # what no tombstone explains yet
        self.erased: dict[int, set[str]] = {}
        self.signed: list[_Signed] = []
        self.dropped = 0
        self.moved: set[tuple[int, str]] = set()  # end, root
        self.let_go: list[tuple[int, int, str]] = []  # first, end, root
        self.deliveries: set[bytes] = set()
        self.import_head: str | None = None
        self.texts: TextLines | None = None
        self.withheld: list[dict[str, Any]] = []

    def read(self, notes: Iterable[tuple[str, str, bool]]) -> Iterator[tuple[str, _Note, bool]]:
        for place, note, outside in notes:
            try:
                read = _read_note(note)
                seen = outside or bool(self.cosignatures(read[3], read[4]))
                self.given = self.given or seen
                yield place, read, seen
            except (Unreadable, ValueError):
                self.given = self.given or outside
                self.find(0, "checkpoint", f"{place}: this is not a checkpoint")
                self.uncount(place, outside, "it cannot be read")

    def cosignatures(self, text: bytes, signatures: list[tuple[str, bytes]]) -> dict[str, int]:
        """Which of the witnesses has signed below a note, and when it had seen that."""
        found: dict[str, int] = {}
        for name, key in self.quorum.witnesses if self.quorum else ():
            for _, raw in (one for one in signatures if one[0] == name):
                time = int.from_bytes(raw[4:12], "big")
                message = b"cosignature/v1\ntime %d\n%b" % (time, text)
                known = raw[:4] == _witness_id(name, key) and len(raw) == 76
                if known and _verify(key, message, raw[12:]):
                    found[name] = max(time, found.get(name, 0))
        return found

    def witnessed(self) -> dict[str, Any] | None:
        """How many entries enough of the witnesses have seen."""
        if self.quorum is None:
            return None
        number = max(self.quorum.number, 1)
        size = max((at for at, by in self.cosigned.items() if len(by) >= number), default=0)
        if not size and self.size and self.quorum.number:
            asked = f"{self.quorum.number} of {len(self.quorum.witnesses)}"
            self.find(0, "checkpoint", f"no checkpoint here is cosigned by {asked} witnesses")
        return {"size": size, "by": self.cosigned.get(size, {})}

    def uncount(self, name: str, outside: bool, reason: str) -> None:
        if outside:
            self.uncounted.append(f"{name}: {reason}")

    def read_all(self, lines: Iterable[bytes], expected: int) -> None:
        """One entry per line. Beyond one that cannot be read there is nothing to say."""
        left = iter(lines)
        while True:
            try:
                line = next(left, None)
                entry = None if line is None else _read_entry(line)
            except Unreadable as error:
                message = f"it cannot be read: {error}; the chain could not be read further"
                if not isinstance(error, Torn) or not self.findings:  # else they name the place
                    self.find(self.size, "line", message)
                return
            if entry is None:
                break
            self.take(entry)
        if self.size - self.dropped != expected:
            read = self.size - self.dropped
            self.find(self.size, "index", f"ledger.json tells of {expected} entries, not {read}")
        if self.texts is not None and self.texts.more():
            self.find(self.size, "texts", "texts.jsonl tells of entries that are not here")

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
        told = self.texts_of(index)
        hidden = {one["place"][1:]: one["left_out"] for one in told if "digest" not in one}
        self.check_inside(entry, hidden)
        if self.texts is not None:
            self.check_texts(entry, told)
        self.head, self.time = entry["hash"], entry["time"]
        # One that is no hash does not derive, and no root can match any more.
        known = _HASH.fullmatch(entry["hash"])
        self.grow(bytes.fromhex(entry["hash"]) if known else bytes(32))

    def skip(self, hashes: Iterable[str]) -> None:
        """Entries at the beginning that were let go: their hashes are left."""
        for entry_hash in hashes:
            self.head = entry_hash
            self.grow(bytes.fromhex(entry_hash))
        self.dropped = self.size
        self.roots[self.size] = self.root()

    def find(self, index: int, column: str, message: str) -> None:
        self.found += 1
        if len(self.findings) < _MOST_FINDINGS:
            short = message if len(message) <= _MOST_MESSAGE else f"{message[:_MOST_MESSAGE]}..."
            self.findings.append((index, column, short))

    def keep(self, size: int) -> None:
        """How much is remembered is not for whoever made the bundle to choose."""
        self.kept += size + _OVERHEAD
        if self.kept > _MOST_KEPT:
            raise Unreadable("its statements and erased fields are more than can be remembered")

    def texts_of(self, index: int) -> list[dict[str, Any]]:
        try:
            return [] if self.texts is None else self.texts.of(index)
        except (Unreadable, ValueError) as error:
            message = f"texts.jsonl cannot be read: {error}; no text was compared from here on"
            self.find(index, "texts", message)
            self.texts = None
            return []

    def check_texts(self, entry: dict[str, Any], told: list[dict[str, Any]]) -> None:
        """Each text is the one that the entry binds; what is not here has its reason."""
        assert self.texts is not None  # noqa: S101 - asked for by whoever has them
        places = dict(_places(entry["body"]))
        for one in told:
            place, message = one["place"], ""
            if "digest" not in one:
                continue
            if places.pop(place, None) != one["digest"]:
                message = f"{place}: the entry binds no such text, or it is told twice"
            elif "left_out" in one:
                self.texts.left_out += 1
            elif f"sha256:{_sha256(_content(one)).hex()}" != one["digest"]:
                message = f"{place}: the text is not the one that the entry binds"
            else:
                self.texts.fitting += 1
            if message:
                self.find(entry["index"], "texts", message)
        for place in places if self.texts.whole else ():
            message = f"{place}: there is neither the text nor a reason why not"
            self.find(entry["index"], "texts", message)

    def check_inside(self, entry: dict[str, Any], hidden: dict[str, str]) -> None:
        index, before = entry["index"], self.found
        if entry["recipe"] != "mentis-1":
            self.find(index, "recipe", f"unknown recipe {entry['recipe']!r}")
            return
        names = ("agent", "index", "time", "source", "kind", "ruleset", "prev", "fields")
        header = {"v": entry["recipe"], **{name: entry[name] for name in names}}
        derived = _derived(b"mentis-1/entry\0", header)
        if derived != entry["hash"]:
            self.find(index, "hash", f"expected {derived}, got {entry['hash']}")
        for name in sorted({*entry["fields"], *entry["body"], *entry["salts"]}):
            self.check_field(entry, name, hidden)
        for name in hidden:  # those that are taken away here are withheld
            self.find(index, "texts", f"field {name!r} is here, or was never, and called left out")
        if entry["delivery"] != entry["body"].get("delivery"):
            self.find(index, "delivery", "it is not what the entry commits to")
        if entry["delivery"] is not None:
            self.check_delivery(index, _sha256(entry["delivery"].encode()))
        if entry["kind"] in _KINDS:
            self.keep_signed(entry, sound=self.found == before)
        if entry["kind"] == "import":
            self.check_import(entry)

    def check_delivery(self, index: int, delivery: bytes) -> None:
        if delivery in self.deliveries:
            self.find(index, "delivery", "this delivery is an entry already")
        self.deliveries.add(delivery)

    def keep_signed(self, entry: dict[str, Any], *, sound: bool) -> None:
        try:
            told = jcs(entry["body"].get("signed"))
        except Unreadable:
            told = b"null"  # too long to be hashed, so it is a finding, and signed by nobody
        prev = entry["prev"] if _is_hash(entry["prev"]) else None
        self.keep(len(told))
        self.signed.append(_Signed(entry["kind"], entry["index"], told, prev, sound))

    def check_field(self, entry: dict[str, Any], name: str, hidden: dict[str, str]) -> None:
        index, committed = entry["index"], entry["fields"].get(name)
        if committed is not None and name not in entry["body"] and name not in entry["salts"]:
            if name in hidden and not (name == "signed" and entry["kind"] in _KINDS):
                self.keep(len(name))
                self.withheld.append({"index": index, "field": name, "reason": hidden.pop(name)})
                self.erased.setdefault(index, set()).add(name)
                return
            self.keep(len(name) + len(entry["hash"]))
            self.gone.setdefault(index, (entry["hash"], set()))[1].add(name)
            self.erased.setdefault(index, set()).add(name)
            return
        if committed is None or name not in entry["body"] or name not in entry["salts"]:
            self.find(
                index, "body", f"field {name!r}: value, salt and commitment do not go together"
            )
            return
        if not _SALT.fullmatch(entry["salts"][name]):
            self.find(index, "salts", f"field {name!r}: expected 32 hexadecimal digits")
            return
        salt = bytes.fromhex(entry["salts"][name])
        if _derived(b"mentis-1/field\0" + salt, [name, entry["body"][name]]) != committed:
            self.find(index, "body", f"field {name!r} is not what the entry commits to")

    def check_import(self, entry: dict[str, Any]) -> None:
        link, original = entry["body"].get("link"), entry["body"].get("original")
        before, self.import_head = self.import_head, None
        if not isinstance(link, dict):
            return
        told = cast("dict[str, Any]", link)
        self.import_head = told["hash"] if isinstance(told.get("hash"), str) else None
        if told.get("recipe") == "s2-legacy" and told.get("verified") is False:
            return
        if told.get("recipe") != "s2-v4":
            message = f"unknown recipe {told.get('recipe')!r}"
            self.find(entry["index"], "original", message)
            return
        if before is not None and not told.get("begins") and told.get("prev") != before:
            self.find(entry["index"], "original", "the imported chain breaks here")
        if isinstance(original, dict) and not _imported(told, cast("dict[str, Any]", original)):
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
        remarks += self.other_agents()
        remarks += self.set_apart(keys)
        vouched = self.checkpoints(keys, given_up)
        witnessed = self.witnessed()
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
            "dropped": self.dropped,
            "head": self.head,
            "root": self.root().hex(),
            "intact": not self.findings,
            "signed": self.sealed,
            "vouched": vouched,
            "witnessed": witnessed,
            "denied": self.denied,
            "given": self.given,
            "uncounted": self.uncounted,
            "erased": erased,
            "withheld": self.withheld,
            "texts": None if self.texts is None else self.texts.counts(),
            "notes": remarks,
            "findings": [
                {"index": index, "column": column, "message": message}
                for index, column, message in sorted(self.findings, key=_order)
            ],
            "more": self.found - len(self.findings),
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
            told = one.read()
            says = _statement(told)
            here = self.is_of(told, one.kind) and says.get("after") == one.prev
            if one.sound and one.kind == "key":
                yield one.index, told, here, False
            elif one.sound and one.kind == "rollback" and (carried := _listed(says.get("keys"))):
                here = here and _signed(told, _public(carried[-1], "new"))
                for change in carried:
                    yield one.index, change, here and self.is_of(change, "key"), True

    def is_of(self, told: Any, what: str) -> bool:  # noqa: ANN401 - JSON
        says = _statement(told)
        return says.get("what") == what and says.get("agent") == self.agent

    def statements(self, keys: _Keys) -> tuple[list[dict[str, Any]], list[str], _GivenUp]:
        erased: list[dict[str, Any]] = []
        remarks: list[str] = []
        given_up: _GivenUp = {}
        for one in self.signed:
            if one.kind == "key":
                continue
            key, told = keys.in_force(one.index), one.read()
            says = _statement(told)
            if key is None or not _signed(told, key) or not self.is_of(told, one.kind):
                reason = "is not signed by the key of this log, or is something else"
                self.find(one.index, "body", f"the {one.kind} {reason}")
            elif one.kind == "erasure":
                erased += self.explain(one.index, says)
            elif one.kind == "rollback" and says.get("after") != one.prev:
                self.find(one.index, "body", "the rollback was accepted at another place")
            elif one.kind in ("rotation", "retention"):
                self.cut(one.index, one.kind, says)
            elif one.kind == "rollback":
                lost = list(_pairs(says.get("lost"), "size", "root", str))
                given_up |= dict.fromkeys(lost, one.index)
                sizes = ", ".join(str(size) for size, _ in sorted(lost))
                what = [f"the checkpoints of size {sizes}"] if sizes else []
                gone = _pairs(says.get("missing"), "first", "last", int)
                what += [f"entries {first} to {last}" for first, last in gone]
                aside = ", ".join(map(str, _listed(says.get("segments"))))
                what += [aside] if aside else []
                remarks.append(
                    f"entry {one.index}: a rollback was accepted, which gives up"
                    f" {' and '.join(what)} ({says.get('reason')})"
                )
        return erased, remarks, given_up

    def cut(self, index: int, kind: str, says: dict[str, Any]) -> None:
        """Entries were moved into a segment, or let go for good: the root must be ours."""
        for told in [says] if kind == "rotation" else _listed(says.get("segments")) or [{}]:
            read = _read_cut(told)
            first, end, root = read or (0, 0, "")
            if read is None or end > index:
                self.find(index, "body", f"the {kind} names no entries before it")
            elif end in self.roots and self.roots[end].hex() != root:
                self.find(first, "hash", f"other entries were there at the {kind} in entry {index}")
            elif kind == "rotation":
                self.moved.add((end, root))
            elif end >= self.dropped and (end, root) not in self.moved:
                # A rotation comes after what it moves, so from here on none is overlooked.
                reason = "no signed rotation before it has moved them"
                self.find(index, "body", f"the retention names entries up to {end - 1}: {reason}")
            else:
                self.let_go.append((first, end, root))

    def missing(self) -> None:
        """What is not here must have been let go, as a signed entry says."""
        reach = 0
        for first, end, _ in sorted(self.let_go):
            reach = max(reach, end) if first <= reach else reach
        ends = {(end, root) for _, end, root in self.let_go}
        if self.dropped and (
            reach < self.dropped or (self.dropped, self.roots[self.dropped].hex()) not in ends
        ):
            last = self.dropped - 1
            self.find(
                0, "index", f"entries 0 to {last} are missing and no signed retention says so"
            )

    def explain(self, tombstone: int, says: dict[str, Any]) -> list[dict[str, Any]]:
        """A tombstone says which fields are gone; then they must be gone."""
        index, named = says.get("index"), _listed(says.get("fields"))
        if type(index) is not int or not named or not all(isinstance(name, str) for name in named):
            self.find(tombstone, "body", "the erasure names no fields of an entry")
            return []
        entry_hash, fields = self.gone.get(index, ("", set()))
        if entry_hash == says.get("hash"):
            fields.difference_update(named)
        here = set(named) - self.erased.get(index, set()) if index >= self.dropped else ()
        for name in sorted(here):
            message = f"field {name!r} is here, and entry {tombstone} says it was erased"
            self.find(index, "body", message)
        reason = says.get("reason")
        told = reason if isinstance(reason, str) else ""
        return [{"index": index, "fields": named, "reason": told}]

    def other_agents(self) -> Iterator[str]:
        """A file from outside may hold the checkpoints of all agents of a home.

        Those of the others say nothing here. Where none is of this agent they stay, as findings:
        somebody may have handed over another record than the one that was asked for.
        """
        if not any(outside and origin == self.origin for _, origin, *_, outside in self.notes):
            return
        others = Counter[tuple[str, str]]()
        rest: list[_Placed] = []
        for one in self.notes:
            place, origin, *_, outside = one
            if outside and origin != self.origin and origin.startswith(f"{self.home}/"):
                others[place, origin] += 1
            else:
                rest.append(one)
        self.notes = rest
        for (place, origin), count in others.items():
            self.uncount(f"{place}, {count} of {origin}", True, "of another agent")
            yield f"{place}: checkpoints of another agent, {origin!r}, were not compared ({count})"

    def set_apart(self, keys: _Keys) -> Iterator[str]:
        """Changes of the key may be in what was let go: then nobody can say who signed this.

        Only where the root is right and no signature bears the id of a key that is known here.
        """
        known = {_key_id(self.origin, key) for key in keys.known}
        rest: list[_Placed] = []
        for one in self.notes:
            place, origin, size, root, _, signatures, outside = one
            named = any(name == origin and raw[:4] in known for name, raw in signatures)
            right = size <= self.dropped and self.seen(size) == root
            if origin != self.origin or named or not right:
                rest.append(one)
                continue
            yield (
                f"{place}: the checkpoint of size {size} counts for nothing here: its root is"
                " right, but the key that signed it is known only from entries that were let go"
            )
            reason = "its key is known only from entries that were let go"
            self.uncount(f"{place}, size {size}", outside, reason)
        self.notes = rest

    def seen(self, size: int) -> bytes | None:
        return _sha256(b"") if size == 0 else self.roots.get(size)

    def checkpoints(self, keys: _Keys, given_up: _GivenUp) -> int:
        vouched = 0
        for place, origin, size, root, text, signatures, outside in self.notes:
            signed = [key for key in keys.known if _note_signed(origin, text, signatures, key)]
            seen = self.seen(size)
            # A change of the key may have gone with what is given up: any of the keys will do.
            lost = bool(signed) and (size, root.hex()) in given_up
            if origin != self.origin:
                reason = "it is of another log"
                self.find(0, "checkpoint", f"{place}: of {origin!r}, not of {self.origin!r}")
            elif not lost and not set(signed) & set(keys.may_sign(size)):
                reason = "the key of this log did not sign it"
                self.find(0, "checkpoint", f"{place}: size {size} is not signed by this log's key")
            elif seen == root:
                if size or not self.size:  # that nothing was there says nothing about what is
                    self.sealed = max(self.sealed or 0, size)
                vouched = max(vouched, size if outside else 0)
                for name, time in self.cosignatures(text, signatures).items() if size else ():
                    by = self.cosigned.setdefault(size, {})
                    by[name] = max(time, by.get(name, 0))
                continue
            elif lost:
                reason = f"the rollback in entry {given_up[size, root.hex()]} gives it up"
            elif size > self.size:
                reason = "it has seen entries that are not here"
                self.find(self.size, "checkpoint", f"{place}: {size} entries were there")
                self.denied = max(self.denied, size if outside else 0)
            else:
                reason = "it has seen other entries"
                self.find(0, "checkpoint", f"{place}: other entries were there at size {size}")
                self.denied = max(self.denied, size if outside else 0)
            self.uncount(f"{place}, size {size}", outside, reason)
        return vouched


@dataclass(frozen=True)
class _Signed:
    kind: str
    index: int
    told: bytes  # as it was hashed: read again, it would take many times as much
    prev: str | None
    sound: bool  # the entry derives to its hash

    def read(self) -> Any:  # noqa: ANN401 - JSON
        return read_strict(self.told, _MOST_CANONICAL)


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


class TextLines:
    """The lines of texts.jsonl, read beside the entries that they belong to."""

    def __init__(self, lines: Iterable[bytes], *, whole: bool) -> None:
        self.whole = whole  # every digest has its text, or a reason why not
        self.fitting = self.left_out = 0
        self.left = map(_read_text, lines)
        self.ahead: dict[str, Any] | None = None
        self.begun = False

    def of(self, index: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while self.more() and self.ahead is not None and self.ahead["entry"] == index:
            found.append(self.ahead)
            self.ahead = next(self.left, None)
        return found

    def more(self) -> bool:
        if not self.begun:
            self.begun, self.ahead = True, next(self.left, None)
        return self.ahead is not None

    def counts(self) -> dict[str, int]:
        return {"fitting": self.fitting, "left_out": self.left_out}


def _places(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Where a body binds a text, and by which digest."""
    found: list[tuple[str, Any]] = [("/asked", body.get("asked"))]
    found += [(f"/acted/{n}", one) for n, one in enumerate(_listed(body.get("acted")))]
    digests = _object(body.get("digests"))
    found += [(f"/digests/{name}", digests[name]) for name in sorted(digests) if name != "library"]
    for number, step in enumerate(map(_object, _listed(body.get("steps")))):
        found += [(f"/steps/{number}/{name}", step.get(name)) for name in _STEP]
    found += [("/result/blob", _object(body.get("result")).get("blob"))]
    found += [(f"/{name}/digest", _object(body.get(name)).get("digest")) for name in _BODIES]
    for place, value in found:
        if isinstance(value, str) and value.startswith("sha256:"):
            yield place, value


def _object(value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _content(told: dict[str, Any]) -> bytes:
    return told["text"].encode() if "text" in told else _unbase64(told["base64"])


def _read_text(line: bytes) -> dict[str, Any]:
    told = read_strict(line, _MOST_LINE)
    if not isinstance(told, dict):
        raise Unreadable("texts.jsonl: a line is not a JSON object")
    found = cast("dict[str, Any]", told)
    texts = [value for name, value in found.items() if name != "entry"]
    one = len(found.keys() & {"text", "base64", "left_out"}) == 1
    bound = "digest" in found or "left_out" in found
    if not one or not bound or not found.keys() <= _TEXT or type(found.get("entry")) is not int:
        raise Unreadable("texts.jsonl: a line does not hold what it should")
    if not str(found.get("place")).startswith("/") or not all(isinstance(t, str) for t in texts):
        raise Unreadable("texts.jsonl: a line does not hold what it should")
    return found


def _order(found: Found) -> tuple[bool, int]:
    """By entry; a checkpoint as a whole has no place among them and comes last."""
    index, column, _ = found
    return (index, column) == (0, "checkpoint"), index


def split_notes(text: str) -> list[str]:
    return list(_split(text.splitlines()))


def _split(lines: Iterable[str]) -> Iterator[str]:
    """One note after the other; each begins after the signature lines of the one before."""
    note: list[str] = []
    for line in lines:
        if note and note[-1].startswith("— ") and not line.startswith("— "):
            yield "\n".join(note) + "\n"
            note = []
        if line or note:
            note.append(line)
    if note:
        yield "\n".join(note) + "\n"


def _note_lines(lines: Iterable[bytes]) -> Iterator[str]:
    size = 0
    for line in lines:
        size += len(line)
        if size > _MOST_NOTES or len(line) > _MOST_NOTE:
            raise Unreadable("checkpoints.txt is too long, or a line of it")
        yield from _decoded(line).splitlines()


def _check_members(archive: zipfile.ZipFile) -> None:
    """Each name once, none that is not known: another program might show another one of two."""
    names: set[str] = set()
    for member in archive.infolist():
        name = member.orig_filename
        if name not in _MEMBERS:
            raise Unreadable(f"the member {name!r} does not belong into a bundle")
        if name in names:
            raise Unreadable(f"the member {name!r} is there twice")
        if member.flag_bits & 1 or member.compress_type not in _METHODS:
            raise Unreadable(f"the member {name!r} is encrypted, or packed in an unknown way")
        names.add(name)
    for name in _NEEDED:
        if name not in names:
            raise Unreadable(f"the member {name!r} is missing")


def _check_layout(archive: zipfile.ZipFile) -> None:
    """One member after the other from the first byte on, the directory, and nothing besides.

    A program that reads from the front, or looks for members itself, must find the same ones.
    """
    file = cast("IO[bytes]", archive.fp)
    place = 0
    for member in sorted(archive.infolist(), key=lambda member: member.header_offset):
        if member.header_offset != place:
            raise Unreadable(f"bytes that belong to no member stand before {member.filename!r}")
        place = _member_end(file, member)
    if place != archive.start_dir:
        raise Unreadable("bytes that belong to no member stand before the directory")
    file.seek(-_END.size, io.SEEK_END)
    if _END.unpack(file.read(_END.size))[::7] != (b"PK\5\6", 0):
        raise Unreadable("something stands after the end of the archive")


def _member_end(file: IO[bytes], member: zipfile.ZipInfo) -> int:
    """Where it ends, by its own heading, which must say the same as the directory."""
    file.seek(member.header_offset)
    mark, _, flags, method, _, crc, packed, plain, name, extra = _HEADING.unpack(
        file.read(_HEADING.size)
    )
    sizes, more = (packed, plain), file.read(name + extra)[name:]
    if sizes == (0xFFFFFFFF, 0xFFFFFFFF) and more[:4] == b"\1\0\x10\0":
        sizes = struct.unpack("<QQ", more[4:20])[::-1]
    told = (b"PK\3\4", member.flag_bits, member.compress_type, member.CRC)
    right = (member.compress_size, member.file_size)
    if (mark, flags, method, crc) != told or sizes != right:
        raise Unreadable(f"heading and directory do not say the same of {member.filename!r}")
    return member.header_offset + _HEADING.size + name + extra + member.compress_size


def _read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    with archive.open(name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise Unreadable(f"{name} takes more than {most} bytes")
    return content


def _lines(archive: zipfile.ZipFile, name: str, most: int) -> Iterator[bytes]:
    read = 0
    try:
        with archive.open(name) as packed:
            file = io.BufferedReader(cast("io.RawIOBase", packed), 1024 * 1024)
            while line := file.readline(most + 1):
                read += 1
                yield line
    except (zlib.error, zipfile.BadZipFile, EOFError) as error:
        # A byte of the file was changed: what can still be unpacked says where.
        yield from islice(_torn_lines(archive, name, most), read, None)
        raise Torn(f"{name} was changed after it was packed ({error})") from None


def _torn_lines(archive: zipfile.ZipFile, name: str, most: int) -> Iterator[bytes]:
    """Lines up to the byte behind which nothing can be unpacked."""
    line = bytearray()
    for piece in _torn_pieces(archive, archive.getinfo(name)):
        line += piece
        while (end := line.find(b"\n")) >= 0:
            yield bytes(line[: end + 1])
            del line[: end + 1]
        if len(line) > most:
            break
    if line:
        yield bytes(line[: most + 1])


def _torn_pieces(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    file = cast("IO[bytes]", archive.fp)
    place, end = _member_end(file, member) - member.compress_size, member.compress_size
    file.seek(place)
    content = file.read(end)
    if member.compress_type == zipfile.ZIP_STORED:
        yield content
        return
    unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
    for start in range(0, len(content), 4096):
        piece, before = content[start : start + 4096], unpacking.copy()
        try:
            yield unpacking.decompress(piece)
        except zlib.error:
            for place in range(len(piece)):
                try:
                    yield before.decompress(piece[place : place + 1])
                except zlib.error:
                    return
            return


def _read_about(content: bytes) -> dict[str, Any]:
    try:
        about = read_strict(content, _MOST_ABOUT)
    except Unreadable as error:
        raise Unreadable(f"ledger.json: {error}") from None
    if not isinstance(about, dict) or {*cast("dict[str, Any]", about)} - {"texts"} != {*_ABOUT}:
        raise Unreadable(f"ledger.json does not hold {', '.join(sorted(_ABOUT))}")
    told = cast("dict[str, Any]", about)
    if type(told.get("texts", True)) is not bool:
        raise Unreadable("ledger.json: `texts` is neither true nor false")
    for name in ("origin", "agent"):
        value = told[name]
        if not isinstance(value, str) or not _NAME.fullmatch(value) or not value.isprintable():
            raise Unreadable(f"ledger.json: {value!r} is no {name}")
    if told["format"] != _FORMAT or type(told["entries"]) is not int:
        raise Unreadable(f"ledger.json: format {told['format']!r}, entries {told['entries']!r}")
    key = _unbase64(str(told["public_key"]))
    log = f"{told['origin']}/{told['agent']}"
    named = base64.b64encode(b"\x01" + key).decode()
    if len(key) != 32 or told["verifier_key"] != f"{log}+{_key_id(log, key).hex()}+{named}":
        raise Unreadable("ledger.json: public_key and verifier_key do not belong together")
    return told


def _read_entry(line: bytes) -> dict[str, Any]:
    entry = read_strict(line, _MOST_LINE)
    if not isinstance(entry, dict):
        raise Unreadable("it is not a JSON object")
    told = cast("dict[str, Any]", entry)
    for name in sorted(told.keys() ^ _COLUMNS):
        raise Unreadable(f"{name!r} {'does not belong there' if name in told else 'is missing'}")
    for name, value in told.items():
        if not _fits(name, value):
            raise Unreadable(f"{name!r} does not hold what it should")
    return told


def _fits(name: str, value: Any) -> bool:  # noqa: ANN401 - JSON
    if name == "index":
        return type(value) is int
    if name in _OBJECTS:
        if not isinstance(value, dict):
            return False
        members = cast("dict[str, Any]", value).values()
        return name == "body" or all(isinstance(member, str) for member in members)
    return isinstance(value, str) or (value is None and name in _OPTIONAL)


def _is_hash(text: str | None) -> bool:
    return text is not None and _HASH.fullmatch(text) is not None


def _read_hash(line: bytes) -> str:
    text = _decoded(line).removesuffix("\n")
    if not _HASH.fullmatch(text):
        raise Unreadable(f"dropped.txt: {text!r} is no hash")
    return text


def _read_note(note: str) -> _Note:
    text, gap, below = note.rpartition("\n\n")
    lines = text.split("\n")
    if not gap or len(note) > _MOST_NOTE or not below.endswith("\n") or len(lines) < 3:
        raise Unreadable("it has no three lines, empty line and signatures")
    origin, size, root = lines[0], lines[1], _unbase64(lines[2])
    if not _NAME.fullmatch(origin) or not _SIZE.fullmatch(size) or len(root) != 32:
        raise Unreadable("its first lines are not origin, size and root")
    signatures = [_read_signature(line) for line in below[:-1].split("\n")]
    return origin, int(size), root, f"{text}\n".encode(), signatures


def _read_signature(line: str) -> tuple[str, bytes]:
    found = _SIGNATURE.fullmatch(line)
    raw = _unbase64(found[2]) if found else b""
    if found is None or len(raw) < 5:
        raise Unreadable("it has a line that is no signature")
    return found[1], raw


def _read_cut(told: Any) -> tuple[int, int, str] | None:  # noqa: ANN401 - JSON
    """First index, the first after it, and the root; None where these are not there."""
    if not isinstance(told, dict):
        return None
    says = cast("dict[str, Any]", told)
    first, last, root = says.get("first"), says.get("last"), says.get("root")
    if type(first) is not int or type(last) is not int or not 0 <= first <= last:
        return None
    return (first, last + 1, root) if isinstance(root, str) else None


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - JSON
    return cast("list[Any]", value) if isinstance(value, list) else []


def _pairs(listed: Any, first: str, second: str, kind: type) -> Iterator[tuple[int, Any]]:  # noqa: ANN401
    """Two members of each object that has both, the first a whole number."""
    for one in _listed(listed):
        told = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        if type(told.get(first)) is int and type(told.get(second)) is kind:
            yield told[first], told[second]


def _imported(link: dict[str, Any], original: dict[str, Any]) -> bool:
    """Whether the text has the hash and the link that the origin gave it."""
    text = str(original.get("text"))
    hashed = f"{text}|{link.get('timestamp')}|{original.get('salt')}"
    try:
        window = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(window, dict) or _sha256(hashed.encode()).hex() != link.get("hash"):
        return False
    return cast("dict[str, Any]", window).get("prev_window_hash") == link.get("prev")


def _key_id(origin: str, key: bytes) -> bytes:
    return _sha256(origin.encode() + b"\n\x01" + key)[:4]


def _note_signed(origin: str, text: bytes, signatures: list[tuple[str, bytes]], key: bytes) -> bool:
    key_id = _key_id(origin, key)
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
    try:
        message = b"mentis-1/statement\0" + jcs(says)
    except Unreadable:
        return False
    return _verify(key, message, signature)


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
    written = _join(value).encode()
    if len(written) > _MOST_CANONICAL:
        raise Unreadable(f"a value takes more than {_MOST_CANONICAL} bytes")
    return written


def _derived(prefix: bytes, value: Any) -> str:  # noqa: ANN401 - any JSON
    """The hash; none where the value is too long to have one."""
    try:
        return _sha256(prefix + jcs(value)).hex()
    except Unreadable as error:
        return f"no hash, as {error}"


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


def read_strict(content: bytes, most: int) -> Any:  # noqa: ANN401 - any JSON
    """JSON that has exactly one meaning, or a refusal."""
    if len(content) > most:
        raise Unreadable(f"it takes more than {most} bytes")
    if content.count(b"[") + content.count(b"{") > _MOST_DEPTH:
        _check_depth(content)
    try:
        value = json.loads(
            _decoded(content),
            object_pairs_hook=_members,
            parse_constant=_no_constant,
            parse_float=_float,
            parse_int=_integer,
        )
        if b"\\u" in content:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Unreadable("a text holds half a character") from None
    except ValueError as error:
        raise Unreadable(f"it is not JSON: {error}") from None
    return value


def _check_depth(content: bytes) -> None:
    depth = 0
    for found in _NESTING.finditer(content):
        depth += (found[0] in (b"[", b"{")) - (found[0] in (b"]", b"}"))
        if depth > _MOST_DEPTH:
            raise Unreadable(f"it is nested more than {_MOST_DEPTH} levels deep")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Unreadable("a key stands there twice")
    return members


def _no_constant(name: str) -> None:
    raise Unreadable(f"{name} is not a JSON number")


def _float(text: str) -> float:
    value = float(text)
    lost = value == 0 and (text.startswith("-") or re.search("[1-9]", re.split("[eE]", text)[0]))
    if lost or not math.isfinite(value) or _MOST_INTEGER < abs(value) < 1e21:
        raise Unreadable(f"the number {text[:24]} is none that can be kept")
    return value


def _integer(text: str) -> int:
    if text == "-0" or len(text) > 17 or abs(int(text)) > _MOST_INTEGER:
        raise Unreadable(f"the number {text[:24]} is none that can be kept")
    return int(text)


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8: {error.reason}") from None


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text[:40]!r} is not base64") from error


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _told(told: dict[str, Any]) -> str:
    lines = [f"{told['verdict']}  {told['log']}: {told['entries']} entries, head {told['head']}"]
    shown = told["findings"][:20]
    lines += [f"  entry {found['index']}, {found['column']}: {found['message']}" for found in shown]
    if more := len(told["findings"]) - len(shown) + told["more"]:
        lines.append(f"  and {more} more")
    for gone in told["erased"]:
        names = ", ".join(gone["fields"])
        lines.append(f"  entry {gone['index']}: erased {names} ({gone['reason']})")
    lines += _told_texts(told)
    lines += [f"note: {note}" for note in told["notes"]]
    lines.append(_told_signed(told["signed"], told["entries"]))
    lines += _told_witnessed(told["witnessed"], told["entries"])
    lines.append(_told_complete(told))
    return "".join(f"{_shown(line)}\n" for line in lines)


def _told_texts(told: dict[str, Any]) -> Iterator[str]:
    for one in told["withheld"][:20]:
        yield f"  entry {one['index']}: {one['field']} left out of this file ({one['reason']})"
    if (more := len(told["withheld"]) - 20) > 0:
        yield f"  and {more} more fields left out"
    if told["texts"]:
        fit, out = told["texts"]["fitting"], told["texts"]["left_out"]
        yield f"texts: {fit} fit the digests beside them; {out} are left out, with the reason"


def _told_complete(told: dict[str, Any]) -> str:
    if told["denied"]:
        seen = f"NOT complete: a checkpoint from outside has seen {told['denied']} entries"
        less = told["denied"] > told["entries"]
        rest = f"and {told['entries']} are here" if less else "others than here"
        kept = f"; the first {told['vouched']} are as one saw them" if told["vouched"] else ""
        return f"{seen}, {rest}{kept}"
    if told["vouched"]:
        after = told["entries"] - told["vouched"]
        rest = f"; whether any of the {after} after them is missing, nobody can say"
        seen = f"complete: a checkpoint from outside has seen {told['vouched']} entries"
        return seen + (rest if after else "")
    why = "without a checkpoint from outside (--checkpoint)"
    if told["given"]:
        reasons = "; ".join(told["uncounted"][:3]) or "only of the empty ledger"
        why = f"no checkpoint from outside counts here ({reasons})"
    return (
        f"not known: {why}: entries removed from the end, or a history rewritten by whoever"
        " holds the key, cannot be seen"
    )


def _word(told: dict[str, Any]) -> str:
    """Only `ok` is a verdict to rely on."""
    if not told["intact"]:
        return "BROKEN"
    if told["signed"] is None:
        return "UNSIGNED"
    return "ok" if told["pinned"] else "UNPINNED"


def _told_signed(signed: int | None, entries: int) -> str:
    if signed is None:
        reason = "no checkpoint by the key of this log fits what is here"
        return f"signed: nothing; {reason}, and anybody could have written it"
    told = f"signed: the key of this log has signed {signed} of {entries} entries"
    rest = "; those after them anybody who had the ledger could have written"
    return told + (rest if signed < entries else "")


def _told_witnessed(witnessed: dict[str, Any] | None, entries: int) -> Iterator[str]:
    if witnessed is None or not witnessed["size"]:
        return
    by = (f"{name} at {_moment(time)}" for name, time in witnessed["by"].items())
    yield f"witnessed: {witnessed['size']} of {entries} entries, by {', '.join(by)}"


def _moment(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return f"second {seconds}"


def _shown(line: str) -> str:
    """Nothing in the bundle may end a line of the verdict, or steer the terminal."""
    printable = (char if char.isprintable() else ascii(char)[1:-1] for char in line)
    coding = sys.stdout.encoding or "utf-8"
    return "".join(printable).encode(coding, "backslashreplace").decode(coding)


if __name__ == "__main__":
    sys.exit(main())
