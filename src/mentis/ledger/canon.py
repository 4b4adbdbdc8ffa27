"""Canonical JSON (RFC 8785, JCS): one byte form per value, or a refusal that names the place.

The refusals are wider than JCS asks for: whatever is accepted here reads back from its canonical
bytes as a value with the same canonical bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import rfc8785

from mentis.errors import NotCanonical

MAX_DEPTH = 64
MAX_BYTES = 1024 * 1024
MAX_INTEGER = 2**53 - 1
# From here on JCS writes numbers with an exponent, so they read back as floats.
_EXPONENT_FROM = 1e21


def canonical(value: object) -> bytes:
    """The JCS bytes of a value made of dicts, lists, tuples, strings, numbers, booleans, None."""
    encoded = rfc8785.dumps(_Check().plain(value, "", 1))
    if len(encoded) > MAX_BYTES:
        raise _refusal("", f"it takes {len(encoded)} bytes, more than {MAX_BYTES}")
    return encoded


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
            inner = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
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
    if not math.isfinite(number):
        raise _refusal(pointer, f"{number} is not a JSON number")
    if number == 0 and math.copysign(1, number) < 0:
        raise _refusal(pointer, "negative zero would lose its sign")
    if MAX_INTEGER < abs(number) < _EXPONENT_FROM:
        reason = "the number would be written as an integer beyond 2^53-1"
        raise _refusal(pointer, reason, hint="write it as a string")
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
