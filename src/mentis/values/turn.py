"""One message of a conversation: a role, typed parts, and the trust of what it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .part import Part, TextPart
from .trust import Trust
from .value import LATE, Value

Role: TypeAlias = Literal["user", "assistant"]
TurnState: TypeAlias = Literal["pending", "complete", "interrupted", "failed"]
# What was said, and what the agent keeps beside it: what it thought, what a talk came to, its name,
# that the end of it was taken back, what another program kept and told no model.
TurnKind: TypeAlias = Literal["said", "thought", "summary", "title", "undo", "hidden"]
GUEST = "guest"
_NO_NAME = frozenset(":()[]{}<>|\"'`*#")  # what could end a name, or pass for more than one


@dataclass(frozen=True, slots=True)
class TurnOrigin(Value):
    """Where a turn comes from that was not said here: the number of its import, and the name and
    the time that the file gives, which nobody here has measured.
    """

    imported: int
    name: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Turn(Value):
    """One contribution to a conversation: what somebody said, or the results of tools.

    `state` says whether the turn came to its end; an interrupted answer is kept and marked.

    A message that `replaces` a number is told instead of that turn and all after it, which stay
    where they are; in the place of an `undo` nothing is told. A summary stands for what was told
    before the turn `until`. Only of a guest's words there is an `author`: all others of a user are
    the owner's. What was imported has an `origin`.
    """

    role: Role
    parts: tuple[Part, ...]
    lineage: Trust = Trust.OWNER
    state: TurnState = "complete"
    kind: TurnKind = "said"
    replaces: int | None = None
    until: int | None = None
    author: str = field(default="", metadata=LATE)
    origin: TurnOrigin | None = field(default=None, metadata=LATE)

    @property
    def text(self) -> str:
        """All of its words, without the other parts."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    def speaker(self, names: Mapping[Role, str]) -> str:
        """Who said it: a guest by their own name, everybody else by that of their role."""
        return guest_name(self.author) if self.author else names[self.role]


def is_turning_point(turn: Turn) -> bool:
    """Whether it says what is told of the turns before it: it stands for some, or replaces some."""
    return turn.kind == "summary" or turn.replaces is not None


def guest_name(author: str) -> str:
    """Never a bare name: anybody can call themself like the owner, or like the agent."""
    plain = "".join(c if c.isprintable() and c not in _NO_NAME else " " for c in author)
    name = " ".join(plain.split())
    return f"{name} ({GUEST})" if name and name != GUEST else GUEST


def said_line(name: str, text: str) -> str:
    """What goes on over several lines is set in: only a name begins a line."""
    said = "\n  ".join(text.splitlines())
    return f"{name}: {said}" if name else said
