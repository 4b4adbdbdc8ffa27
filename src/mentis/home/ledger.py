"""Which store a home keeps its ledger in."""

from __future__ import annotations

from collections.abc import Mapping

from mentis.ledger.checkpoint import Policy
from mentis.ports.ledger_store import LedgerStore
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger

from .checkpoints import CheckpointedLedger
from .identity import RECORDED, home_name
from .server import is_served, open_postgres
from .signing import Sealing, open_sealing, refuse_swapped, remember_identity


def open_ledger(settings: Settings, database: Database, environ: Mapping[str, str]) -> LedgerStore:
    """The ledger of the home this database lies in. Close it before the database.

    Opened for writing, it makes checkpoints of what is appended, once the home has a key.
    """
    home, sealing = Home(database.path.parent), None
    if not database.readonly:
        remember_identity(home, settings, environ)
        sealing = open_sealing(home, settings, environ)
        if sealing is None:  # then nobody else looks whether this home had a key
            refuse_swapped(home, settings, environ)
    store = open_store(settings, database, environ)
    if sealing is None:
        return store
    chosen = settings.model.ledger
    policy = Policy(chosen.checkpoint_entries, chosen.checkpoint_seconds)
    return CheckpointedLedger(store, sealing, policy, replaced=lambda: database.replaced)


def open_store(settings: Settings, database: Database, environ: Mapping[str, str]) -> LedgerStore:
    """The store alone: in the home's own database, or in PostgreSQL."""
    chosen = settings.model.ledger
    if chosen.store == "sqlite":
        return SqliteLedger(database)
    beside = None if is_served(settings) else SqliteLedger(database).inventory
    return PostgresLedger(open_postgres(settings, environ), beside=beside)


def agents_here(
    store: LedgerStore, settings: Settings, home: Home, sealing: Sealing | None
) -> tuple[str, ...]:
    """The agents of this home with entries. Its own database has no others; PostgreSQL may.

    There it goes by the name of the home, and by what is kept beside the key: it may have had
    another name.
    """
    agents, name = store.agents(), home_name(home, settings)
    if settings.model.ledger.store == "sqlite":
        return agents
    return tuple(
        agent
        for agent in agents
        if agent.startswith(f"{name}/") or (sealing is not None and sealing.last_standing(agent))
    )


def own_agents(
    store: LedgerStore, settings: Settings, home: Home, sealing: Sealing | None
) -> tuple[str, ...]:
    """Those of them that go by the name the home has now, and those that it records."""
    names = (f"{home_name(home, settings)}/", RECORDED)
    here = agents_here(store, settings, home, sealing)
    return tuple(agent for agent in here if agent.startswith(names))
