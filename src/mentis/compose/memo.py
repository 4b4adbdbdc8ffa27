"""The memo of composing between calls, so that what did not change is not done again.

A memo belongs to objects, not to their contents: values are frozen, so the same object is the
same content, and asking that costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from mentis.values.block import Block
from mentis.values.span import Span
from mentis.values.trace import (
    BlockTrace,
    Cut,
    Degradation,
    TokenCount,
    UnresolvedPlaceholder,
    WordingFallback,
)

from .fate import Fate
from .fill import FilledText
from .key_index import KeyIndex
from .placeholders import Filling, PlaceholderCache
from .purposes import Occasion
from .sheet import Sheet


@dataclass(frozen=True, slots=True)
class Layout:
    """The told blocks in their places: `system` is made of the `lasting` ones, `turn` of the
    `fleeting`. `cuts` are what blocks lost to their own `max_tokens`.

    It holds as long as all the `keys` that any block depends on have these `inputs`; `notes` hold
    as long as the library does.
    """

    keys: tuple[str, ...]
    inputs: tuple[Filling | None, ...]
    lasting: tuple[Fate, ...]
    fleeting: tuple[Fate, ...]
    system: tuple[Span, ...]
    turn: tuple[Span, ...]
    system_tokens: TokenCount
    turn_tokens: TokenCount
    blocks: tuple[BlockTrace, ...]
    unresolved: tuple[UnresolvedPlaceholder, ...]
    degraded: tuple[Degradation, ...]
    cuts: tuple[Cut, ...] = ()
    notes: tuple[Degradation, ...] = ()
    fallbacks: tuple[WordingFallback, ...] = ()


class Memo:
    """Known values, the last fate of each block, what it cost and what of it fits into its own
    limit, the last layout or sheet, the words for renderers, the blocks that open a talk,
    the keys of its lore."""

    __slots__ = ("costs", "fates", "known", "layout", "lore", "openers", "sheet", "short", "words")

    def __init__(self) -> None:
        self.known = PlaceholderCache()
        self.fates: dict[str, Fate] = {}
        self.costs: dict[str, tuple[FilledText, TokenCount]] = {}
        self.short: dict[str, tuple[Fate, Fate, Cut]] = {}
        self.layout: Layout | None = None
        self.sheet: Sheet | None = None
        self.words: Mapping[str, str] | None = None
        self.lore: KeyIndex | None = None
        self.openers: tuple[Block, ...] | None = None


def memo_for(occasion: Occasion, *objects: object) -> Memo:
    """The memo of these very objects; the same as last time, or a new one."""
    return _memo(occasion, *(_Same(one) for one in objects))


class _Same:
    """Equal for the same object only. It keeps the object, so its id cannot be given away."""

    __slots__ = ("_object",)

    def __init__(self, one: object) -> None:
        self._object = one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._object is self._object

    def __hash__(self) -> int:
        return id(self._object)


@lru_cache(maxsize=64)
def _memo(_occasion: Occasion, *_objects: _Same) -> Memo:
    return Memo()
