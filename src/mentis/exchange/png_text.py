"""Texts inside PNG pictures: character cards travel in them. Bounded: a picture may be a trap."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping

from mentis.errors import BadInput

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_MOST_CHUNKS = 20_000
MOST_TEXT = 20_000_000  # of one text, unpacked
_HINT = "get the picture again; one that was saved anew by another program has lost its texts"


def is_png(data: bytes) -> bool:
    return data.startswith(_SIGNATURE)


def read_texts(data: bytes, keywords: Iterable[str]) -> dict[str, str]:
    """The texts with these keywords, whatever their case; of equal keywords the last counts."""
    wanted = {one.lower() for one in keywords}
    found: dict[str, str] = {}
    for kind, body in _chunks(data):
        if kind not in _TEXTS:
            continue
        keyword, _, rest = body.partition(b"\x00")
        name = keyword.decode("latin-1").lower()
        if name in wanted:
            found[name] = _text(kind, rest, name)
    return found


def with_texts(data: bytes, texts: Mapping[str, str], *, without: Iterable[str] = ()) -> bytes:
    """The picture with these texts before its end, in the place of those of the same keywords."""
    gone = {one.lower() for one in (*texts, *without)}
    out = [_SIGNATURE]
    for kind, body in _chunks(data):
        keyword = body.partition(b"\x00")[0].decode("latin-1").lower()
        if kind in _TEXTS and keyword in gone:
            continue
        if kind == b"IEND":
            out += [
                _chunk(b"tEXt", name.encode("latin-1") + b"\x00" + text.encode("latin-1"))
                for name, text in texts.items()
            ]
        out.append(_chunk(kind, body))
    return b"".join(out)


def plain_picture() -> bytes:
    """A picture of one grey point, for what has to travel in one and has none."""
    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(b"\x00\x80")), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, body) for kind, body in parts)


def _chunk(kind: bytes, body: bytes) -> bytes:
    check = zlib.crc32(kind + body)
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not is_png(data):
        raise BadInput("it is no PNG picture", hint=_HINT)
    at = len(_SIGNATURE)
    for _ in range(_MOST_CHUNKS):
        if len(data) < at + 12:
            raise BadInput(f"the picture ends at byte {len(data)}, inside of a part", hint=_HINT)
        (length,) = struct.unpack_from(">I", data, at)
        end = at + 8 + length
        if end + 4 > len(data):
            raise BadInput(f"a part of the picture at byte {at} is longer than it", hint=_HINT)
        kind, body = data[at + 4 : at + 8], data[at + 8 : end]
        if kind in _TEXTS and struct.unpack_from(">I", data, end)[0] != zlib.crc32(kind + body):
            raise BadInput(f"a text of the picture at byte {at} is damaged", hint=_HINT)
        yield kind, body
        if kind == b"IEND":
            return
        at = end + 4
    raise BadInput(f"the picture has more than {_MOST_CHUNKS} parts", hint=_HINT)


def _text(kind: bytes, rest: bytes, name: str) -> str:
    if kind == b"iTXt":
        flag, rest = rest[:1], rest[2:]
        rest = rest.partition(b"\x00")[2].partition(b"\x00")[2]  # language, translated keyword
        packed = flag == b"\x01"
    else:
        packed = kind == b"zTXt"
        rest = rest[1:] if packed else rest
    data = _unpacked(rest, name) if packed else rest
    if len(data) > MOST_TEXT:
        raise _too_long(name)
    try:
        return data.decode("utf-8" if kind == b"iTXt" else "latin-1")
    except UnicodeDecodeError as error:
        raise BadInput(f"the text {name!r} of the picture is not UTF-8", hint=_HINT) from error


def _unpacked(data: bytes, name: str) -> bytes:
    reader = zlib.decompressobj()
    try:
        told = reader.decompress(data, MOST_TEXT + 1)
    except zlib.error as error:
        raise BadInput(f"the text {name!r} of the picture is damaged", hint=_HINT) from error
    if len(told) > MOST_TEXT:
        raise _too_long(name)
    return told


def _too_long(name: str) -> BadInput:
    return BadInput(
        f"the text {name!r} of the picture has more than {MOST_TEXT} bytes",
        hint="no card is that long; do not import it unless you know who made it",
    )
