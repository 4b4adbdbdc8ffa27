"""Puts real parts behind the ports: the only place that knows which."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mentis.call.breaker import BreakerLimits
from mentis.call.deadline import TimedProvider
from mentis.call.dialects import DIALECTS
from mentis.call.guard import GuardedProvider
from mentis.call.http import HttpProvider
from mentis.call.recorder import Recorder, RecordingProvider
from mentis.call.replay import ReplayProvider
from mentis.call.scripted import ScriptedProvider
from mentis.codec.toml import read_text
from mentis.engines.embedded import EmbeddedProvider
from mentis.errors import PersonaError, RouteError
from mentis.library.integrity import validate_integrity
from mentis.library.load import load_persona, load_profile
from mentis.library.memory.files import PersonaMemory
from mentis.library.shelf import Shelf
from mentis.ports.clock import Clock
from mentis.ports.provider import Provider
from mentis.stores.files.home import Home, find_home
from mentis.stores.files.secret import make_secret, read_secret
from mentis.stores.sqlite.conversations import SqliteConversations
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.values.persona import Persona, Profile
from mentis.values.route import Backend, Route
from mentis.values.trace import Degradation

from .acting import open_dispatcher
from .beat import check_weights
from .bringing import Bringing
from .caching import REMEMBERED, Caching
from .carrying import CarriedTalk
from .checkpoints import CheckpointedLedger
from .databases import open_database
from .ground import Ground
from .kept_inputs import KeptInputs
from .ledgers import open_ledger
from .mind import Mind
from .opened import closed_on_failure
from .parts import Parts
from .route_keys import RouteKeys
from .settings import Settings, Stage
from .settings_sources import LiveSettings
from .system import RandomIds, SystemClock


def open_mind(
    path: Path,
    *,
    persona: str | None,
    route: str,
    parts: Parts,
    store: Path | None = None,
) -> tuple[Mind, Database, Settings]:
    """Open the home at `path` and make one persona's mind of it.

    `store` is the file of a database to use in the place of the home's own.
    """
    home = find_home(path)
    live, shelf = _open_live(home, parts)
    settings, _ = live.current()
    chosen = home.pick_persona(persona)
    destination, *fallbacks = open_routes(settings, home, route)
    who, profile = read_persona(home, chosen), read_profile(home)
    clock = parts.clock or SystemClock()
    provider = open_provider(settings, home, parts, clock=clock)
    secret, noted = open_secret(home, parts)
    # Last of what can fail, so that no failure leaves it open.
    database = open_database(home, settings, parts.variables, file=store)
    with closed_on_failure(database):
        agent = f"{settings.model.name or home.name}/{chosen}"
        ground = _open_ground(
            home, live, parts, agent=agent, persona=who, database=database, clock=clock
        )
        ledger = ground.ledger
        try:
            acting = open_dispatcher(ground)
        except BaseException:
            ledger.close()
            raise
    caching = Caching(lambda: ledger.latest(agent, REMEMBERED, kind="turn"))
    mind = Mind(
        agent=agent,
        persona=who,
        profile=profile,
        shelf=shelf,
        memory=ground.memory,
        settings=live,
        route=destination,
        fallbacks=tuple(fallbacks),
        provider=provider,
        counter=caching.counter,
        caching=caching,
        conversations=CarriedTalk(SqliteConversations(database), ledger),
        ledger=ledger,
        clock=clock,
        ids=ground.ids,
        acting=acting,
        bringing=Bringing(ground, acting.tools.notes),
        kept=KeptInputs(ledger, agent, secret),
        correction=open_stage(settings, home, "correction", instead_of=destination),
        rules=parts.rules,
        secret=secret,
        noted=noted,
    )
    return mind, database, settings


def _open_live(home: Home, parts: Parts) -> tuple[LiveSettings, Shelf]:
    """The settings, held to what the prompts have."""
    live = LiveSettings(home.path, parts.variables)
    shelf = open_shelf(home, live.current()[0])
    live.hold_to(lambda settings: check_weights(settings, shelf.current().library))
    return live, shelf


def _open_ground(
    home: Home,
    live: LiveSettings,
    parts: Parts,
    *,
    agent: str,
    persona: Persona,
    database: Database,
    clock: Clock,
) -> Ground:
    settings, _ = live.current()
    memory = open_memory(home, persona, database, settings=settings, clock=clock, live=live)
    ledger = open_ledger(settings, database, parts.variables)
    if isinstance(ledger, CheckpointedLedger):
        ledger.begin(agent)
    return Ground(
        home=home,
        settings=settings,
        environ=parts.variables,
        agent=agent,
        persona=persona,
        memory=memory,
        database=database,
        ledger=ledger,
        clock=clock,
        ids=parts.ids or RandomIds(),
        handlers=parts.handlers,
        channels=parts.channels,
        embedder=parts.embedder,
        screener=parts.screener,
    )


def open_secret(home: Home, parts: Parts) -> tuple[bytes, tuple[Degradation, ...]]:
    """The home's secret; a home that is older than secrets gets one, and it is noted."""
    secret = parts.secret or read_secret(home)
    if secret is not None:
        return secret, ()
    # Never from the ids that were handed in: those may count, and so could be guessed.
    secret = make_secret(home, RandomIds().salt)
    note = f"there was none, so {home.secret.name} was made; marks around outside text are new"
    return secret, (Degradation("home secret", note),)


def open_routes(settings: Settings, home: Home, name: str) -> tuple[Route, ...]:
    """A route and those it falls back on, with the paths in them as they are seen from here."""
    return tuple(_from_home(route, home) for route in settings.chain(name))


def open_stage(settings: Settings, home: Home, stage: Stage, *, instead_of: Route) -> Route | None:
    """The route that a stage has of its own; None when it takes the turn's own one."""
    if not settings.has_stage(stage):
        return None
    route = _from_home(settings.stage(stage), home)
    if instead_of.backend == "replay" and route.backend not in ("replay", "scripted"):
        raise RouteError(
            f"route {instead_of.name!r} is a replay, and routes.{stage} is not",
            hint=f"a replay never touches the network: make routes.{stage} a replay as well",
        )
    return route


def _from_home(route: Route, home: Home) -> Route:
    """Files are named relative to the home, wherever the command is run."""
    if route.folder:
        return replace(route, folder=str(home.path / route.folder))
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
    return PersonaMemory(
        home.memory(persona.id),
        SqliteRevisions(database),
        clock,
        persona_id=persona.id,
        language=persona.language,
        limit=settings.model.limits.memory_chars,
        busy_seconds=settings.model.store.busy_seconds,
        manual=lambda: now().holds_back,
    )


def open_provider(settings: Settings, home: Home, parts: Parts, *, clock: Clock) -> Provider:
    """Every backend behind one guard; a provider that was handed in has only its deadline."""
    if parts.provider is not None:
        return TimedProvider(parts.provider)
    folder = settings.model.record.folder
    recorder = Recorder(home.path / folder) if folder else None
    http = HttpProvider(
        RouteKeys(home.path, settings, parts.variables).key_of,
        max_bytes=settings.model.limits.answer_bytes,
        recorder=recorder,
    )
    backends: dict[Backend, Provider] = {
        "embedded": EmbeddedProvider(on_loading=parts.on_loading),
        "scripted": ScriptedProvider(),
    }
    if recorder is not None:
        backends = {name: RecordingProvider(own, recorder) for name, own in backends.items()}
    backends.update(dict.fromkeys(DIALECTS, http))
    backends["replay"] = ReplayProvider()
    breaker = settings.model.breaker
    limits = BreakerLimits(breaker.failures, breaker.seconds)
    return TimedProvider(GuardedProvider(backends, clock, limits=limits, on_retry=parts.on_retry))


def read_persona(home: Home, persona_id: str) -> Persona:
    path = home.persona(persona_id)
    return load_persona(read_text(path, error=PersonaError), str(path))


def read_profile(home: Home) -> Profile:
    if not home.profile.exists():
        return Profile()
    return load_profile(read_text(home.profile, error=PersonaError), str(home.profile))
