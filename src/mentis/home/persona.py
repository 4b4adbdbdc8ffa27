"""The persona of a home, its memory files, and the profile of its owner."""

from __future__ import annotations

from mentis.codec.toml import read_text
from mentis.errors import PersonaError
from mentis.library.load import load_persona, load_profile
from mentis.library.memory.files import PersonaMemory
from mentis.library.memory.folder import RevisedFiles
from mentis.library.persona_macros import with_plain_words
from mentis.ports.clock import Clock
from mentis.settings.settings import Settings
from mentis.settings.sources import LiveSettings
from mentis.stores.files.home import Home
from mentis.stores.sqlite.database import Database
from mentis.values.persona import Persona, Profile

from .server import ServedDatabase, open_revisions


def open_memory(
    home: Home,
    persona: Persona,
    database: Database,
    *,
    settings: Settings,
    clock: Clock,
    live: LiveSettings | None = None,
) -> PersonaMemory:
    """The files a persona keeps about itself, with their history in the home's database. Whether
    changes wait for their owner counts as `live` says at the time.
    """
    now = (lambda: settings) if live is None else (lambda: live.current()[0])
    revisions = open_revisions(database)
    served = isinstance(database, ServedDatabase)
    return PersonaMemory(
        RevisedFiles(revisions, persona.id) if served else home.memory(persona.id),
        revisions,
        clock,
        persona_id=persona.id,
        language=persona.language,
        limit=settings.model.limits.memory_chars,
        busy_seconds=settings.model.store.busy_seconds,
        manual=lambda: now().holds_back,
    )


def read_persona(home: Home, persona_id: str) -> Persona:
    """As its file says; an imported one with its macros made plain for the owner of the home."""
    path = home.persona(persona_id)
    persona = load_persona(read_text(path, error=PersonaError), str(path))
    return with_plain_words(persona, read_profile(home)) if persona.macros else persona


def read_profile(home: Home) -> Profile:
    if not home.profile.exists():
        return Profile()
    return load_profile(read_text(home.profile, error=PersonaError), str(home.profile))
