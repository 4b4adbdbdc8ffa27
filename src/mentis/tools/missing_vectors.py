"""Vectors that no manifest has: made on the way, within the time of a call, and kept.

What time cut off goes on from there with the next call. After a failure some calls are let pass;
they are counted, not timed, so that the same calls find the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from mentis.ports.embedder import Embedder
from mentis.recall.embedding import Patience, ask

_FEW = 8  # texts that are lost when time is up
_MOST = 64  # calls from one try to the next


class GrowingEmbedder:
    """An embedder that keeps all it made; `patience` is that of the call it works for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._made: dict[str, list[float]] = {}
        self.patience: Patience | None = None

    def __len__(self) -> int:
        return len(self._made)

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """EngineFailed, whatever went wrong."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._made]
        for start in range(0, len(missing), _FEW):
            few = missing[start : start + _FEW]
            vectors = await ask(self._embedder, few, self.patience)
            self._made.update(zip(few, vectors, strict=True))
        return [self._made[text] for text in texts]


class BackOff:
    """The next call tries again after a failure; then every 2nd, 4th, 8th and so on."""

    def __init__(self) -> None:
        self._failures = self._left = 0

    def rests(self) -> bool:
        """Whether this call lets it be."""
        self._left -= self._left > 0
        return self._left > 0

    def note_failure(self) -> None:
        self._left = min(2**self._failures, _MOST)
        self._failures += 1

    def note_success(self) -> None:
        self._failures = self._left = 0
