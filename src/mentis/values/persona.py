"""Who the agent is (persona) and who it talks to (profile)."""

from __future__ import annotations

from dataclasses import dataclass, field

from .trust import Trust
from .value import LATE, Value


@dataclass(frozen=True, slots=True)
class Trait(Value):
    """A named quality and how it shows; knowledge and scenarios have the same shape."""

    name: str
    description: str = ""
    behaviours: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression(Value):
    """A way of speaking: what it is like, how it sounds, what marks it."""

    name: str = ""
    description: str = ""
    example: str = ""
    characteristics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExampleExchange(Value):
    """What somebody might say to the persona, and what it would answer."""

    user: str
    reply: str


@dataclass(frozen=True, slots=True)
class Persona(Value):
    """Who the agent is.

    `language` is the one it answers in, the first of its `languages` where these are given. With
    its `greeting` every conversation begins; `greetings` are others to choose from. `trust` is how
    far its words are trusted: those of an import are `reference` until the owner promotes them.
    With `macros` its texts hold those of other programs, made plain when it is opened.
    """

    id: str
    name: str
    type: str = "AI"
    age: int | None = None
    gender: str = ""
    language: str = "english"
    background: str = ""
    traits: tuple[Trait, ...] = ()
    knowledge: tuple[Trait, ...] = ()
    expression: tuple[Expression, ...] = ()
    scenarios: tuple[Trait, ...] = ()
    languages: tuple[str, ...] = ()
    greeting: str = field(default="", metadata=LATE)
    dialogue: tuple[ExampleExchange, ...] = field(default=(), metadata=LATE)
    greetings: tuple[str, ...] = field(default=(), metadata=LATE)
    trust: Trust = field(default=Trust.OWNER, metadata=LATE)
    macros: bool = field(default=False, metadata=LATE)


@dataclass(frozen=True, slots=True)
class Profile(Value):
    """Who the agent talks to."""

    name: str = "User"
    gender: str = ""
    interested_in: tuple[str, ...] = ()
    info: str = ""
