"""Puts real parts behind the ports: the only place that knows which."""

from __future__ import annotations

from pathlib import Path

from mentis.ask.caching import REMEMBERED, Caching
from mentis.ask.models import Models
from mentis.home.checkpoints import CheckpointedLedger
from mentis.home.closing import closed_on_failure
from mentis.home.database import open_database
from mentis.home.ground import Ground
from mentis.home.identity import Identity
from mentis.home.learned_facts import LearnedFacts
from mentis.home.ledger import open_ledger
from mentis.home.older_turns import settle_older_turns
from mentis.home.parts import Parts
from mentis.home.persona import open_memory, read_persona, read_profile
from mentis.home.prompts import open_shelf
from mentis.home.provider import open_provider
from mentis.home.routes import open_routes, open_stage
from mentis.home.secret import open_secret
from mentis.home.system import RandomIds, SystemClock
from mentis.home.view import refresh
from mentis.library.shelf import Shelf
from mentis.ports.clock import Clock
from mentis.record.agent_record import AgentRecord
from mentis.record.home_files import open_home_files
from mentis.record.stored_inputs import TurnInputStore
from mentis.settings.settings import Settings
from mentis.settings.sources import LiveSettings
from mentis.stores.files.home import Home, find_home
from mentis.stores.sqlite.database import Database
from mentis.talk.beat import check_weights
from mentis.tools.acting import open_act_runner
from mentis.turn.agent_parts import AgentParts
from mentis.turn.recaller import Recaller
from mentis.turn.snapshot import TurnSources
from mentis.values.persona import Persona


def open_agent_parts(
    path: Path,
    *,
    persona: str | None,
    route: str,
    parts: Parts,
    store: Path | None = None,
) -> tuple[AgentParts, Database, Settings]:
    """Open the home at `path` and put one persona's agent together.

    `store` is the file of a database to use in the place of the home's own.
    """
    home = find_home(path)
    refresh(home.path, parts.variables)
    live, shelf = _open_live(home, parts)
    settings, _ = live.current()
    chosen = home.pick_persona(persona, settings.model.persona)
    destination, *fallbacks = open_routes(settings, home, route)
    correction = open_stage(settings, home, "correction", instead_of=destination)
    who, profile = read_persona(home, chosen), read_profile(home)
    clock = parts.clock or SystemClock()
    provider = open_provider(settings, home, parts, clock=clock)
    secret, noted = open_secret(home, parts)
    # Last of what can fail, so that no failure leaves it open.
    database = open_database(home, settings, parts.variables, file=store, salts=parts.salts)
    with closed_on_failure(database):
        agent = f"{settings.model.name or home.name}/{chosen}"
        ground = _open_ground(
            home, live, parts, agent=agent, persona=who, database=database, clock=clock
        )
        ledger = ground.ledger
        try:
            acting = open_act_runner(ground)
        except BaseException:
            ledger.close()
            raise
    recaller = Recaller(ground, acting.tools.notes)
    caching = Caching(lambda: ledger.latest(agent, REMEMBERED, kind="turn"))
    opened = AgentParts(
        who=Identity(agent, who, profile, home, secret),
        record=_open_record(ground, shelf, recaller, secret),
        models=Models(
            destination,
            tuple(fallbacks),
            provider,
            caching.counter,
            caching,
            clock,
            correction=correction,
            rules=parts.rules,
            learned=LearnedFacts(home.path),
        ),
        sources=TurnSources(live, shelf, ground.memory, noted),
        acting=acting,
        recaller=recaller,
        inputs=TurnInputStore(ledger, agent, secret),
    )
    return opened, database, settings


def _open_record(ground: Ground, shelf: Shelf, recaller: Recaller, secret: bytes) -> AgentRecord:
    """With the files that its turns bind."""
    files = open_home_files(
        ground.home,
        ground.agent,
        shelf,
        ground.ledger,
        skills=recaller.skills_seen,
        secret=secret,
    )
    return AgentRecord(
        ground.agent,
        ground.ledger,
        ground.clock,
        ground.ids,
        require_writable=ground.database.require_writable,
        files=files,
    )


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
    with closed_on_failure(ledger):
        if isinstance(ledger, CheckpointedLedger):
            ledger.begin(agent)
        settle_older_turns(ledger, database, agent)
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
