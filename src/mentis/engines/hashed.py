"""Vectors without a model: equal texts get equal vectors, and that is all they mean."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from hashlib import sha256

from mentis.errors import UsageError

_LARGEST = 0xFFFFFFFF


class HashEmbedder:
    """The offline double of an embedder: deterministic on every machine, not semantic at all."""

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise UsageError(
                f"a vector of {dimension} dimensions cannot be made", hint="use 1 or more"
            )
        self._dimension = dimension

    @property
    def fingerprint(self) -> str:
        return f"hash-sha256/{self._dimension}/l2"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [_vector(text, self._dimension) for text in texts]


def _vector(text: str, dimension: int) -> list[float]:
    size = dimension * 4
    blocks = -(-size // 32)
    content = b"".join(sha256(f"{text}|{number}".encode()).digest() for number in range(blocks))
    numbers = struct.unpack(f"<{dimension}I", content[:size])
    # 0 to 2^32-1 becomes -1 to 1; no integer lands on 0, so the length is never 0.
    values = [number / _LARGEST * 2 - 1 for number in numbers]
    length = math.hypot(*values)
    return [value / length for value in values]
