"""Tokens that are carried along: everything in a prompt is read again in each call that follows it.

For each source only sums are kept, however many calls there are: what a part of the prompt came to
is its tokens times what a token was read for since it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_MOST_SOURCES = 100
OTHERS = "results of other tools"


@dataclass(slots=True)
class CarriedCost:
    """Tokens of one source that were read again, and dollars for it."""

    tokens: float = 0.0
    usd: float = 0.0

    def add(self, tokens: float, usd: float) -> None:
        self.tokens += tokens
        self.usd += usd


@dataclass(slots=True)
class _Held:
    """Tokens in the prompt, and what had been paid for one when they came."""

    tokens: float = 0.0
    since_tokens: float = 0.0
    since_usd: float = 0.0


@dataclass(slots=True)
class Carried:
    """Of one thread, until its prompt is replaced."""

    _tokens: float = 0.0  # times that a token was read, and dollars for one, since the beginning
    _usd: float = 0.0
    _estimated: float = 0.0
    _held: dict[str, _Held] = field(default_factory=dict[str, _Held])
    _excess: dict[str, _Held] = field(default_factory=dict[str, _Held])

    def read(self, prompt: int, tokens: int, usd: float) -> None:
        """A call read so many tokens of its prompt from the cache, for so much."""
        whole = max(float(prompt), self._estimated)
        if whole and tokens:
            self._tokens += tokens / whole
            self._usd += usd / whole

    def add(self, added: Mapping[str, int], excess: Mapping[str, int]) -> None:
        for source, tokens in added.items():
            self._hold(self._held, source, tokens)
            self._estimated += tokens
        for source, tokens in excess.items():
            self._hold(self._excess, source, tokens)

    def close(self, sums: dict[str, CarriedCost], excess: dict[str, CarriedCost]) -> None:
        """Adds up what was held, and begins anew."""
        for held, into in ((self._held, sums), (self._excess, excess)):
            for source, one in held.items():
                name = source if source in into or len(into) < _MOST_SOURCES else OTHERS
                tokens = one.tokens * self._tokens - one.since_tokens
                usd = one.tokens * self._usd - one.since_usd
                into.setdefault(name, CarriedCost()).add(max(0.0, tokens), max(0.0, usd))
            held.clear()
        self._tokens = self._usd = self._estimated = 0.0

    def _hold(self, held: dict[str, _Held], source: str, tokens: int) -> None:
        if source not in held and len(held) >= _MOST_SOURCES:
            source = OTHERS
        one = held.setdefault(source, _Held())
        one.tokens += tokens
        one.since_tokens += tokens * self._tokens
        one.since_usd += tokens * self._usd
