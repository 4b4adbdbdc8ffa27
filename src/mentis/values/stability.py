"""How long a piece of prompt text stays the same: what decides where it stands in a request."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Stability(StrEnum):
    """Ordered from lasting to fleeting; regions of a request follow this order."""

    STABLE = "stable"
    SESSION = "session"
    TURN = "turn"

    @property
    def rank(self) -> int:
        """0 for what changes least."""
        return _RANK[self]


_RANK = {level: rank for rank, level in enumerate(Stability)}


def least_stable(levels: Iterable[Stability]) -> Stability:
    """The stability of a text made of parts: that of its most fleeting part."""
    return max(levels, key=_RANK.__getitem__, default=Stability.STABLE)
