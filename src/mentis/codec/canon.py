"""Canonical JSON (RFC 8785, JCS): one byte form per value, or a refusal that names the place.

The refusals are wider than JCS asks for: whatever is accepted here reads back from its canonical
bytes as a value with the same canonical bytes. Values whose JCS bytes orjson is known to write go
to orjson; all others, and all that is refused, go the slow way through rfc8785.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import orjson
import rfc8785

from mentis.errors import NotCanonical
from mentis.values.json import JsonObject

MAX_DEPTH = 64
MAX_BYTES = 1024 * 1024
MAX_INTEGER = 2**53 - 1
# From here on JCS writes numbers with an exponent, so they read back as floats.
_EXPONENT_FROM = 1e21
# Between these, what is no whole number is written alike by JCS and by orjson.
_PLAIN_FROM, _PLAIN_TO = 1e-5, 2.0**53
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_ASTRAL_BYTES = bytes(range(0xF0, 0xF5))  # one of them begins each such character in UTF-8
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_MANY = 100_000
# The name of a field, and the JCS bytes of name and value.
Field: TypeAlias = tuple[str, bytes, bytes]


def canonical(value: object) -> bytes:
    """The JCS bytes of a value made of dicts, lists, tuples, strings, numbers, booleans, None."""
    encoded = (_fast(value) if _plain(value) else None) or rfc8785.dumps(
        _Check().plain(value, "", 1)
    )
    if len(encoded) > MAX_BYTES:
        raise _refusal("", f"it takes {len(encoded)} bytes, more than {MAX_BYTES}")
    return encoded


def canonical_fields(body: JsonObject) -> list[Field]:
    """The JCS bytes of each field; a refusal counts from the whole body."""
    fields = _fast_fields(body) if _plain(body) else None
    if fields is not None:
        return fields
    canonical(body)  # refuses what is too deep or too long as a whole
    return [(name, canonical(name), canonical(value)) for name, value in body.items()]


def canonical_header(header: JsonObject) -> bytes:
    """The same for the header of an entry, whose columns have their types already."""
    try:
        encoded = orjson.dumps(header, option=_OPTIONS)
    except orjson.JSONEncodeError:
        return canonical(header)
    if len(encoded) <= MAX_BYTES and (encoded.isascii() or _in_order(header, encoded)):
        return encoded
    return canonical(header)


def check_number(number: float) -> str | None:
    """Why this number has no canonical form, or None if it has one."""
    if not math.isfinite(number):
        return f"{number} is not a JSON number"
    if number == 0 and math.copysign(1, number) < 0:
        return "negative zero would lose its sign"
    if MAX_INTEGER < abs(number) < _EXPONENT_FROM:
        return "the number would be written as an integer beyond 2^53-1"
    return None


def step(pointer: str, key: str) -> str:
    """The JSON pointer of a member."""
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


def _fast(value: object) -> bytes | None:
    """The JCS bytes of a plain value, or None if orjson refuses it or would sort it otherwise."""
    try:
        encoded = orjson.dumps(value, option=_OPTIONS)
    except orjson.JSONEncodeError:
        return None  # half a surrogate pair, a foreign type; the slow way says where
    # It sorts keys by UTF-8 and JCS by UTF-16, which is the same order up to U+FFFF.
    return encoded if encoded.isascii() or _in_order(value, encoded) else None


def _in_order(value: object, encoded: bytes) -> bool:
    if len(encoded.translate(None, _ASTRAL_BYTES)) == len(encoded):
        return True
    return not any(_ASTRAL.search("".join(keys)) for keys in _keys(value))


def _fast_fields(body: JsonObject) -> list[Field] | None:
    fields: list[Field] = []
    size = 0
    try:
        for name, value in body.items():
            key, content = orjson.dumps(name), orjson.dumps(value, option=_OPTIONS)
            if not (content.isascii() or _in_order(value, content)):
                return None
            fields.append((name, key, content))
            # As `["key",value]`: together never shorter than the whole body would be.
            size += len(key) + len(content) + 3
    except orjson.JSONEncodeError:
        return None
    return fields if size <= MAX_BYTES else None


def _plain(value: object) -> bool:
    """Whether orjson writes the JCS bytes, but for the order of keys.

    Counted on the way: no value can run away with it.
    """
    queue: list[Any] = [value]
    size = boxes = 0
    for item in queue:
        if type(item) is str:  # as most are
            size += len(item)
            continue
        kind: Any = type(item)  # pyright: ignore[reportUnknownVariableType]  # any JSON
        if kind is dict:
            queue += item.values()
        elif kind is list or kind is tuple:
            queue += item
        elif kind is float:
            if not _PLAIN_FROM <= abs(item) < _PLAIN_TO or item.is_integer():
                return False
            continue
        elif item is None or kind is bool or (kind is int and abs(item) <= MAX_INTEGER):
            continue
        else:
            return False
        boxes += 1
        if len(queue) > _MANY:
            return False
    # Few boxes cannot be nested deeply, nor repeat their keys often.
    return size <= MAX_BYTES and (boxes <= MAX_DEPTH or _bounded(value, size))


def _bounded(value: object, size: int) -> bool:
    """Not nested too deeply, and not too long with its keys."""
    for depth, keys in enumerate(_keys(value), start=1):
        size += sum(map(len, keys))
        if depth > MAX_DEPTH or size > MAX_BYTES:
            return False
    return True


def _keys(value: object) -> Iterator[list[str]]:
    """Those of each depth: there is a list for it as long as there are boxes."""
    level: list[Any] = [value]
    while True:
        dicts: list[Any] = [item for item in level if isinstance(item, dict)]
        lists: list[Any] = [item for item in level if isinstance(item, (list, tuple))]
        if not dicts and not lists:
            return
        yield [key for box in dicts for key in box if isinstance(key, str)]
        level = [item for box in (*(box.values() for box in dicts), *lists) for item in box]


class _Check:
    """Walks a value once, copies it into plain dicts and lists, and counts the least it takes."""

    def __init__(self) -> None:
        self._size = 0

    def plain(self, value: object, pointer: str, depth: int) -> Any:  # noqa: ANN401 - any JSON
        self._grow(1, pointer)
        match value:
            case None | bool():
                return value
            case str():
                return self._string(value, pointer)
            case int():
                return _integer(value, pointer)
            case float():
                return _number(value, pointer)
            case Mapping():
                members = cast("Mapping[object, object]", value)
                return self._members(members, pointer, depth)
            case list() | tuple():
                return self._items(cast("Sequence[object]", value), pointer, depth)
            case _:
                raise _refusal(pointer, f"{type(value).__name__} is not a JSON type")

    def _grow(self, size: int, pointer: str) -> None:
        # Counted on the way, so that a value that shares parts with itself cannot run away.
        self._size += size
        if self._size > MAX_BYTES:
            raise _refusal(pointer, f"up to here it takes more than {MAX_BYTES} bytes")

    def _string(self, text: str, pointer: str) -> str:
        self._grow(len(text) + 1, pointer)
        if not _encodable(text):
            raise _refusal(pointer, "the text holds a lone surrogate")
        return text

    def _members(self, members: Mapping[object, object], pointer: str, depth: int) -> object:
        _check_depth(pointer, depth)
        plain: dict[str, object] = {}
        for key, item in members.items():
            if not isinstance(key, str):
                raise _refusal(pointer, f"the key {key!r} is not a string")
            inner = step(pointer, key)
            plain[self._string(key, inner)] = self.plain(item, inner, depth + 1)
        return plain

    def _items(self, items: Sequence[object], pointer: str, depth: int) -> object:
        _check_depth(pointer, depth)
        return [self.plain(item, f"{pointer}/{i}", depth + 1) for i, item in enumerate(items)]


def _check_depth(pointer: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _refusal(pointer, f"it is nested more than {MAX_DEPTH} levels deep")


def _integer(number: int, pointer: str) -> int:
    if abs(number) > MAX_INTEGER:
        raise _refusal(pointer, "the integer is beyond 2^53-1", hint="write it as a string")
    return number


def _number(number: float, pointer: str) -> float:
    reason = check_number(number)
    if reason is not None:
        hint = "write it as a string" if math.isfinite(number) and number else ""
        raise _refusal(pointer, reason, hint=hint)
    return number


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refusal(pointer: str, reason: str, *, hint: str = "") -> NotCanonical:
    place = pointer.encode(errors="backslashreplace").decode()
    return NotCanonical(
        f'the value at "{place}" has no canonical JSON form: {reason}',
        hint=hint or "change or leave out that value; nothing was written",
        pointer=place,
        reason=reason,
    )
