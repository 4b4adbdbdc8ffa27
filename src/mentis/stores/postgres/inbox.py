"""Inbox and doorbell in PostgreSQL: one transaction for a message and its ring.

The ring of an agent is one row with the time at which it is due; by the clock of the server, so
that no two machines have to agree on theirs. Who claims it makes it due later, and so nobody else
finds it meanwhile; it is found again where whoever claimed it is gone.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from mentis.codec.forms import from_json, to_json
from mentis.values.inbox import INBOX, InboxAnswer, InboxMessage, Ring, WorkerRow

from .database import PostgresDatabase

if TYPE_CHECKING:
    import psycopg

    from mentis.stores.rows import Row

_PUT = """
INSERT INTO inbox (agent, id, session, stimulus, seal, time, tries)
VALUES (%s, %s, %s, %s, %s, now(), 0)
ON CONFLICT (agent, id) DO NOTHING RETURNING number
"""
_MARK = "INSERT INTO marks (agent, kind, key, value) VALUES (%s, %s, %s, '{}')"
_UNMARK = "DELETE FROM marks WHERE agent = %s AND kind = %s AND key = %s"
_RING = """
INSERT INTO rings (agent, due, number, claim, claimed)
VALUES (%s, now() + make_interval(secs => %s), 1, 0, FALSE)
ON CONFLICT (agent) DO UPDATE SET number = rings.number + 1, due = CASE
    WHEN rings.claimed THEN rings.due ELSE least(rings.due, excluded.due) END
"""
_WAITING = """
SELECT id, session, stimulus, seal FROM inbox WHERE agent = %s AND answer IS NULL
ORDER BY number LIMIT %s
"""
_TRIED = "UPDATE inbox SET tries = tries + 1 WHERE agent = %s AND id = %s RETURNING tries"
_ANSWERED = "UPDATE inbox SET answer = %s WHERE agent = %s AND id = %s AND answer IS NULL"
_ANSWER = "SELECT answer FROM inbox WHERE agent = %s AND id = %s"
_COUNTS = "SELECT count(*), count(DISTINCT agent) FROM inbox WHERE answer IS NULL"
_CLAIM = """
UPDATE rings SET due = now() + make_interval(secs => %s), claim = claim + 1, claimed = TRUE
WHERE agent = (
    SELECT agent FROM rings WHERE due <= now() ORDER BY due FOR UPDATE SKIP LOCKED LIMIT 1
) RETURNING agent, number, claim
"""
_KEEP = "UPDATE rings SET due = now() + make_interval(secs => %s) WHERE agent = %s AND claim = %s"
_REST = "DELETE FROM rings WHERE agent = %s AND claim = %s AND number = %s"
_AGAIN = """
UPDATE rings SET due = now() + make_interval(secs => %s), claimed = FALSE
WHERE agent = %s AND claim = %s
"""
_NOTIFY = "SELECT pg_notify(current_schema() || '.rings', '')"
_SEEN = """
INSERT INTO workers (name, since, seen, serving, draining) VALUES (%s, now(), now(), %s, FALSE)
ON CONFLICT (name) DO UPDATE SET seen = now(), serving = excluded.serving RETURNING draining
"""
_GONE = "DELETE FROM workers WHERE name = %s"
_FORGOTTEN = "DELETE FROM workers WHERE seen < now() - interval '1 day'"
_DRAIN = "UPDATE workers SET draining = TRUE WHERE name = %s RETURNING 1"
_WORKERS = """
SELECT name, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    extract(epoch FROM now() - seen)::integer, serving, draining FROM workers ORDER BY name
"""


class PostgresInbox:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._listening = Lock()
        self._bell: psycopg.Connection[Row] | None = None

    def put(self, agent: str, message: InboxMessage) -> bool:
        one = message
        with self._database.session() as connection, connection.transaction():
            cells = (agent, one.id, one.session, one.stimulus, one.seal)
            if not connection.execute(_PUT, cells).fetchall():
                return False
            connection.execute(_MARK, (agent, INBOX, one.id))
            connection.execute(_RING, (agent, 0.0))
            connection.execute(_NOTIFY)
            return True

    def waiting(self, agent: str, most: int) -> tuple[InboxMessage, ...]:
        return tuple(InboxMessage(*row) for row in self._database.read(_WAITING, (agent, most)))

    def tried(self, agent: str, message_id: str) -> int:
        rows = self._database.read(_TRIED, (agent, message_id))
        return rows[0][0] if rows else 0

    def answered(self, agent: str, message_id: str, answer: InboxAnswer) -> None:
        with self._database.session() as connection, connection.transaction():
            connection.execute(_ANSWERED, (to_json(answer).decode(), agent, message_id))
            connection.execute(_UNMARK, (agent, INBOX, message_id))
            connection.execute(_NOTIFY)

    def answer(self, agent: str, message_id: str) -> InboxAnswer | None:
        rows = self._database.read(_ANSWER, (agent, message_id))
        return from_json(InboxAnswer, rows[0][0]) if rows and rows[0][0] else None

    def counts(self) -> tuple[int, int]:
        ((messages, agents),) = self._database.read(_COUNTS)
        return messages, agents

    def ring(self, agent: str, *, seconds: float = 0.0) -> None:
        with self._database.session() as connection, connection.transaction():
            connection.execute(_RING, (agent, seconds))
            connection.execute(_NOTIFY)

    def claim(self, seconds: float) -> Ring | None:
        rows = self._database.read(_CLAIM, (seconds,))
        return Ring(*rows[0]) if rows else None

    def keep(self, ring: Ring, seconds: float) -> None:
        with self._database.session() as connection:
            connection.execute(_KEEP, (seconds, ring.agent, ring.claim))

    def rest(self, ring: Ring, *, again: float | None = None) -> None:
        with self._database.session() as connection, connection.transaction():
            if again is None:
                cells = (ring.agent, ring.claim, ring.number)
                if connection.execute(_REST, cells).rowcount:
                    return
            connection.execute(_AGAIN, (again or 0.0, ring.agent, ring.claim))
            connection.execute(_NOTIFY)

    def wait(self, seconds: float) -> None:
        """Over a connection of its own, which hears what rings from the first wait on."""
        with self._listening, self._database.translate_errors():
            if self._bell is None or self._bell.closed:
                self._bell = self._database.connect()
                self._bell.execute(f'LISTEN "{self._database.schema}.rings"'.encode())
                return  # what rang before nobody heard: look once more
            for _ in self._bell.notifies(timeout=seconds, stop_after=1):
                pass

    def close(self) -> None:
        """The database stays open."""
        bell, self._bell = self._bell, None
        if bell is not None:
            bell.close()


class PostgresWorkers:
    """Who serves here, and who shall stop."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def seen(self, name: str, serving: int) -> bool:
        """It is there; whether it may go on."""
        rows = self._database.read(_SEEN, (name, serving))
        return not rows[0][0]

    def gone(self, name: str) -> None:
        with self._database.session() as connection:
            connection.execute(_GONE, (name,))

    def drain(self, name: str) -> bool:
        """Have it serve what it began and end; False where there is none of that name."""
        return bool(self._database.read(_DRAIN, (name,)))

    def all(self) -> tuple[WorkerRow, ...]:
        """Those that serve, and those that went without a word in the last day."""
        with self._database.session() as connection:
            connection.execute(_FORGOTTEN)
        return tuple(WorkerRow(*row) for row in self._database.read(_WORKERS))
