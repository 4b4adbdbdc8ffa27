"""The PostgreSQL server of a home: of its record, or of all it holds.

A home that lies there whole (`ledger.holds = "home"`) has its revisions, states, blobs and files
there as well. The folder it is opened from is a view of the files; the database beside it holds
nothing that lasts.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from urllib.parse import urlsplit

from mentis.errors import SettingsError
from mentis.ports.blob_store import BlobStore
from mentis.ports.revisions import Revisions
from mentis.settings.sections import LedgerSettings
from mentis.settings.settings import Settings
from mentis.stores.files.blobs import FileBlobs
from mentis.stores.files.home import Home
from mentis.stores.keyring import SystemSecrets
from mentis.stores.postgres.blobs import PostgresBlobs
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.revisions import PostgresRevisions
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.values.digest import Digest

OWN_FILE = "view.db"  # beside a view, for what wants a database here
_open: dict[tuple[str, str], PostgresDatabase] = {}
_lock = Lock()


class ServedDatabase(Database):
    """Of a home that lies on a server: the file is this machine's own, and holds nothing."""

    def __init__(
        self, path: Path, server: PostgresDatabase, *, busy_seconds: float, readonly: bool
    ) -> None:
        super().__init__(path, busy_seconds=busy_seconds, readonly=readonly and path.exists())
        self.server = server

    def close(self) -> None:
        super().close()
        self.server.close()


def is_served(settings: Settings) -> bool:
    """Whether the home lies in PostgreSQL whole."""
    chosen = settings.model
    if chosen.ledger.holds != "home":
        return False
    if (chosen.ledger.store, chosen.memories.store) != ("postgres", "postgres"):
        raise SettingsError(
            'ledger.holds = "home" is for a home whose record and memories are in PostgreSQL',
            hint='set ledger.store and memories.store to "postgres"; `mentis move` does all three',
        )
    return True


def open_revisions(database: Database) -> Revisions:
    """History of what is edited: prompts, files of personas, states of minds."""
    if isinstance(database, ServedDatabase):
        return PostgresRevisions(database.server)
    return SqliteRevisions(database)


def open_blobs(home: Home, database: Database) -> BlobStore:
    """What is too large for the record."""
    if isinstance(database, ServedDatabase):
        return PostgresBlobs(database.server)
    return FileBlobs(home.blobs)


def reach_blobs(home: Home, settings: Settings, environ: Mapping[str, str]) -> BlobStore:
    """The same for whoever has no database of the home open: the server is reached for each."""
    return _ReachedBlobs(settings, environ) if is_served(settings) else FileBlobs(home.blobs)


class _ReachedBlobs:
    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ

    @contextmanager
    def _blobs(self) -> Generator[PostgresBlobs]:
        with open_postgres(self._settings, self._environ) as server:
            yield PostgresBlobs(server)

    def keep(self, content: bytes) -> Digest:
        with self._blobs() as blobs:
            return blobs.keep(content)

    def has(self, digest: Digest) -> bool:  # noqa: ARG002 - as of the store itself
        return False

    def read(self, digest: Digest, *, start: int = 0, length: int | None = None) -> bytes | None:
        with self._blobs() as blobs:
            return blobs.read(digest, start=start, length=length)

    @contextmanager
    def held(self) -> Generator[None]:
        with self._blobs() as blobs, blobs.held():
            yield

    def forget(self, digest: Digest) -> bool:
        with self._blobs() as blobs:
            return blobs.forget(digest)


def open_postgres(settings: Settings, environ: Mapping[str, str]) -> PostgresDatabase:
    """The PostgreSQL database of a home: one for the ledger and for the memories. A home that lies
    there whole shares one between all that are opened in this process.
    """
    chosen = settings.model.ledger
    url, own = _address(chosen, environ)
    own = own or settings.of_environment("ledger", "url")
    busy = settings.model.store.busy_seconds
    if not is_served(settings):
        return PostgresDatabase(url, schema=chosen.schema_name, busy_seconds=busy, own=own)
    key = (url, chosen.schema_name)
    with _lock:
        there = _open.get(key)
        if there is None or not there.share():
            there = PostgresDatabase(url, schema=chosen.schema_name, busy_seconds=busy, own=own)
            _open[key] = there
        return there


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
    check_address(chosen.url, chosen.url_env)
    return chosen.url, False


def check_address(url: str, variable: str = "") -> None:
    """SettingsError for one that cannot stand in a file of settings."""
    if _has_password(url):
        raise SettingsError(
            "`ledger.url` holds a password",
            hint=f"export {variable or 'LEDGER_URL'}=... with it, and take it out there",
        )


def _has_password(url: str) -> bool:
    return "password=" in url or bool(urlsplit(url).password)
