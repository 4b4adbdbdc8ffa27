"""Takes fields that may be of any shape: what is not what it should be counts as absent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NoReturn

_MOST_TOKENS = 10**12
_NOTHING: Mapping[str, object] = {}


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


class DoubledKeys(dict[str, object]):
    """An object in which a key stood twice: nobody knows which was meant. `pairs` is all of it."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    @property
    def key(self) -> str:
        names = [name for name, _ in self.pairs]
        return next(name for name in names if names.count(name) > 1)


def mark_doubled(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """What a decoder makes of an object, so that a key that stands twice is not lost."""
    members = dict(pairs)
    return members if len(members) == len(pairs) else DoubledKeys(pairs)


# Skips what `json.loads` does around the scanner; one event is one document without blanks.
decode_at_start = json.JSONDecoder().raw_decode
# The same, a little slower: for the few events that may hold the arguments of a call.
decode_marked = json.JSONDecoder(object_pairs_hook=mark_doubled).raw_decode


def text_in(value: object) -> str:
    return value if isinstance(value, str) else ""


def object_in(value: object) -> Mapping[str, object]:
    if type(value) is dict:
        return value  # pyright: ignore[reportUnknownVariableType]  # JSON; a `cast` is a call, and this runs often
    return value if isinstance(value, DoubledKeys) else _NOTHING


def list_in(value: object) -> list[object]:
    if type(value) is list:
        return value  # pyright: ignore[reportUnknownVariableType]  # as above
    return []


def objects_in(value: object) -> list[Mapping[str, object]]:
    return [object_in(item) for item in list_in(value)]


def number_in(value: object, otherwise: int) -> int:
    """An index; `True` is not one."""
    return value if type(value) is int else otherwise


def count_in(value: object) -> int:
    """A number of tokens; anything that cannot be one, as `True`, counts as not reported."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else 0


def printable(text: str) -> str:
    """Evidence as it came, except that what UTF-8 cannot say is escaped."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def all_printable(texts: list[str]) -> tuple[str, ...]:
    """The same for many; they are looked at one by one only when one of them needs it."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return tuple(map(printable, texts))
    return tuple(texts)
