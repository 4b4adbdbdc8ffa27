"""Turns of conversations in SQLite."""

from __future__ import annotations

from mentis.errors import StoreError
from mentis.values.turn import Turn

from .column import read_value, write_value
from .database import Database

_NEXT = "SELECT coalesce(max(number) + 1, 0) FROM turns WHERE agent = ? AND session = ?"
_ADD = "INSERT INTO turns (agent, session, number, turn) VALUES (?, ?, ?, ?)"
_REPLACE = "UPDATE turns SET turn = ? WHERE agent = ? AND session = ? AND number = ?"
_TURNS = "SELECT turn FROM turns WHERE agent = ? AND session = ? ORDER BY number"
_SESSIONS = "SELECT session FROM turns WHERE agent = ? GROUP BY session ORDER BY min(id)"


class SqliteConversations:
    """Turns are numbered from 0, so that a number is also the place in `turns`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, agent: str, session: str, turn: Turn) -> int:
        with self._database.write() as connection:
            number: int = connection.execute(_NEXT, (agent, session)).fetchone()[0]
            connection.execute(_ADD, (agent, session, number, write_value(turn)))
            return number

    def replace(self, agent: str, session: str, number: int, turn: Turn) -> None:
        with self._database.write() as connection:
            parameters = (write_value(turn), agent, session, number)
            if not connection.execute(_REPLACE, parameters).rowcount:
                raise StoreError(f"session `{session}` of `{agent}` has no turn {number}")

    def turns(self, agent: str, session: str) -> tuple[Turn, ...]:
        where = f"a turn of session `{session}` of `{agent}`"
        rows = self._database.read(_TURNS, (agent, session))
        return tuple(read_value(Turn, text, where=where) for (text,) in rows)

    def sessions(self, agent: str) -> tuple[str, ...]:
        return tuple(session for (session,) in self._database.read(_SESSIONS, (agent,)))
