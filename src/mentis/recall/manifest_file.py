"""A manifest as bytes: a mark, a line of JSON, the vectors. Anything not as written is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

from mentis.codec.forms import from_json, to_object
from mentis.disk.bounded import read_bounded
from mentis.errors import BadInput, MentisError
from mentis.values.selection import Manifest

from .manifest import VERSION, content_digest, floats

FILE = "manifests/capabilities.manifest"  # seen from the home
_LARGEST = 2_000_000_000
_MARK = b"mentis-manifest 1\n"
_HINT = "mentis manifest build"


def load_manifest(path: Path) -> Manifest | None:
    """The manifest in this file; None when there is none. A damaged one is refused."""
    try:
        data = read_bounded(path, _LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    return decode_manifest(data, where=str(path))


def encode_manifest(manifest: Manifest) -> bytes:
    described = to_object(manifest)
    described["vectors"] = ""
    line = json.dumps(described, ensure_ascii=True, separators=(",", ":"))
    return b"".join((_MARK, line.encode("ascii"), b"\n", manifest.vectors))


def begins_as_manifest(data: bytes) -> bool:
    return data.startswith(_MARK)


def decode_manifest(data: bytes, *, where: str) -> Manifest:
    """The manifest in these bytes. BadInput when it is damaged, newer, or holds no numbers."""
    if not begins_as_manifest(data):
        raise BadInput(f"{where} is not a manifest", hint=f"{_HINT} --anew", path=where)
    line, found, vectors = data[len(_MARK) :].partition(b"\n")
    if not found:
        raise BadInput(f"{where} ends too early", hint=_HINT, path=where)
    manifest = _described(line, where)
    whole = Manifest(manifest.header, manifest.entries, vectors)
    _check(whole, where)
    return whole


def _described(line: bytes, where: str) -> Manifest:
    try:
        return from_json(Manifest, line)
    except MentisError as error:
        raise BadInput(f"{where}: {error.message}", hint=_HINT, path=where) from error


def _check(manifest: Manifest, where: str) -> None:
    header = manifest.header
    problem = ""
    if header.version > VERSION:
        problem = f"a newer Mentis wrote it (format {header.version})"
    elif len(manifest.vectors) != header.rows * header.dimension * 4:
        problem = "it holds fewer or more vectors than it says"
    elif not math.isfinite(sum(floats(manifest.vectors))):  # one that is no number spoils the sum
        problem = "a vector holds what is not a number"
    elif sum(entry.rows for entry in manifest.entries) != header.rows:
        problem = "entries and vectors do not belong together"
    elif content_digest(manifest) != header.content:
        problem = "its digest is not that of its content"
    if problem:
        raise BadInput(f"{where} cannot be used: {problem}", hint=_HINT, path=where)
