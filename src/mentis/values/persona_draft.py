"""A field of a persona as a model drafted it: nothing of it counts until the owner accepts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .value import Value

DraftKind: TypeAlias = Literal[
    "persona_type", "core_trait", "knowledge", "scenario", "expression_style"
]


@dataclass(frozen=True, slots=True)
class PersonaDraft(Value):
    """`behaviours` are of a trait or a scene; `example` and `characteristics` of a way of speaking.
    `entry` is where asking for it is recorded; None for one that nobody asked a model for.
    """

    kind: DraftKind
    name: str
    description: str = ""
    behaviours: tuple[str, ...] = ()
    example: str = ""
    characteristics: tuple[str, ...] = ()
    entry: int | None = None
