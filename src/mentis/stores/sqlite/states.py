"""States of minds in SQLite: the newest one per agent."""

from __future__ import annotations

from mentis.stores.succession import check_next_state
from mentis.values.cognition import CognitionState

from .column import read_value, write_value
from .database import Database

_NEWEST = "SELECT revision FROM states WHERE agent = ?"
_SAVE = """
INSERT INTO states (agent, revision, state) VALUES (?, ?, ?)
ON CONFLICT (agent) DO UPDATE SET revision = excluded.revision, state = excluded.state
"""


class SqliteStates:
    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, agent: str) -> CognitionState:
        rows = self._database.read("SELECT state FROM states WHERE agent = ?", (agent,))
        if not rows:
            return CognitionState()
        return read_value(CognitionState, rows[0][0], where=f"the state of `{agent}`")

    def save(self, agent: str, state: CognitionState, *, expected: int) -> None:
        with self._database.write() as connection:
            row = connection.execute(_NEWEST, (agent,)).fetchone()
            newest = 0 if row is None else row[0]
            check_next_state(agent, state, newest=newest, expected=expected)
            connection.execute(_SAVE, (agent, state.revision, write_value(state)))
