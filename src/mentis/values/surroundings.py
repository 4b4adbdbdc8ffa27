"""Surroundings of a conversation: people and facts beside what is said in it."""

from __future__ import annotations

from dataclasses import dataclass

from .value import Value


@dataclass(frozen=True, slots=True)
class Person(Value):
    """Somebody in the conversation, and what the agent knows of them."""

    name: str
    also: tuple[str, ...] = ()
    bio: str = ""
    feels: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings(Value):
    """What is empty is not told. Lists go from the oldest to the newest.

    `recent` are lines of other conversations, `thoughts` the agent's own notes and diary.
    """

    place: str = ""
    weather: str = ""
    feeling: str = ""
    people: tuple[Person, ...] = ()
    thoughts: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    voice: str = ""


NOWHERE = Surroundings()
