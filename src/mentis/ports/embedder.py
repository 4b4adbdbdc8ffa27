"""Turns texts into vectors. The double is `mentis.engines.hashed.HashEmbedder`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    @property
    def fingerprint(self) -> str:
        """Model, dimension and normalisation in one word; vectors of two fingerprints never mix."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]: ...
