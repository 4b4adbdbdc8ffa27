"""One message of a conversation: a role, typed parts, and the trust of what it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .part import Part, TextPart
from .trust import Trust
from .value import Value

Role: TypeAlias = Literal["user", "assistant"]
TurnState: TypeAlias = Literal["pending", "complete", "interrupted", "failed"]
# What was said, and what the agent keeps beside it: what it thought, what a talk came to, its name.
TurnKind: TypeAlias = Literal["said", "thought", "summary", "title"]


@dataclass(frozen=True, slots=True)
class Turn(Value):
    """`state` says whether the turn came to its end; an interrupted answer is kept and marked.

    A message that `replaces` a number is told instead of that turn and all after it, which stay
    where they are. A summary stands for what was told before the turn `until`.
    """

    role: Role
    parts: tuple[Part, ...]
    lineage: Trust = Trust.OWNER
    state: TurnState = "complete"
    kind: TurnKind = "said"
    replaces: int | None = None
    until: int | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))
