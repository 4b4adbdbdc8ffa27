"""Turns texts into vectors. The double is `mentis.engines.hashed.HashEmbedder`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


class Embedder(Protocol):
    @property
    def fingerprint(self) -> str:
        """Model, dimension and normalisation in one word; vectors of two fingerprints never mix."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]: ...


@runtime_checkable
class Remembering(Protocol):
    """An embedder that can say whether it has a text's vector already."""

    def knows(self, text: str) -> bool: ...
