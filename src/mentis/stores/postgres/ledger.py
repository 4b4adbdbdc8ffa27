"""The record of agents in PostgreSQL.

Writers of one agent take turns under an advisory lock. What waits in this process goes into one
transaction, whichever agents it is for, as long as nobody else holds one of their chains; then,
and when something goes wrong that cannot be told apart, each agent gets a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, LiteralString, TypeVar

from mentis.errors import MentisError
from mentis.stores.group import GroupCommit
from mentis.stores.rows import COLUMNS, Row
from mentis.stores.session import SqlTransaction, TurnPlace
from mentis.stores.sql_inventory import Execute, Salts, SqlInventory
from mentis.stores.sql_ledger import Read, SqlLedger

from .database import PostgresDatabase

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
# What `VACUUM` frees is not overwritten, and the server keeps more than its tables.
_ERASED: tuple[LiteralString, ...] = ("ledger", "dropped", "turns", "media", "turn_media")
_REMAINS = (
    "unused space of the server's table files, until VACUUM FULL {}, which locks them".format(
        ", ".join(_ERASED)
    ),
    "the write-ahead log of the server and its archive, until they are recycled",
    "replicas and backups of the server",
)
_KEY = "hashtextextended(current_schema() || '/' || agent, 0)"
_TURN = f"SELECT pg_advisory_xact_lock({_KEY}) FROM (SELECT %s::text AS agent) AS one"  # noqa: S608 - constants
_TURNS_NOW = f"SELECT bool_and(pg_try_advisory_xact_lock({_KEY})) FROM unnest(%s::text[]) AS agent"  # noqa: S608 - constants
_COPY = f"COPY ledger ({', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)".encode()
_TYPES = ["int8" if name == "idx" else "text" for name in COLUMNS]
_HEADS = """
SELECT wanted, idx, hash, time FROM unnest(%s::text[]) AS wanted CROSS JOIN LATERAL (
    SELECT idx, hash, time FROM ledger WHERE agent = wanted COLLATE "C" ORDER BY idx DESC LIMIT 1
) AS head
"""
_TURNS = """
SELECT agent, session, number, turn FROM turns JOIN
    unnest(%s::text[], %s::text[], %s::bigint[]) AS wanted (a, s, n)
    ON agent = a COLLATE "C" AND session = s COLLATE "C" AND number = n
"""


class PostgresLedger(SqlLedger):
    def __init__(self, database: PostgresDatabase, *, beside: SqlInventory | None = None) -> None:
        """`beside` is what lies in the home's own database."""
        super().__init__(_PostgresEngine(database), beside=beside)


class _Apart(Exception):
    """Not together: somebody holds one of the chains, or nobody knows whose fault a failure was."""


class _PostgresEngine:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._shared = GroupCommit(_Together(database))
        self._groups: dict[str, GroupCommit[_Session]] = {}
        self._lock = Lock()

    @property
    def salts(self) -> Salts:
        return self._database.salts

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self._database.read(_spelled(statement), parameters)

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def snapshot(self) -> Generator[Read]:
        with self._database.snapshot() as connection:

            def read(statement: str, parameters: Sequence[object]) -> list[Row]:
                with self._database.translate_errors():
                    return connection.execute(_spelled(statement).encode(), parameters).fetchall()

            yield read

    def commit(self, agent: str, work: Callable[[SqlTransaction], T]) -> T:
        try:
            return self._shared.run(work, agent)
        except _Apart:
            return self._group(agent).run(work, agent)

    def commit_unsynced(self, agent: str, work: Callable[[SqlTransaction], T]) -> T:
        with _OneAgent(self._database).begin((agent,)) as session:
            session.run("SET LOCAL synchronous_commit = off", ())
            return work(session)

    @contextmanager
    def write_inventory(self, *, synced: bool) -> Generator[Execute]:
        with self._database.session() as connection, connection.transaction():
            if not synced:
                connection.execute("SET LOCAL synchronous_commit = off")

            def execute(statement: str, parameters: Sequence[object]) -> list[Row]:
                cursor = connection.execute(_spelled(statement).encode(), parameters)
                return cursor.fetchall() if cursor.description else []

            yield execute

    def notes(self) -> bool:
        return True  # whoever opens it brings it to the newest version

    def forget(self) -> tuple[str, ...]:
        """The old rows go; the server's own log and its backups are in its owner's hands."""
        self._database.vacuum(*_ERASED)
        return _REMAINS

    def damage(self) -> tuple[str, ...]:
        return self._database.damage()

    def close(self) -> None:
        self._database.close()

    def _group(self, agent: str) -> GroupCommit[_Session]:
        with self._lock:
            return self._groups.setdefault(agent, GroupCommit(_OneAgent(self._database)))


class _Session(SqlTransaction):
    def __init__(self, database: PostgresDatabase, connection: psycopg.Connection[Row]) -> None:
        super().__init__()
        self._database = database
        self._connection = connection

    def run(self, statement: str, parameters: Sequence[object]) -> list[Row]:
        with self._faults():
            cursor = self._connection.execute(_spelled(statement).encode(), parameters)
            return cursor.fetchall() if cursor.description else []

    def run_insert(self, rows: Sequence[Row]) -> None:
        # For many rows half of what as many statements cost the server, for one as much.
        with self._faults(), self._connection.cursor() as cursor, cursor.copy(_COPY) as copy:
            copy.set_types(_TYPES)
            for row in rows:
                copy.write_row(row)

    def run_heads(self, agents: Sequence[str]) -> dict[str, list[Row]]:
        heads: dict[str, list[Row]] = {agent: [] for agent in agents}
        for agent, *head in self.run(_HEADS, (list(agents),)):
            heads[agent].append(tuple(head))
        return heads

    def run_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        with self._faults(), self._connection.cursor() as cursor:
            cursor.executemany(_spelled(statement).encode(), rows)

    def run_turns(self, places: Sequence[TurnPlace]) -> dict[TurnPlace, object]:
        columns = [list(column) for column in zip(*places, strict=True)]
        rows = self.run(_TURNS, columns)
        return {(agent, session, number): turn for agent, session, number, turn in rows}

    @contextmanager
    def _faults(self) -> Generator[None]:
        try:
            with self._database.translate_errors():
                yield
        except MentisError:
            self.stands = False  # after any error the server refuses everything but the end
            raise


class _OwnSession(_Session):
    """Sends at once, so that a row the server refuses is refused to the one who brings it."""

    def insert(self, rows: Sequence[Row]) -> None:
        super().insert(rows)
        self.send()

    def write_turn(self, statement: str, place: TurnPlace, text: str) -> None:
        super().write_turn(statement, place, text)
        self.send()


class _SharedSession(_Session):
    def run_insert(self, rows: Sequence[Row]) -> None:
        with self._apart():
            super().run_insert(rows)

    def run_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        with self._apart():
            super().run_many(statement, rows)

    @contextmanager
    def _apart(self) -> Generator[None]:
        try:
            yield
        except MentisError as error:
            raise _Apart from error


class _OneAgent:
    """Waits for its turn."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    @contextmanager
    def begin(self, keys: Collection[str]) -> Generator[_Session]:
        with self._database.session() as connection, connection.transaction():
            for agent in keys:
                connection.execute(_TURN.encode(), (agent,))
            session = _OwnSession(self._database, connection)
            yield session
            session.finish()


class _Together:
    """Waits for nobody, so no two processes can wait for each other."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    @contextmanager
    def begin(self, keys: Collection[str]) -> Generator[_Session]:
        agents = list(keys)
        with self._database.session() as connection, connection.transaction():
            free = connection.execute(_TURNS_NOW.encode(), (agents,)).fetchone()
            if free is None or not free[0]:
                raise _Apart
            session = _SharedSession(self._database, connection)
            session.know_heads(session.run_heads(agents))
            yield session
            session.finish()


@cache
def _spelled(statement: str) -> str:
    return statement.replace("?", "%s")
