"""The keys of all entries, looked for in one message at a time; each message is read once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mentis.values.block import Block
from mentis.values.keywords import Keywords

# Scripts that put no space between words: a key in one of them is found wherever it stands.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_MOST_TEXTS = 4096


@dataclass(frozen=True, slots=True)
class LoreKey:
    """One key as it is looked for; `pattern` is None where it counts inside of words too."""

    text: str
    cased: bool
    pattern: re.Pattern[str] | None


@dataclass(slots=True)
class KeyIndex:
    """`hits` remembers which keys each text has."""

    entries: tuple[Block, ...]
    primary: tuple[tuple[LoreKey, ...], ...]
    secondary: tuple[tuple[LoreKey, ...], ...]
    keys: tuple[LoreKey, ...]
    _hits: dict[str, frozenset[LoreKey]] = field(default_factory=dict[str, frozenset[LoreKey]])

    def hits(self, text: str) -> frozenset[LoreKey]:
        """The keys that stand in a text."""
        found = self._hits.get(text)
        if found is None:
            if len(self._hits) >= _MOST_TEXTS:
                self._hits.clear()
            lowered = text.lower()
            found = frozenset(
                key for key in self.keys if _stands(key, text if key.cased else lowered)
            )
            self._hits[text] = found
        return found

    def match(self, entry: int, hits: frozenset[LoreKey]) -> str | None:
        """The key that brings an entry up; None where none does, or the secondary ones do not."""
        key = next((one for one in self.primary[entry] if one in hits), None)
        if key is None:
            return None
        others = self.secondary[entry]
        if not others:
            return key.text
        present = sum(one in hits for one in others)
        keywords = self.entries[entry].keywords
        match keywords.logic if keywords else "any":
            case "any":
                holds = present > 0
            case "all":
                holds = present == len(others)
            case "none":
                holds = present == 0
            case "not_all":
                holds = present < len(others)
        return key.text if holds else None


def index_of(entries: Sequence[Block]) -> KeyIndex:
    """Of blocks with keywords, in their order."""
    ordered = tuple(sorted(entries, key=lambda block: (block.order, block.id)))
    words = [block.keywords or Keywords(()) for block in ordered]
    primary = tuple(tuple(_key(key, one) for key in one.keys) for one in words)
    secondary = tuple(tuple(_key(key, one) for key in one.secondary) for one in words)
    known = dict.fromkeys(key for keys in (*primary, *secondary) for key in keys)
    return KeyIndex(ordered, primary, secondary, tuple(known))


def _key(text: str, words: Keywords) -> LoreKey:
    return _made_key(text.strip(), words.case_sensitive, words.whole_words)


@lru_cache(maxsize=16384)
def _made_key(text: str, cased: bool, whole: bool) -> LoreKey:
    told = text if cased else text.lower()
    if not whole or not told or _UNSPACED.search(told):
        return LoreKey(told, cased, None)
    return LoreKey(told, cased, re.compile(rf"(?<!\w){re.escape(told)}(?!\w)"))


def _stands(key: LoreKey, text: str) -> bool:
    if not key.text or key.text not in text:
        return False
    return key.pattern is None or key.pattern.search(text) is not None
