"""The home's database, opened where it is, or begun where nothing was recorded yet."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from mentis.errors import BadCheckpoint, HomeUnwritable, MentisError, RolledBack, StoreFull
from mentis.ledger.checkpoint import read_note
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import KeyFolder, config_folder
from mentis.stores.sql_inventory import Salts
from mentis.stores.sqlite.database import Database
from mentis.values.checkpoint import Checkpoint
from mentis.values.words import entries_of

from .closing import closed_on_failure
from .copies import copy_refusal, original_of, remember_instance
from .server import OWN_FILE, ServedDatabase, is_served, open_postgres
from .signing import open_pin
from .view import check_served


def open_database(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    file: Path | None = None,
    readonly: bool = False,
    anew: bool = False,
    salts: Salts | None = None,
) -> Database:
    """RolledBack where it is gone although a checkpoint of it is kept beside the key: an empty one
    in its place would say that nothing was ever there. `anew` begins one all the same. `file` is
    another one to use instead. A home that is a copy is opened for reading, and whoever writes is
    told so: HomeCopy. So is one on a disk that takes nothing: HomeUnwritable, StoreFull.
    """
    busy = settings.model.store.busy_seconds
    if is_served(settings) and file is None:
        check_served(settings, home)
        server = open_postgres(settings, environ)
        with closed_on_failure(server):
            return ServedDatabase(
                home.path / OWN_FILE, server, busy_seconds=busy, readonly=readonly
            )
    if not (file or readonly) and (original := original_of(home, settings, environ)):
        return _open_copy(home, original, busy_seconds=busy)
    if not (file or anew or home.database.exists()):
        _refuse_gone(home, settings, environ)
    try:
        path = file or home.database
        database = Database(path, busy_seconds=busy, readonly=readonly, salts=salts)
    except (HomeUnwritable, StoreFull) as error:
        if file or readonly or anew or not home.database.exists():
            raise
        return _open_sealed(home, error, busy_seconds=busy)
    if not (file or readonly):
        remember_instance(home, settings, environ)
    return database


def _open_sealed(home: Home, refusal: MentisError, *, busy_seconds: float) -> Database:
    """For reading, and the reason for whoever writes."""

    def refuse() -> MentisError:
        return refusal.with_traceback(None)

    return Database(home.database, busy_seconds=busy_seconds, readonly=True, refusal=refuse)


def _open_copy(home: Home, original: Path, *, busy_seconds: float) -> Database:
    """For reading, and HomeCopy for whoever writes."""
    refusal = partial(copy_refusal, home, original)
    if not home.database.exists():
        raise refusal()
    return Database(home.database, busy_seconds=busy_seconds, readonly=True, refusal=refusal)


@contextmanager
def no_empty_left(home: Home) -> Generator[None]:
    """A database that was begun in the block goes again if that fails before anything is in it:
    left behind, it would say that nothing was ever there.
    """
    there = home.database.exists()
    try:
        yield
    except BaseException:
        if not there and _holds_nothing(home.database):
            for name in ("", "-wal", "-shm"):
                home.database.with_name(home.database.name + name).unlink(missing_ok=True)
        raise


def _holds_nothing(file: Path) -> bool:
    if not file.exists() or not file.stat().st_size:
        return True
    try:
        with Database(file, readonly=True) as database:
            names = database.read("SELECT name FROM main.sqlite_master WHERE type = 'table'")
            looks = (f'SELECT 1 FROM main."{name}" LIMIT 1' for (name,) in names)  # noqa: S608 - its own names
            return not any(map(database.read, looks))
    except MentisError:
        return False  # nobody knows, so it stays


def _refuse_gone(home: Home, settings: Settings, environ: Mapping[str, str]) -> None:
    longest = max(_known(settings, environ), key=lambda says: says.size, default=None)
    if longest is not None and longest.size:
        raise RolledBack(
            f"{home.database} is gone: a checkpoint beside the key has seen"
            f" {entries_of(longest.size)} of {longest.origin!r} (emptied)",
            hint="put a backup in its place; if there is none, `mentis ledger accept-rollback` goes"
            " on from nothing, and says so",
            size=longest.size,
            file=str(home.database),
        )


def _known(settings: Settings, environ: Mapping[str, str]) -> Iterator[Checkpoint]:
    pin = open_pin(settings)
    if pin is None or settings.model.ledger.store != "sqlite":
        return  # entries elsewhere are not gone with this file
    notes, _ = KeyFolder(config_folder(environ), pin.origin).kept_notes()
    for kept in notes:
        try:
            yield read_note(kept.note).checkpoint
        except BadCheckpoint:
            continue  # `verify` names it
