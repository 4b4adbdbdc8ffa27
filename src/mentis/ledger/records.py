"""One entry as one line of JSON, for segments and bundles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson

from mentis.codec.strict_json import read_strict_object
from mentis.errors import NotCanonical, StoreDamaged
from mentis.values.entry import Entry

# An entry of the largest body, with commitments and salts beside it.
MAX_LINE = 8 * 1024 * 1024
_TEXTS = ("agent", "time", "source", "kind", "hash", "recipe")
_OPTIONAL = ("ruleset", "prev", "delivery")
_OBJECTS = ("fields", "body", "salts")
_NAMES = frozenset({"index", *_TEXTS, *_OPTIONAL, *_OBJECTS})


def write_entry(entry: Entry) -> bytes:
    plain: dict[str, object] = {name: getattr(entry, name) for name in _NAMES}
    for name in _OBJECTS:
        plain[name] = dict(cast("Mapping[str, object]", plain[name]))
    return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS) + b"\n"


def read_entry(line: bytes, *, number: int) -> Entry:
    """The entry of a line; StoreDamaged names the entry and the column that cannot be read."""
    try:
        told: dict[str, Any] = read_strict_object(line, max_bytes=MAX_LINE)
    except NotCanonical as refusal:
        raise _damaged(number, "", refusal.message) from refusal
    for name in _NAMES - told.keys():
        raise _damaged(number, name, "it is missing")
    for name in told.keys() - _NAMES:
        raise _damaged(number, name, "it does not belong there")
    for name, value in told.items():
        if not _fits(name, value):
            raise _damaged(number, name, f"it holds {type(value).__name__}")
    return Entry(**told)


def _fits(name: str, value: object) -> bool:
    if name == "index":
        return type(value) is int
    if name in _OBJECTS:
        members = cast("dict[str, object]", value) if isinstance(value, dict) else None
        return members is not None and (
            name == "body" or all(isinstance(member, str) for member in members.values())
        )
    return isinstance(value, str) or (value is None and name in _OPTIONAL)


def _damaged(number: int, column: str, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"entry {number}, column `{column}` cannot be read: {reason}",
        hint="take the file from a copy that verifies",
        index=number,
        column=column,
    )
