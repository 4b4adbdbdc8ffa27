"""Judges text from outside before it is stored and before it is shown to a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mentis.values.cognition import Screened


class Screener(Protocol):
    def screen(self, text: str, *, source: str) -> Screened: ...


class ListedScreener:
    """A screener for tests: it drops what contains a listed phrase and calls the rest clean."""

    def __init__(self, phrases: Mapping[str, str]) -> None:
        self._phrases = phrases

    def screen(self, text: str, *, source: str) -> Screened:
        for phrase, reason in self._phrases.items():
            if phrase in text:
                return Screened("dropped", f"{reason} ({source})")
        return Screened("clean")
