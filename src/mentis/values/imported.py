"""A conversation that was held in another program, as any format may give it."""

from __future__ import annotations

from dataclasses import dataclass

from .part import MediaPart
from .turn import Role
from .value import Value


@dataclass(frozen=True, slots=True)
class ImportedTurn(Value):
    """What somebody said there. `time` is as the file says it. A `guest` is neither the owner nor
    the persona; what is `hidden` is kept, and told to no model. `others` are answers that were
    given in this place, and not chosen.
    """

    role: Role
    text: str
    name: str = ""
    time: str = ""
    guest: bool = False
    hidden: bool = False
    others: tuple[str, ...] = ()
    attachments: tuple[MediaPart, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedConversation(Value):
    """`name` is what its session is to be called, if that is free."""

    name: str
    turns: tuple[ImportedTurn, ...]
    title: str = ""
