"""Capabilities with precomputed vectors: made anew only where they changed, never mixed."""

from __future__ import annotations

import math
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from mentis.errors import BadInput, Defect
from mentis.ports.embedder import Embedder
from mentis.values.selection import Capability, Manifest, ManifestEntry, ManifestHeader
from mentis.values.value import Value

VERSION = 1
GENERATOR = "mentis-manifest-2"  # changes with how texts are made of capabilities
_BATCH = 64
_LONGEST = 4_000  # characters of one description or example that are embedded
_JOINTS = re.compile(r"[_\-./:]+|(?<=[a-z0-9])(?=[A-Z])")
Read = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class WordReader(Value):
    """How texts are read before they are compared by words, and the name of that way."""

    name: str
    read: Read


@dataclass(frozen=True, slots=True)
class ManifestDifference(Value):
    """One way in which a manifest is not what would be built now."""

    name: str
    what: str


def texts_of(capability: Capability) -> tuple[str, ...]:
    """What is embedded of it: name and description as one text, then every example.

    Of a pattern the text alone: its name says nothing.
    """
    said = capability.description
    if capability.kind != "pattern":
        said = f"{_title(capability.name)}: {said}"
    return tuple(text[:_LONGEST] for text in (said, *capability.examples))


def _title(name: str) -> str:
    """A name as words: fs.readFile and read_file are both about reading files."""
    return _JOINTS.sub(" ", name).strip()


def digest_of(capability: Capability, *, model: str, reading: str) -> str:
    parts = (GENERATOR, model, reading, *texts_of(capability))
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


async def build_manifest(
    capabilities: Iterable[Capability],
    embedder: Embedder,
    reader: WordReader,
    *,
    previous: Manifest | None = None,
) -> tuple[Manifest, int]:
    """The manifest of these capabilities, and how many of them had to be embedded anew."""
    ordered = _ordered(capabilities)
    model = embedder.fingerprint
    digests = [digest_of(one, model=model, reading=reader.name) for one in ordered]
    kept = _kept(previous)
    changed = [one for one, digest in zip(ordered, digests, strict=True) if digest not in kept]
    made = await _embedded(changed, embedder)
    fresh = {digest_of(one, model=model, reading=reader.name): rows for one, rows in made}
    blocks = [kept[digest] if digest in kept else fresh[digest] for digest in digests]
    _check_widths(blocks)
    entries = _entries(ordered, digests, blocks, reader)
    vectors = b"".join(_little(row) for rows in blocks for row in rows)
    dimension = len(blocks[0][0]) if blocks else 0
    header = ManifestHeader(
        version=VERSION,
        generator=GENERATOR,
        model=model,
        reading=reader.name,
        dimension=dimension,
        normalised=True,
        rows=sum(len(rows) for rows in blocks),
        content="",
    )
    manifest = Manifest(header, entries, vectors)
    return replace(manifest, header=replace(header, content=content_digest(manifest))), len(changed)


def content_digest(manifest: Manifest) -> str:
    """The digest of entries and vectors, and of what they were made by."""
    header = manifest.header
    found = sha256(f"{header.model}\0{header.reading}\0{header.dimension}\0".encode())
    for entry in manifest.entries:
        one = entry.capability
        said = (entry.digest, one.kind, one.name, one.description, *one.stances, *entry.readings)
        found.update("\0".join(said).encode("utf-8", "surrogatepass") + b"\1")
    found.update(manifest.vectors)
    return f"sha256:{found.hexdigest()}"


def check_manifest(
    manifest: Manifest, capabilities: Iterable[Capability], *, model: str, reading: str
) -> tuple[ManifestDifference, ...]:
    """What a build would change; nothing when the manifest is current."""
    header = manifest.header
    if (header.model, header.reading) != (model, reading):
        made, now = f"{header.model}, {header.reading}", f"{model}, {reading}"
        return (ManifestDifference("", f"made by {made}; the embedder here is {now}"),)
    wanted = {
        (one.kind, one.name): digest_of(one, model=model, reading=reading)
        for one in _ordered(capabilities)
    }
    held = {(one.capability.kind, one.capability.name): one.digest for one in manifest.entries}
    return tuple(
        ManifestDifference(name, what)
        for kind, name in sorted({*wanted, *held})
        if (what := _difference(wanted.get((kind, name)), held.get((kind, name))))
    )


def _difference(wanted: str | None, held: str | None) -> str:
    if held is None:
        return "is not in the manifest"
    if wanted is None:
        return "is in the manifest and nowhere else"
    return "" if wanted == held else "has changed"


def _ordered(capabilities: Iterable[Capability]) -> list[Capability]:
    found: dict[tuple[str, str], Capability] = {}
    for one in capabilities:
        if (one.kind, one.name) in found:
            raise BadInput(
                f"there are two {one.kind}s called {one.name!r}",
                hint=f"rename one of them: {found[one.kind, one.name].source} and {one.source}",
                name=one.name,
            )
        found[one.kind, one.name] = one
    return [found[key] for key in sorted(found)]


def _kept(previous: Manifest | None) -> Mapping[str, list[array[float]]]:
    if previous is None:
        return {}
    rows = rows_of(previous)
    return {one.digest: rows[one.start : one.start + one.rows] for one in previous.entries}


def rows_of(manifest: Manifest) -> list[array[float]]:
    size = manifest.header.dimension * 4
    return [
        floats(manifest.vectors[start : start + size])
        for start in range(0, len(manifest.vectors), size or 1)
    ]


def floats(data: bytes) -> array[float]:
    """Little-endian 32-bit floats, on every machine."""
    found = array("f", data)
    if sys.byteorder == "big":
        found.byteswap()
    return found


def _little(row: array[float]) -> bytes:
    if sys.byteorder == "little":
        return row.tobytes()
    turned = array("f", row)
    turned.byteswap()
    return turned.tobytes()


async def _embedded(
    changed: Sequence[Capability], embedder: Embedder
) -> list[tuple[Capability, list[array[float]]]]:
    texts = [text for one in changed for text in texts_of(one)]
    vectors: list[list[float]] = []
    for start in range(0, len(texts), _BATCH):
        vectors += await embedder.embed(texts[start : start + _BATCH])
    _check_vectors(vectors, len(texts), embedder)
    made: list[tuple[Capability, list[array[float]]]] = []
    place = 0
    for one in changed:
        count = len(texts_of(one))
        rows = [array("f", vector) for vector in vectors[place : place + count]]
        made.append((one, rows))
        place += count
    return made


def _check_vectors(vectors: Sequence[Sequence[float]], count: int, embedder: Embedder) -> None:
    lengths = {len(vector) for vector in vectors}
    if len(vectors) != count or len(lengths) > 1:
        raise Defect(f"the embedder {embedder.fingerprint} gave vectors of {sorted(lengths)}")
    if not all(math.isfinite(value) for vector in vectors for value in vector):
        raise BadInput(
            f"the embedder {embedder.fingerprint} gave a vector that is not a number",
            hint="nothing was written; check the embedder",
        )


def _check_widths(blocks: Sequence[Sequence[array[float]]]) -> None:
    """What was kept and what is new must be of one kind, whatever the fingerprint says."""
    widths = {len(row) for rows in blocks for row in rows}
    if len(widths) > 1:
        raise BadInput(
            f"the embedder gave vectors of {min(widths)} and {max(widths)} dimensions",
            hint="embed everything again: mentis manifest build --anew",
        )


def _entries(
    ordered: Sequence[Capability],
    digests: Sequence[str],
    blocks: Sequence[Sequence[array[float]]],
    reader: WordReader,
) -> tuple[ManifestEntry, ...]:
    entries: list[ManifestEntry] = []
    start = 0
    for one, digest, rows in zip(ordered, digests, blocks, strict=True):
        readings = tuple(read_both(text, reader) for text in texts_of(one))
        entries.append(ManifestEntry(one, digest, start, len(rows), readings))
        start += len(rows)
    return tuple(entries)


def read_both(text: str, reader: WordReader) -> str:
    """The text as it is read, followed by the text itself where the two differ."""
    read = reader.read(text)
    return text if read == text else f"{read} {text}"
