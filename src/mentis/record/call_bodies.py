"""Bodies of recorded calls, kept block by block: what a call repeats is on the disk once.

A body of JSON is cut where its tools, system blocks and messages begin and end. Its list of blocks
is a blob, too; put together again they are the body, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from mentis.errors import StoreDamaged
from mentis.ports.blob_store import BlobStore
from mentis.values.digest import Digest
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.value import Value

CALL = "call"
# The fields of an entry that name a body; `original`: what a program said, where it was changed.
BODIES = ("request", "answer", "original")
_FORMAT = 1
_SHORT = 256  # bytes; what is shorter stands in the list itself
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
# Text that stands in the list, or pointer and digest of a block.
_Piece: TypeAlias = str | list[str]


@dataclass(frozen=True, slots=True)
class BodyBlock(Value):
    """A part of a body: an item of a list, another member, or (without a pointer) what lies
    between them.
    """

    text: str
    pointer: str = ""


def split_body(text: str) -> tuple[JsonObject | None, tuple[BodyBlock, ...]]:
    """The object that a text is, with its blocks; None for a text that is none, as one block."""
    try:
        cuts = _Cuts(text)
        value = cuts.read()
    except (ValueError, IndexError, RecursionError):
        return None, (BodyBlock(text),)
    return value, tuple(cuts.blocks)


class _Cuts:
    """One way through a text, as strict as the decoder of JSON is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._cut_at = 0
        self.blocks: list[BodyBlock] = []

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
        self.blocks.append(BodyBlock(self._text[self._cut_at :]))
        return found

    def _key(self) -> str:
        if self._peek() != '"':
            raise ValueError(f"a name is missing at {self._at}")
        key, self._at = cast("tuple[str, int]", _DECODER.raw_decode(self._text, self._at))
        return key

    def _list(self, pointer: str) -> list[object]:
        items: list[object] = []
        self._expect("[")
        while self._peek() != "]":
            if items:
                self._expect(",")
            items.append(self._value(f"{pointer}/{len(items)}"))
        self._expect("]")
        return items

    def _value(self, pointer: str) -> object:
        self._peek()
        begin = self._at
        value, end = cast("tuple[object, int]", _DECODER.raw_decode(self._text, begin))
        self._at = end
        self.blocks.append(BodyBlock(self._text[self._cut_at : begin]))
        self.blocks.append(BodyBlock(self._text[begin : self._at], pointer))
        self._cut_at = self._at
        return value

    def _peek(self) -> str:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at]

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise ValueError(f"{character} is missing at {self._at}")
        self._at += 1


def keep_body(blobs: BlobStore, content: bytes, blocks: Collection[BodyBlock] | None) -> Digest:
    """`blocks` are those of the content, None where it is no text."""
    listed: list[_Piece] = []
    for block in blocks or ():
        data = block.text.encode()
        if len(data) >= _SHORT:
            listed.append([block.pointer, blobs.keep(data)])
        elif listed and isinstance(listed[-1], str):
            listed[-1] += block.text
        elif block.text:
            listed.append(block.text)
    if blocks is None:
        listed.append(["", blobs.keep(content)])
    form = {"format": _FORMAT, "blocks": listed}
    return blobs.keep(json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode())


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
