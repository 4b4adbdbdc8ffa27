"""A vector of an embedder as it is kept: float32, checked before it is anywhere."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence

from mentis.errors import EngineFailed
from mentis.values.cognition import Memory
from mentis.values.memories import Vector, text_digest

_HINT = "the embedder is broken; use another one"


def pack_vectors(memories: Sequence[Memory], vectors: Sequence[Sequence[float]]) -> list[Vector]:
    """One vector for each memory, in the same order."""
    if len(vectors) != len(memories):
        raise EngineFailed(
            f"the embedder made {len(vectors)} vectors of {len(memories)} texts", hint=_HINT
        )
    return [
        Vector(memory.id, text_digest(memory.text), pack(vector))
        for memory, vector in zip(memories, vectors, strict=True)
    ]


def pack(vector: Sequence[float]) -> bytes:
    if not vector:
        raise EngineFailed("the embedder made a vector without numbers", hint=_HINT)
    try:
        numbers = array("f", vector)
    except (TypeError, OverflowError) as error:
        raise EngineFailed(
            f"the embedder made a vector of no numbers: {error}", hint=_HINT
        ) from None
    if not all(map(math.isfinite, numbers)):
        raise EngineFailed(
            "the embedder made a vector with something in it that is not a number", hint=_HINT
        )
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
