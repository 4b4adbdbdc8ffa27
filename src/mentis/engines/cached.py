"""An embedder that remembers: the same text is computed once."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from mentis.errors import EngineFailed, UsageError
from mentis.ports.embedder import Embedder
from mentis.telemetry.names import DIMENSION
from mentis.telemetry.spans import embedding_span

_CAPACITY = 512


class CachedEmbedder:
    """Keeps the vectors of the last `capacity` texts. `hits` counts what it answered by itself."""

    def __init__(self, embedder: Embedder, *, capacity: int = _CAPACITY) -> None:
        if capacity < 1:
            raise UsageError(f"a cache of {capacity} texts holds nothing", hint="use 1 or more")
        self._embedder = embedder
        self._capacity = capacity
        self._kept: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = Lock()
        self.hits = 0

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    def knows(self, text: str) -> bool:
        return text in self._kept

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One call for all texts that are new, each of them once; none when all are known."""
        known = ((text, self._kept.get(text)) for text in texts)  # threads share this cache
        found = {text: vector for text, vector in known if vector is not None}
        self.hits += sum(text in found for text in texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            with embedding_span(self.fingerprint, len(missing)) as span:
                vectors = await self._embedder.embed(missing)
                span.tell({DIMENSION: len(vectors[0]) if vectors else None})
            if len(vectors) != len(missing):
                raise EngineFailed(f"{len(vectors)} vectors of {len(missing)} texts")
            found.update(zip(missing, vectors, strict=True))
        for text in dict.fromkeys(texts):
            if _sound(found[text]):
                self._keep(text, found[text])
        return [list(found[text]) for text in texts]

    def _keep(self, text: str, vector: list[float]) -> None:
        with self._lock:
            self._kept[text] = vector
            self._kept.move_to_end(text)
            if len(self._kept) > self._capacity:
                self._kept.popitem(last=False)


def _sound(vector: Sequence[float]) -> bool:
    """What went wrong once is not to be answered again and again."""
    return 0 < math.hypot(*vector) < math.inf
