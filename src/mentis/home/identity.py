"""Identity of one agent: its id, its persona, who it talks to, and the home it lives in."""

from __future__ import annotations

from dataclasses import dataclass, field

from mentis.stores.files.home import Home
from mentis.values.persona import Persona, Profile


@dataclass(frozen=True, slots=True)
class Identity:
    """`agent` is the id that everything is recorded under; `secret` is the home's."""

    agent: str
    persona: Persona
    profile: Profile
    home: Home
    secret: bytes = field(default=b"", repr=False)
