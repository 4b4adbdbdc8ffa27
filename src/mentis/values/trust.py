"""Who vouches for a piece of text, from the constitution down to nobody."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Trust(StrEnum):
    """Ordered from most to least trusted. Only a person raises the trust of a text."""

    CONSTITUTION = "constitution"
    OWNER = "owner"
    RUNTIME = "runtime"
    SELF = "self"
    REFERENCE = "reference"
    UNTRUSTED = "untrusted"

    @property
    def rank(self) -> int:
        """0 for what is trusted most."""
        return _RANK[self]


_RANK = {level: rank for rank, level in enumerate(Trust)}


def least_trusted(levels: Iterable[Trust]) -> Trust:
    """The lineage of a text made of parts: that of its least trusted part."""
    return max(levels, key=_RANK.__getitem__, default=Trust.CONSTITUTION)
