"""Splits a text into literal runs and `{{key}}` placeholders; any other brace is literal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from mentis.values.value import Value

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Template(Value):
    """Pairs of a literal run and the key behind it; the last pair has no key."""

    pieces: tuple[tuple[str, str], ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Each key once, in the order of the text."""
        return tuple(dict.fromkeys(key for _, key in self.pieces if key))


@lru_cache(maxsize=32768)
def parse(text: str) -> Template:
    parts = _PLACEHOLDER.split(text)  # literal, key, literal, key, ..., literal
    return Template(tuple(zip_longest(parts[::2], parts[1::2], fillvalue="")))
