"""Puts real parts behind the ports: the only place that knows which."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.call.openai import OpenAIProvider
from mentis.call.scripted import ScriptedProvider
from mentis.codec.toml import read_text
from mentis.engines.embedded import EmbeddedProvider
from mentis.engines.estimate import EstimatingCounter
from mentis.errors import PersonaError
from mentis.library.integrity import validate_integrity
from mentis.library.load import load_persona, load_profile
from mentis.library.memory.files import PersonaMemory
from mentis.library.shelf import Shelf
from mentis.ports.act_handler import ActHandler
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids
from mentis.ports.provider import Provider
from mentis.stores.environment import EnvironmentSecrets
from mentis.stores.files.home import Home, find_home
from mentis.stores.sqlite.conversations import SqliteConversations
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.values.persona import Persona, Profile
from mentis.values.route import Route

from .mind import Mind
from .settings import Settings
from .settings_sources import LiveSettings
from .system import RandomIds, SystemClock

OnLoading = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Parts:
    """What may be exchanged when an agent is opened; what is None becomes the real thing."""

    provider: Provider | None = None
    clock: Clock | None = None
    ids: Ids | None = None
    environ: Mapping[str, str] | None = None
    handlers: tuple[ActHandler, ...] = ()
    on_loading: OnLoading | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        return os.environ if self.environ is None else self.environ


def open_mind(
    path: Path, *, persona: str | None, route: str, parts: Parts
) -> tuple[Mind, Database, Settings]:
    """Open the home at `path` and make one persona's mind of it."""
    home = find_home(path)
    live = LiveSettings(home.path, parts.variables)
    settings, _ = live.current()
    chosen = home.pick_persona(persona)
    destination = _from_home(settings.route(route), home)
    who, profile = read_persona(home, chosen), read_profile(home)
    # Last of what can fail, so that no failure leaves it open.
    database = Database(home.database, busy_seconds=settings.model.store.busy_seconds)
    clock = parts.clock or SystemClock()
    mind = Mind(
        agent=f"{settings.model.name or home.name}/{chosen}",
        persona=who,
        profile=profile,
        shelf=open_shelf(home, settings),
        memory=open_memory(home, who, database, settings=settings, clock=clock),
        settings=live,
        route=destination,
        provider=parts.provider or open_provider(destination, parts),
        counter=EstimatingCounter(),
        conversations=SqliteConversations(database),
        ledger=SqliteLedger(database),
        clock=clock,
        ids=parts.ids or RandomIds(),
        handlers={handler.declaration.name: handler for handler in parts.handlers},
    )
    return mind, database, settings


def _from_home(route: Route, home: Home) -> Route:
    """A model file is named relative to the home, wherever the command is run."""
    beside = home.path / route.model
    if route.backend == "embedded" and not Path(route.model).is_absolute() and beside.is_file():
        return replace(route, model=str(beside))
    return route


def open_shelf(home: Home, settings: Settings) -> Shelf:
    """The prompts of a home. Files that are broken are kept aside, once, and named."""
    shelf = Shelf(home.prompts, max_file_bytes=settings.model.limits.prompt_file_bytes)
    if shelf.current().problems:
        validate_integrity(shelf)
    return shelf


def open_memory(
    home: Home, persona: Persona, database: Database, *, settings: Settings, clock: Clock
) -> PersonaMemory:
    """The files a persona keeps about itself, with their history in the home's database."""
    return PersonaMemory(
        home.memory(persona.id),
        SqliteRevisions(database),
        clock,
        persona_id=persona.id,
        language=persona.language,
        limit=settings.model.limits.memory_chars,
        busy_seconds=settings.model.store.busy_seconds,
    )


def open_provider(route: Route, parts: Parts) -> Provider:
    match route.backend:
        case "embedded":
            return EmbeddedProvider(on_loading=parts.on_loading)
        case "openai":
            return OpenAIProvider(EnvironmentSecrets(parts.variables))
        case "scripted":
            return ScriptedProvider(route.replies)


def read_persona(home: Home, persona_id: str) -> Persona:
    path = home.persona(persona_id)
    return load_persona(read_text(path, error=PersonaError), str(path))


def read_profile(home: Home) -> Profile:
    if not home.profile.exists():
        return Profile()
    return load_profile(read_text(home.profile, error=PersonaError), str(home.profile))
