"""Logs that are one document: HAR, cassettes of VCR, exports as one JSON. There is a size."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import orjson

from mentis.values.json import json_object

from .lines import FileFaults, read_odd

MOST_DOCUMENT = 128 * 1024 * 1024
_GZIP = b"\x1f\x8b"
_YAML = (".yaml", ".yml")
# Lists in which documents keep their items, from the outside in.
_LISTS = (
    "entries",
    "interactions",
    "http_interactions",
    "observations",
    "data",
    "results",
    "calls",
)
_DEEPEST = 3


def is_yaml(path: Path) -> bool:
    return path.suffix.lower() in _YAML


def document_items(path: Path, faults: FileFaults) -> Iterator[tuple[int, dict[str, object]]]:
    """The items of a document with their numbers."""
    content = _content(path, faults)
    if content is None:
        return
    found = _yaml(content, faults) if is_yaml(path) else _json(content, faults)
    yield from enumerate(objects_in(found), 1)


def objects_in(found: object) -> Iterator[dict[str, object]]:
    """The items of a document that are objects."""
    for one in _items(found):
        if isinstance(one, dict):
            yield cast("dict[str, object]", one)


def _content(path: Path, faults: FileFaults) -> bytes | None:
    try:
        with path.open("rb") as opened:
            packed = opened.read(2) == _GZIP
            opened.seek(0)
            source = cast("Any", gzip.open(opened) if packed else opened)  # noqa: SIM115  # closed above
            content = cast("bytes", source.read(MOST_DOCUMENT + 1))
    except OSError as error:
        faults.why = f"cannot be read: {error.strerror or error}"
        return None
    except (EOFError, zlib.error):
        faults.why = "ends in the middle, and is one document: not read"
        return None
    if len(content) > MOST_DOCUMENT:
        size = MOST_DOCUMENT // 1024 // 1024
        faults.why = f"is one document of more than {size} MB: write it as lines of JSON instead"
        return None
    return content


def _json(content: bytes, faults: FileFaults) -> object:
    try:
        return cast("object", orjson.loads(content.removeprefix(b"\xef\xbb\xbf")))
    except ValueError:
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        found = read_odd(content.decode(encoding, "replace").encode("utf-8", "replace"))
    if found is None:
        faults.why = "is no JSON, neither as a whole nor line by line"
    return found


def _yaml(content: bytes, faults: FileFaults) -> object:
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        faults.why = "is YAML, which needs a package: pip install 'mentis[tools]'"
        return None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return cast("object", yaml.load(content, Loader=loader))  # a safe loader
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        faults.why = f"is no YAML that is read: {str(error).splitlines()[0][:80]}"
        return None


def _items(found: object, depth: int = _DEEPEST) -> Iterator[object]:
    """Those of the first list of them; a document that has none is one item."""
    if isinstance(found, list):
        yield from cast("list[object]", found)
        return
    told = json_object(found)
    inner = json_object(told.get("log")) or told
    for name in _LISTS:
        listed = inner.get(name)
        if isinstance(listed, list) and listed:
            session = inner.get("sessionId")
            for one in cast("list[object]", listed):
                yield _with_session(one, session)
            return
    if depth and isinstance(told.get("trace"), dict):
        yield from _items(told["trace"], depth - 1)
    elif told:
        yield found


def _with_session(one: object, session: object) -> object:
    """A trace says once which session it is of."""
    if session and isinstance(one, dict) and "sessionId" not in one:
        return {**cast("dict[str, object]", one), "sessionId": session}
    return cast("object", one)
