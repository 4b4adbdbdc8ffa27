"""A home moves into a PostgreSQL database, whole, and back into its folder.

All rows, results and files are copied in one transaction of where they go, read again and compared,
and every chain is verified there before anything counts as moved. Until then the home is as it was;
what it was stays aside. On the way back the database is emptied before the folder is a home again,
so that there are never two.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from mentis.disk.atomic import sync_folder, write_atomic
from mentis.disk.inside import inside
from mentis.disk.lock import try_lock
from mentis.disk.processes import in_force, process_of
from mentis.errors import (
    HomeExists,
    HomeMissing,
    StoreConflict,
    StoreDamaged,
    StoreLocked,
    UsageError,
)
from mentis.home.database import open_database
from mentis.home.identity import home_name, persona_of
from mentis.home.ledger import open_ledger
from mentis.home.older_turns import settle_older_turns
from mentis.home.parts import Parts
from mentis.home.persona import open_memory, read_persona
from mentis.home.server import check_address, is_served, open_postgres
from mentis.home.system import SystemClock
from mentis.home.view import ASIDE, MANIFEST, HomeView, begin_view, own_files
from mentis.ports.blob_store import BlobStore
from mentis.record.evidence import gather_home_evidence
from mentis.record.segments import open_segments
from mentis.record.source import lock_changes
from mentis.record.verify import verify_agent
from mentis.settings.edit import changed_text
from mentis.settings.settings import Settings
from mentis.settings.sources import check_settings, load_settings
from mentis.stores.files.blobs import FileBlobs
from mentis.stores.files.home import MARKER, Home, find_home
from mentis.stores.files.secret import read_secret
from mentis.stores.leasing import read_lease
from mentis.stores.postgres.blobs import PostgresBlobs
from mentis.stores.postgres.database import PostgresDatabase
from mentis.stores.postgres.files import FileRow, PostgresFiles
from mentis.stores.postgres.ledger import PostgresLedger
from mentis.stores.sql_ledger import SqlLedger
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.stores.table_copy import clear_server, copy_to_file, copy_to_server, holds_rows
from mentis.values.digest import Digest
from mentis.values.value import Value

if TYPE_CHECKING:
    import psycopg

    from mentis.stores.rows import Row

_LEASES = "SELECT agent, purpose, owner, fence, expires, released FROM leases"
_MEMORY_FILES = """
SELECT key, content FROM revisions AS one WHERE key LIKE 'memory:%/%.md' AND number = (
    SELECT max(number) FROM revisions AS other WHERE other.key = one.key)
ORDER BY key
"""
_OCCUPIED = (
    (
        b"SELECT count(*) FROM workers WHERE seen > now() - interval '1 minute'",
        "workers serve",
    ),
    (b"SELECT count(*) FROM inbox WHERE answer IS NULL", "messages wait in"),
)
_NOBODY_WRITES = "LOCK TABLE ledger, turns, marks, leases, memories, revisions, blobs, files"


@dataclass(frozen=True, slots=True)
class HomeMove(Value):
    """Where a home lies now, how much of it was moved, and the last entry of each agent there.

    `aside` is where what it was before stays, until you delete it.
    """

    home: str
    database: str
    rows: dict[str, int]
    blobs: int
    files: int
    heads: dict[str, str]
    aside: str = ""


def move_home(
    home: str | Path, url: str, *, schema: str = "mentis", parts: Parts | None = None
) -> HomeMove:
    """Move a home into a PostgreSQL database, where agents of it can live on many machines.

    It blocks. Nobody may be at work in the home meanwhile: StoreLocked says who is. StoreConflict
    where something lies in that schema already.
    """
    place, parts = find_home(Path(home)), parts or Parts()
    settings = load_settings(place.path, parts.variables)
    if settings.model.ledger.store != "sqlite" or settings.model.memories.store != "sqlite":
        raise UsageError(
            f"{place.path} has its record on a server already",
            hint="only a home whose record and memories lie in its folder can be moved whole",
        )
    moved = _moved_settings(place, settings, url, schema)
    target_settings = check_settings(moved, place.path / MARKER, parts.variables)
    with (
        lock_changes(place, settings),
        open_postgres(target_settings, parts.variables) as server,
        open_database(place, settings, parts.variables) as database,
    ):
        _refuse_busy(place)
        heads = _settled(place, settings, database, parts)
        with database.write() as connection:
            _refuse_leases(connection.execute(_LEASES).fetchall(), parts)
            files = tuple(
                FileRow(MARKER, moved.encode()) if one.path == MARKER else one
                for one in own_files(place)
            )
            rows, blobs = _copied(connection, server, place, files)
            try:
                store, kept = PostgresLedger(server), PostgresBlobs(server)
                _compare(heads, _verified(place, target_settings, store, blobs=kept, parts=parts))
            except BaseException:
                with server.session() as undone, undone.transaction():
                    clear_server(undone)
                raise
            begin_view(place, len(files), files)
            write_atomic(place.path / MARKER, moved)
        where = server.where
    aside = _put_aside(place)
    return HomeMove(str(place.path), where, rows, blobs, len(files), heads, str(aside))


def move_home_back(home: str | Path, parts: Parts | None = None) -> HomeMove:
    """Bring a home back into its folder; the database holds nothing of it afterwards. It blocks.

    Nobody may be at work in it, on whichever machine: StoreLocked says who is.
    """
    place, parts = find_home(Path(home)), parts or Parts()
    settings = load_settings(place.path, parts.variables)
    if not is_served(settings):
        raise UsageError(f"{place.path} does not lie in a database", hint="there is nothing to do")
    back = _back_settings(place)
    with open_postgres(settings, parts.variables) as server:
        if place.database.exists() and not PostgresFiles(server).newest:
            rows: dict[str, int] = {}  # cut short after the last copy: all of it is here
            blobs, heads = len(tuple(_blob_names(place))), {}
        else:
            rows, blobs, heads = _copied_back(place, server, back, parts)
        where = server.where
    _become_own(place, back)
    return HomeMove(str(place.path), where, rows, blobs, len(own_files(place)), heads)


def _copied_back(
    home: Home, server: PostgresDatabase, back: str, parts: Parts
) -> tuple[dict[str, int], int, dict[str, str]]:
    """All of it is safe in the folder when the transaction that empties the database ends."""
    view = HomeView(home, PostgresFiles(server))
    view.push()
    view.pull()
    settings = check_settings(back, home.path / MARKER, parts.variables)
    new = home.database.with_name(f"{home.database.name}.new")
    with server.session() as connection, connection.transaction():
        connection.execute(f"{_NOBODY_WRITES} IN EXCLUSIVE MODE".encode())
        _refuse_leases(connection.execute(_LEASES.encode()).fetchall(), parts)
        _refuse_waiting(connection)
        new.unlink(missing_ok=True)
        with Database(new) as database:
            with database.write() as target:
                rows = copy_to_file(connection, target)
            blobs = _blobs_back(connection, home)
            own = SqliteLedger(database)
            heads = _verified(home, settings, own, blobs=FileBlobs(home.blobs), parts=parts)
            database.fold()
        _memory_files_back(connection, home)
        new.replace(home.database)
        sync_folder(home.path)
        clear_server(connection)
    return rows, blobs, heads


def lay_out_home(
    folder: str | Path,
    url: str,
    secret: str | Path,
    *,
    schema: str = "mentis",
    parts: Parts | None = None,
) -> Path:
    """Make a folder that shows the home in a database, on one more machine. `secret` is the file
    `secret.key` of another folder of the same home: the database does not have it.
    """
    place, parts = Home(Path(folder)), parts or Parts()
    if place.path.exists() and any(place.path.iterdir()):
        raise HomeExists(f"{place.path} is not empty", hint="choose another folder")
    key = Path(secret)
    if not key.is_file():
        raise UsageError(
            f"there is no {key}: a home's secret is not in its database",
            hint="bring `secret.key` here from a machine that has this home, and name it: --secret",
        )
    check_address(url)
    busy = load_settings(None, parts.variables).model.store.busy_seconds
    with PostgresDatabase(url, schema=schema, busy_seconds=busy) as server:
        files = PostgresFiles(server)
        if not files.newest:
            raise HomeMissing(
                f"no home lies in {server.where}, schema {schema}",
                hint="`mentis move URL` puts one there",
                path=str(place.path),
            )
        place.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(place.secret, key.read_bytes())
        read_secret(place)  # says so where that is none
        HomeView(place, files).lay_out()
    return place.path


def _moved_settings(home: Home, settings: Settings, url: str, schema: str) -> str:
    check_address(url)
    text = (home.path / MARKER).read_text(encoding="utf-8")
    if not settings.model.name:  # it went by the name of its folder, which others do not share
        text = f'name = "{home.name}"\n{text}'
    changes = {"store": "postgres", "url": url, "schema_name": schema, "holds": "home"}
    text = changed_text(text, "ledger", changes, file=MARKER)
    return changed_text(text, "memories", {"store": "postgres"}, file=MARKER)


def _back_settings(home: Home) -> str:
    text = (home.path / MARKER).read_text(encoding="utf-8")
    text = changed_text(text, "ledger", {"store": "sqlite", "holds": "record"}, file=MARKER)
    return changed_text(text, "memories", {"store": "sqlite"}, file=MARKER)


def _settled(home: Home, settings: Settings, database: Database, parts: Parts) -> dict[str, str]:
    """What older versions and editors left is written first; the last entry of each agent."""
    clock = parts.clock or SystemClock()
    with closing(open_ledger(settings, database, parts.variables)) as ledger:
        for agent in ledger.agents():
            settle_older_turns(ledger, database, agent)
        for persona in home.personas():
            who = read_persona(home, persona)
            open_memory(home, who, database, settings=settings, clock=clock).files()
        store = SqliteLedger(database)
        return _verified(home, settings, store, blobs=FileBlobs(home.blobs), parts=parts)


def _verified(
    home: Home, settings: Settings, store: SqlLedger, *, blobs: BlobStore, parts: Parts
) -> dict[str, str]:
    """The last entry of every agent; StoreDamaged where one of their records does not hold."""
    known = replace(gather_home_evidence(home, settings, parts.variables), blobs=blobs, alone=None)
    heads: dict[str, str] = {}
    agents = store.agents()
    for agent in agents:
        persona = persona_of(agent, home_name(home, settings))
        segments = open_segments(home, settings, persona, agent)
        asked = replace(known, segments=segments, beside=frozenset(agents), home=None)
        if findings := verify_agent(agent, store, store, asked).findings:
            raise StoreDamaged(
                f"the record of {agent} does not hold, so nothing was moved: {findings[0].message}",
                hint="`mentis verify` says more",
                column="ledger",
            )
        head = store.head(agent)
        heads[agent] = head.hash if head is not None else ""
    return heads


def _compare(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    if before != after:
        raise StoreDamaged(
            "the record is not the same where it was moved to, so nothing was moved",
            hint="try again",
            column="ledger",
        )


def _copied(
    source: sqlite3.Connection, server: PostgresDatabase, home: Home, files: tuple[FileRow, ...]
) -> tuple[dict[str, int], int]:
    """All of it in one transaction."""
    with server.session() as connection, connection.transaction():
        connection.execute(f"{_NOBODY_WRITES} IN EXCLUSIVE MODE".encode())
        if holds_rows(connection):
            raise StoreConflict(
                f"something lies in {server.where} already, so no home can be moved there",
                hint="name a schema of its own for this home: --schema NAME",
            )
        rows = copy_to_server(source, connection)
        names = sorted(_blob_names(home))
        for name in names:
            content = FileBlobs(home.blobs).read(name)
            connection.execute("INSERT INTO blobs (digest, data) VALUES (%s, %s)", (name, content))
        for number, file in enumerate(files, 1):
            cells = (file.path, file.data, file.digest, int(file.runs), number)
            connection.execute(
                "INSERT INTO files (path, data, digest, runs, revision)"
                " VALUES (%s, %s, %s, %s, %s)",
                cells,
            )
    return rows, len(names)


def _blob_names(home: Home) -> Iterator[Digest]:
    for path in home.blobs.glob("??/*"):
        if path.is_file() and len(path.name) == 64:
            yield f"sha256:{path.name}"


def _blobs_back(connection: psycopg.Connection[Row], home: Home) -> int:
    rows = connection.execute("SELECT data FROM blobs ORDER BY digest")
    kept = FileBlobs(home.blobs)
    return len([kept.keep(bytes(data)) for (data,) in rows])


def _memory_files_back(connection: psycopg.Connection[Row], home: Home) -> None:
    for key, text in connection.execute(_MEMORY_FILES.encode()).fetchall():
        persona, _, file = str(key).removeprefix("memory:").partition("/")
        folder = home.memory(persona)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(inside(folder, file), str(text))


def _refuse_busy(home: Home) -> None:
    """StoreLocked while somebody acts or is answered in this home."""
    for path in (*home.owners.glob("*.owner"), *home.owners.glob("turns/*.turn")):
        lock = try_lock(path)
        if lock is None:
            raise StoreLocked(
                f"somebody is at work in {home.path}",
                hint="end its chats, servers and loops first",
                path=str(path),
            )
        lock.release()


def _refuse_leases(rows: Sequence[Row], parts: Parts) -> None:
    now = (parts.clock or SystemClock()).now()
    for row in map(read_lease, rows):
        if not row.released and in_force(row.lease, now):
            raise StoreLocked(
                f"{process_of(row.lease.owner)} is at work: it has the lease of"
                f" `{row.lease.agent}` to {row.lease.purpose}",
                hint="end it first, or wait until its lease has run out",
                agent=row.lease.agent,
            )


def _refuse_waiting(connection: psycopg.Connection[Row]) -> None:
    for statement, what in _OCCUPIED:
        ((number,),) = connection.execute(statement).fetchall()
        if number:
            raise StoreLocked(
                f"{what} this home: {number}",
                hint="let them be answered, and end the workers: mentis workers drain --all",
            )


def _put_aside(home: Home) -> Path:
    """What lies in the database now, under `moved/`, for its owner to delete."""
    folder = next(path for n in count(1) if not (path := home.path / ASIDE / f"{n}").exists())
    folder.mkdir(mode=0o700, parents=True)
    gone = [path for path in home.path.glob("mentis.db*") if path.is_file()]
    for path in (*gone, home.blobs, *(home.memory(one) for one in home.personas())):
        if path.exists():
            target = folder / path.relative_to(home.path)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.rename(target)
    sync_folder(home.path)
    return folder


def _become_own(home: Home, settings: str) -> None:
    """The last step back: from here on the folder is the home."""
    write_atomic(home.path / MARKER, settings)
    for name in (MANIFEST, "view.db", "view.db-wal", "view.db-shm"):
        (home.path / name).unlink(missing_ok=True)
    sync_folder(home.path)
