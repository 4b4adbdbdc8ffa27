"""Turns texts into vectors. The double is `mentis.engines.hashed.HashEmbedder`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def remembers(embedder: Embedder, text: str) -> bool:
    """Whether it says so; one that cannot say it does not. `isinstance` takes its time."""
    knows: Callable[[str], bool] | None = getattr(embedder, "knows", None)
    return knows is not None and knows(text)
