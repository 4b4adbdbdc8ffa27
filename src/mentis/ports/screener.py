"""Judges text from outside before it is stored and before it is shown to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mentis.values.cognition import Screening


@dataclass(frozen=True, slots=True)
class StoredVector:
    """The vector of a text, and the fingerprint of the embedder that made it."""

    numbers: Sequence[float]
    model: str


class Screener(Protocol):
    def screen(self, text: str, *, source: str, vector: StoredVector | None = None) -> Screening:
        """`vector` is the one kept with the text, where there is one; nothing is embedded here."""
        ...


class ListedScreener:
    """A screener for tests: it drops what contains a listed phrase and calls the rest clean."""

    def __init__(self, phrases: Mapping[str, str]) -> None:
        self._phrases = phrases

    def screen(self, text: str, *, source: str, vector: StoredVector | None = None) -> Screening:
        del vector
        for phrase, reason in self._phrases.items():
            if phrase in text:
                return Screening("dropped", f"{reason} ({source})")
        return Screening("clean")
