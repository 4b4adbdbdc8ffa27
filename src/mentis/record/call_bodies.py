"""Bodies of recorded calls, kept block by block: what a call repeats is on the disk once.

A body of JSON is cut where its tools, system blocks and messages begin and end. Its list of blocks
is a blob, too; put together again they are the body, byte for byte.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, TypeVar, cast

from mentis.errors import StoreDamaged
from mentis.ports.blob_store import BlobStore
from mentis.values.digest import Digest, digest
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.value import Value

CALL = "call"
# The fields of an entry that name a body; `original`: what a program said, where it was changed.
BODIES = ("request", "answer", "original")
_FORMAT = 1
_SHORT = 256  # bytes; what is shorter stands in the list itself
_BEGIN = 64  # characters of a block, by which it is looked for
_MOST_KNOWN = 8_000_000  # characters
_MOST_MADE = 10_000
_MOST_RUNS = 16  # of different conversations, and of their tools
_CLOSED = '}"]'  # how a value ends that says itself where: a figure more is another number
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
# Text that stands in the list, or pointer and digest of a block.
_Piece: TypeAlias = str | list[str]
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class BodyBlock(Value):
    """A part of a body: an item of a list, another member, or (without a pointer) what lies
    between them.
    """

    text: str
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class _ItemRun:
    """The items of a list as they stood in a body: `text` begins with the first and ends with the
    last, and each ends at its place in `ends`. Between two blocks of items is one of what parts
    them.
    """

    pointer: str
    text: str
    items: tuple[object, ...]
    ends: tuple[int, ...]
    blocks: tuple[BodyBlock, ...]

    def shared(self, text: str, at: int) -> int:
        """How many of them a text goes on with."""
        return bisect_left(
            self.ends, True, key=lambda end: not text.startswith(self.text[:end], at)
        )

    def replaces(self, other: _ItemRun) -> bool:
        return self.pointer == other.pointer and self.text.startswith(other.text)

    def first(self, count: int) -> _ItemRun:
        if count == len(self.ends):
            return self
        text, ends = self.text[: self.ends[count - 1]], self.ends[:count]
        return _ItemRun(self.pointer, text, self.items[:count], ends, self.blocks[: 2 * count - 1])


@dataclass(frozen=True, slots=True)
class SplitBody:
    """`payload` is None where the text is no object; then it is one block. `fresh` are the blocks
    that were not known, each with its value; `runs` are its lists.
    """

    payload: JsonObject | None
    blocks: tuple[BodyBlock, ...]
    fresh: tuple[tuple[BodyBlock, object], ...] = ()
    runs: tuple[_ItemRun, ...] = ()


class KnownBlocks:
    """What stood in bodies of late, and what was made of it: a call repeats nearly all of the one
    before it, and what it repeats is neither read nor worked out again. Its values are not changed.
    """

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, str], tuple[BodyBlock, object]] = {}
        self._made: dict[tuple[object, ...], tuple[object, object]] = {}
        self._digests: dict[str, Digest] = {}
        self._runs: list[_ItemRun] = []  # the latest first
        self._size = 0

    def go_on(self, text: str, at: int, pointer: str) -> _ItemRun | None:
        """The items that a list begins with, where another one began with the same."""
        alike = [one for one in self._runs if one.pointer == pointer]
        if whole := [one for one in alike if text.startswith(one.text, at)]:
            return max(whole, key=lambda one: len(one.ends))
        counts = [one.shared(text, at) for one in alike]
        best = max(counts, default=0)
        return alike[counts.index(best)].first(best) if best else None

    def find(self, text: str, at: int, pointer: str) -> tuple[BodyBlock, object] | None:
        """The block that a text goes on with: an object or a text, which say where they end."""
        found = self._blocks.get((pointer, text[at : at + _BEGIN]))
        return found if found is not None and text.startswith(found[0].text, at) else None

    def learn(self, body: SplitBody) -> None:
        for run in body.runs:
            older = (one for one in self._runs if not run.replaces(one))
            self._runs = [run, *islice(older, _MOST_RUNS - 1)]
            while sum(len(one.text) for one in self._runs) > _MOST_KNOWN:
                self._runs.pop()
        for block, value in body.fresh:
            if len(block.text) < _SHORT or block.text[0] not in '{"':
                continue
            self._size += len(block.text)
            if self._size > _MOST_KNOWN:
                self._blocks.clear()
                self._made.clear()
                self._digests.clear()
                self._runs.clear()
                self._size = len(block.text)
            self._blocks[block.pointer, block.text[:_BEGIN]] = block, value

    def digest(self, text: str) -> Digest:
        found = self._digests.get(text)
        if found is None:
            if len(self._digests) >= _MOST_MADE:
                self._digests.clear()
            found = self._digests[text] = digest(text.encode())
        return found

    def remember(self, what: str, value: T, make: Callable[[T], U]) -> U:
        """What is made of a value, or of the members of a list, told by which they are."""
        told: object = value
        key: tuple[object, ...] = what, id(told)
        if isinstance(told, list):
            told = [*cast("list[object]", told)]
            key = (what, "members", *map(id, told))
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= _MOST_MADE:
                self._made.clear()
            found = self._made[key] = told, make(value)  # held: no other has the same id
        return cast("U", found[1])


def split_body(text: str, known: KnownBlocks | None = None) -> SplitBody:
    """The object that a text is, with its blocks."""
    try:
        cuts = _Cuts(text, known or KnownBlocks())
        value = cuts.read()
    except (ValueError, IndexError, RecursionError):
        whole = BodyBlock(text)
        return SplitBody(None, (whole,), ((whole, None),))
    return SplitBody(value, tuple(cuts.blocks), tuple(cuts.fresh), tuple(cuts.runs))


class _Cuts:
    """One way through a text, as strict as the decoder of JSON is."""

    def __init__(self, text: str, known: KnownBlocks) -> None:
        self._text = text
        self._known = known
        self._at = 0
        self._cut_at = 0
        self.blocks: list[BodyBlock] = []
        self.fresh: list[tuple[BodyBlock, object]] = []
        self.runs: list[_ItemRun] = []

    def read(self) -> JsonObject:
        found: dict[str, object] = {}
        self._expect("{")
        while self._peek() != "}":
            if found:
                self._expect(",")
            key = self._key()
            self._expect(":")
            escaped = key.replace("~", "~0").replace("/", "~1")
            found[key] = (
                self._list(f"/{escaped}") if self._peek() == "[" else self._value(f"/{escaped}")
            )
        self._expect("}")
        if self._text[self._at :].strip():
            raise ValueError("something stands behind the object")
        self._between(len(self._text))
        return found

    def _key(self) -> str:
        if self._peek() != '"':
            raise ValueError(f"a name is missing at {self._at}")
        key, self._at = cast("tuple[str, int]", _DECODER.raw_decode(self._text, self._at))
        return key

    def _list(self, pointer: str) -> list[object]:
        self._expect("[")
        self._peek()
        begin, first = self._at, len(self.blocks) + 1  # behind what stands before the list
        known = self._known.go_on(self._text, begin, pointer)
        items, ends, closed = list[object](), list[int](), True
        if known is not None:
            self._between(begin)
            self.blocks += known.blocks
            items += known.items
            ends += known.ends
            self._at = self._cut_at = begin + len(known.text)
        while self._peek() != "]":
            if items:
                self._expect(",")
            items.append(self._value(f"{pointer}/{len(items)}"))
            ends.append(self._at - begin)
            closed = closed and self._text[self._at - 1] in _CLOSED
        self._expect("]")
        if known is not None and len(known.ends) == len(ends):
            self.runs.append(known)
        elif items and closed:
            text, blocks = self._text[begin : self._cut_at], tuple(self.blocks[first:])
            self.runs.append(_ItemRun(pointer, text, tuple(items), tuple(ends), blocks))
        return items

    def _value(self, pointer: str) -> object:
        self._peek()
        begin = self._at
        found = self._known.find(self._text, begin, pointer)
        if found is None:
            read = _DECODER.raw_decode(self._text, begin)
            value, end = cast("tuple[object, int]", read)
            found = BodyBlock(self._text[begin:end], pointer), value
            self._between(begin)
            self.fresh.append(found)
        else:
            self._between(begin)
        block, value = found
        self.blocks.append(block)
        self._at = self._cut_at = begin + len(block.text)
        return value

    def _between(self, end: int) -> None:
        between = BodyBlock(self._text[self._cut_at : end])
        self.blocks.append(between)
        self.fresh.append((between, None))

    def _peek(self) -> str:
        if (character := self._text[self._at]) not in " \t\n\r":
            return character
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at]

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise ValueError(f"{character} is missing at {self._at}")
        self._at += 1


def keep_body(
    blobs: BlobStore,
    content: bytes,
    blocks: Collection[BodyBlock] | None,
    known: KnownBlocks | None = None,
) -> Digest:
    """`blocks` are those of the content, None where it is no text."""
    known, listed, short = known or KnownBlocks(), list[_Piece](), list[str]()
    for block in blocks or ():
        text = block.text
        if len(text) < _SHORT and (text.isascii() or len(text.encode()) < _SHORT):
            short.append(text)
            continue
        name = known.digest(text)
        if not blobs.has(name):
            blobs.keep(text.encode())
        listed += [*_joined(short), [block.pointer, name]]
        short.clear()
    listed += _joined(short)
    if blocks is None:
        listed.append(["", blobs.keep(content)])
    form = {"format": _FORMAT, "blocks": listed}
    return blobs.keep(json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode())


def _joined(texts: Collection[str]) -> list[str]:
    return [joined] if (joined := "".join(texts)) else []


def read_body(blobs: BlobStore, listing: Digest) -> bytes | None:
    """None where some of it is not here any more. StoreDamaged where it is no such list."""
    pieces: list[bytes] = []
    for piece in _pieces(blobs, listing):
        content = piece.encode() if isinstance(piece, str) else blobs.read(piece[1])
        if content is None:
            return None
        pieces.append(content)
    return b"".join(pieces) if pieces else None


def call_blobs(blobs: BlobStore, entry: Entry, fields: Collection[str]) -> frozenset[Digest]:
    """Every blob that these fields of a call need."""
    found: set[Digest] = set()
    for field in fields if entry.kind == CALL else ():
        told = entry.body.get(field) if field in BODIES else None
        listing = cast("JsonObject", told).get("body") if isinstance(told, Mapping) else None
        if isinstance(listing, str):
            found |= {
                listing,
                *(one[1] for one in _pieces(blobs, listing) if isinstance(one, list)),
            }
    return frozenset(found)


def _pieces(blobs: BlobStore, listing: Digest) -> Iterator[_Piece]:
    raw = blobs.read(listing)
    if raw is None:
        return
    try:
        form = cast("JsonObject", json.loads(raw))
        listed = {_FORMAT: form["blocks"]}[cast("int", form["format"])]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(
            f"blob {listing} is no list of blocks: {error!r}", hint="was it made by a newer Mentis?"
        ) from error
    yield from cast("list[_Piece]", listed)
