"""Who the agent is (persona) and who it talks to (profile)."""

from __future__ import annotations

from dataclasses import dataclass

from .value import Value


@dataclass(frozen=True, slots=True)
class Trait(Value):
    """A named quality and how it shows; knowledge, scenarios and expression have the same shape."""

    name: str
    description: str = ""
    behaviours: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Persona(Value):
    id: str
    name: str
    type: str = "AI"
    age: int | None = None
    gender: str = ""
    language: str = "english"
    background: str = ""
    traits: tuple[Trait, ...] = ()
    knowledge: tuple[Trait, ...] = ()
    expression: tuple[Trait, ...] = ()
    scenarios: tuple[Trait, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile(Value):
    name: str = "User"
    gender: str = ""
    interested_in: tuple[str, ...] = ()
    info: str = ""
