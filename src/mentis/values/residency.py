"""Residents: what stays in place in the prompts of one session, and why that changed or did not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .value import Value

Placed: TypeAlias = Literal["tools", "memories"]


@dataclass(frozen=True, slots=True)
class Residents(Value):
    """What stands in the part of the prompt that lasts. `prints` are digests, one for each name.

    `recent` is what the last turns asked for, the newest last.
    """

    names: tuple[str, ...] = ()
    prints: tuple[str, ...] = ()
    recent: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SentTokens(Value):
    """How many tokens of the last prompt a cache may hold, part by part in their order."""

    tools: int = 0
    system: int = 0
    context: int = 0
    history: int = 0


@dataclass(frozen=True, slots=True)
class Residency(Value):
    """Kept for each session between its turns. `turns` counts those before this one.

    `revision` is where the memories stood when those that are told now were gathered.
    """

    turns: int = 0
    tools: Residents = Residents()
    memories: Residents = Residents()
    revision: int = 0
    sent: SentTokens = SentTokens()


@dataclass(frozen=True, slots=True)
class Placement(Value):
    """What stays, what is only told at the end of this turn (`revealed`), and what went.

    `price` is what changing the lasting part would cost, `gain` what it would save, both in
    tokens of plain input. `changed` says that it was changed.
    """

    what: Placed
    resident: tuple[str, ...]
    revealed: tuple[str, ...]
    dropped: tuple[str, ...]
    changed: bool
    price: float
    gain: float
    why: str
