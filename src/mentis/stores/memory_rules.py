"""Refusals that every store of memories has in common."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence

from mentis.errors import BadInput, StoreConflict
from mentis.values.cognition import Memory
from mentis.values.memories import Vector

_FLOAT = 4  # bytes


def check_vectors(vectors: Sequence[Vector]) -> None:
    """Vectors of one embedder: all of one length, none empty, and numbers throughout."""
    if not vectors:
        return
    size = len(vectors[0].data)
    for vector in vectors:
        length = len(vector.data)
        if not length or length % _FLOAT or length != size:
            raise BadInput(
                f"the vector of memory `{vector.memory}` has {length / _FLOAT:g} dimensions,"
                f" and {size / _FLOAT:g} are expected",
                hint="vectors of two embedders never mix; give this one its own fingerprint",
                memory=vector.memory,
            )
        if not math.isfinite(sum(map(abs, array("f", vector.data)))):
            raise BadInput(
                f"the vector of memory `{vector.memory}` holds something that is not a number",
                hint="the embedder is broken; use another one",
                memory=vector.memory,
            )


def same_as(memory: Memory, others: Iterable[Memory]) -> Memory | None:
    """Of those with its content, the one that stands for it: the most trusted, if it is enough.

    Nobody can keep an owner's word out by having said it first, nor raise his own by repeating it.
    """
    enough = [other for other in others if other.worth.rank <= memory.worth.rank]
    return min(enough, key=lambda other: (other.worth.rank, other.id), default=None)


def check_same(before: Memory, after: Memory) -> None:
    if before.id != after.id:
        raise BadInput(
            f"memory `{before.id}` cannot become memory `{after.id}`",
            hint="a memory keeps its id; add the other one",
        )


def id_taken(memory_id: str) -> StoreConflict:
    return StoreConflict(
        f"the id `{memory_id}` belongs to another memory",
        hint="give it another id, or none",
        memory=memory_id,
    )
