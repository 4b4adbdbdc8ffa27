"""Which store a home keeps its ledger in."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from mentis.errors import SettingsError
from mentis.ledger.checkpoint import Policy
from mentis.ports.ledger_store import LedgerStore
from mentis.settings.sections import LedgerSettings
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.stores.keyring import SystemSecrets
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger

from .checkpoints import CheckpointedLedger
from .identity import RECORDED, home_name
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
    return PostgresLedger(open_postgres(settings, environ), beside=SqliteLedger(database).inventory)


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


def open_postgres(settings: Settings, environ: Mapping[str, str]) -> PostgresDatabase:
    """The PostgreSQL database of a home: one for the ledger and for the memories."""
    chosen = settings.model.ledger
    url, own = _address(chosen, environ)
    return PostgresDatabase(
        url,
        schema=chosen.schema_name,
        busy_seconds=settings.model.store.busy_seconds,
        own=own or settings.of_environment("ledger", "url"),
    )


def _address(chosen: LedgerSettings, environ: Mapping[str, str]) -> tuple[str, bool]:
    """The address, and whether it is a secret, so that it does not come from the home.

    The secret first: it may hold a password, and what is in mentis.toml may not.
    """
    secret = SystemSecrets(environ).get(chosen.url_env) if chosen.url_env else None
    if secret or not chosen.url:
        if not secret:
            raise SettingsError(
                "the ledger is to be in PostgreSQL, and nothing says where that is",
                hint=f"set ledger.url, or export {chosen.url_env or 'a variable'}=postgresql://...",
            )
        return secret, True
    if _has_password(chosen.url):
        raise SettingsError(
            "`ledger.url` holds a password",
            hint=f"export {chosen.url_env or 'LEDGER_URL'}=... with it, and take it out there",
        )
    return chosen.url, False


def _has_password(url: str) -> bool:
    return "password=" in url or bool(urlsplit(url).password)
