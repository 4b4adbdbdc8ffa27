"""One message of a conversation: a role, typed parts, and the trust of what it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .part import Part, TextPart
from .trust import Trust
from .value import Value

Role: TypeAlias = Literal["user", "assistant"]
TurnState: TypeAlias = Literal["pending", "complete", "interrupted", "failed"]


@dataclass(frozen=True, slots=True)
class Turn(Value):
    """`state` says whether the turn came to its end; an interrupted answer is kept and marked."""

    role: Role
    parts: tuple[Part, ...]
    lineage: Trust = Trust.OWNER
    state: TurnState = "complete"

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))
