"""A JSON value as the bytes that are sent: compact, keys in their order, nothing but UTF-8."""

from __future__ import annotations

import json

import orjson

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
# Of these the two writers make the same bytes. Fractions they write differently.
_PLAIN = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_ALIKE = frozenset((str, int, bool, type(None)))


def dump(value: object) -> bytes:
    """As the standard library writes it; by the faster writer wherever that makes no difference."""
    try:
        if type(value) is str or _alike(value):
            return orjson.dumps(value)
    except (TypeError, RecursionError):
        pass  # half a character, a number beyond 64 bits, too deep: the standard library decides
    return _encoder.encode(value).encode()


def quick(value: object) -> bytes:
    """JSON to look into, not to send: fractions may be written in another way.

    Empty where it takes `dump` to tell whether JSON can say it at all.
    """
    try:
        written = orjson.dumps(value, option=_PLAIN)
    except TypeError:
        return b""
    # What is not a number becomes null there, and would be refused by `dump`.
    return b"" if b"null" in written else written


def _alike(value: object) -> bool:
    if type(value) in _ALIKE:
        return True
    if isinstance(value, dict):
        return all(map(_alike, value.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  # JSON
    return isinstance(value, list) and all(map(_alike, value))  # pyright: ignore[reportUnknownArgumentType]  # JSON
