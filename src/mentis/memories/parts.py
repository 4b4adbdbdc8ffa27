"""The embedder of this machine and the screener of a home, looked for when a text needs them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from mentis.engines.embedders import Choice, open_embedder
from mentis.ports.embedder import Embedder, remembers
from mentis.ports.screener import Screener, StoredVector
from mentis.values.cognition import Screening
from mentis.values.trace import Degradation

from .screening import open_screener


class HomeEmbedder:
    """The embedder that the settings name, and what is missing for a better one."""

    def __init__(self, choice: Choice = "auto") -> None:
        self._choice: Choice = choice

    @cached_property
    def _opened(self) -> tuple[Embedder, tuple[Degradation, ...]]:
        return open_embedder(self._choice)

    @property
    def fingerprint(self) -> str:
        return self._opened[0].fingerprint

    def knows(self, text: str) -> bool:
        return remembers(self._opened[0], text)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._opened[0].embed(texts)

    def stepped_down(self) -> tuple[Degradation, ...]:
        return self._opened[1]


class HomeScreener:
    def __init__(self, home: Path) -> None:
        self._home = home

    @cached_property
    def _opened(self) -> Screener:
        return open_screener(self._home)

    def screen(self, text: str, *, source: str, vector: StoredVector | None = None) -> Screening:
        return self._opened.screen(text, source=source, vector=vector)
