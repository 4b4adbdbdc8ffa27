"""When a block is brought up by what was said: its keys, and what else decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .value import LATE, Value

# What the secondary keys have to do: one of them, all, none, or not all of them are there.
SecondaryLogic: TypeAlias = Literal["any", "all", "none", "not_all"]
LoreLayout: TypeAlias = Literal["frozen", "depth"]


@dataclass(frozen=True, slots=True)
class Keywords(Value):
    """`keys` are looked for in the last `scan_depth` messages. Counted in messages: once brought
    up it stays for `sticky`, then rests for `cooldown`, and never comes before `delay`. Of a
    hundred chances it takes `probability`. Its text `wakes` other entries, and it is `woken` by
    theirs. `book` names the lorebook, of which one message brings up at most `budget` tokens (0:
    as many as fit). Where entries move, it stands `depth` messages from the end.
    """

    keys: tuple[str, ...]
    secondary: tuple[str, ...] = ()
    logic: SecondaryLogic = "any"
    whole_words: bool = True
    case_sensitive: bool = False
    scan_depth: int = 2
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    probability: int = 100
    wakes: bool = True
    woken: bool = True
    depth: int = 4
    book: str = ""
    budget: int = 0


@dataclass(frozen=True, slots=True)
class LoreRules(Value):
    """How entries are told. `frozen`: each in the history, where it was brought up first, so that
    the prompt before it stays the same bytes. `depth`: so many messages from the end, anew in
    each prompt. `tokens` is the most that one message brings up, `rounds` how often entries may
    wake others.
    """

    layout: LoreLayout = "frozen"
    tokens: int = 1500
    rounds: int = 3


@dataclass(frozen=True, slots=True)
class LoreTrace(Value):
    """One entry that was brought up, or was near to it, and why. `place` is the message that did.
    `chance` is what was drawn, of 100; -1 where nothing was. `reread` are the tokens behind it
    that no cache can hold, where it moves.
    """

    block: str
    name: str
    told: bool
    reason: str
    place: str
    tokens: int = 0
    chance: int = -1
    reread: int = 0
    draws: tuple[str, ...] = field(default=(), metadata=LATE)
