"""How many entries a store keeps of one agent, and of what: counted there, never read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .value import Value


@dataclass(frozen=True, slots=True)
class Tally(Value):
    """Of the entries that are kept; `oldest` and `newest` are the times of the first and last."""

    kept: int = 0
    oldest: str | None = None
    newest: str | None = None
    sources: Mapping[str, int] = field(default_factory=dict[str, int])
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
