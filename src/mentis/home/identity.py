"""Identity of one agent: its id, its persona, who it talks to, and the home it lives in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mentis.errors import PersonaError, UsageError
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home, checked_id
from mentis.values.persona import Persona, Profile

# Agents of other people, whose calls are recorded here: `recorded/NAME`. They have no persona.
RECORDED = "recorded/"


@dataclass(frozen=True, slots=True)
class Identity:
    """`agent` is the id that everything is recorded under; `secret` is the home's."""

    agent: str
    persona: Persona
    profile: Profile
    home: Home
    secret: bytes = field(default=b"", repr=False)


def home_name(home: Home, settings: Settings) -> str:
    """The first half of the ids of its personas."""
    return settings.model.name or home.name


def agent_id(home: Home, settings: Settings, persona: str) -> str:
    """The id that a persona is recorded under; `recorded/NAME` is one itself."""
    own = home_name(home, settings)
    if not persona.startswith(RECORDED):
        return f"{own}/{persona}"
    if own == RECORDED.removesuffix("/"):
        raise UsageError(
            f"a home that is called {own!r} cannot record other agents: their names would be those"
            " of its personas",
            hint="give it another name: mentis settings set name NAME",
        )
    return persona


def persona_of(agent: str, own: str) -> str:
    """The persona of an id, `own` being the name of the home; a recorded agent is its own."""
    if agent.startswith(RECORDED) and own != RECORDED.removesuffix("/"):
        return agent
    return agent.rpartition("/")[2]


def pick_persona(home: Home, wanted: str | None, default: str = "") -> str:
    """A persona of the home, or the recorded agent that was asked for."""
    if wanted is None or not wanted.startswith(RECORDED):
        return home.pick_persona(wanted, default)
    checked_id(wanted.removeprefix(RECORDED), "recorded agent")
    return wanted


def unknown_recorded(wanted: str, agents: Iterable[str]) -> PersonaError:
    known = sorted(agent for agent in agents if agent.startswith(RECORDED))
    return PersonaError(
        f"nothing was recorded of {wanted!r}", hint=f"known: {', '.join(known) or 'none'}"
    )
