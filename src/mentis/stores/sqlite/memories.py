"""Memories in SQLite."""

from __future__ import annotations

from mentis.values.cognition import Memory

from .column import read_value, write_value
from .database import Database

_REMEMBER = """
INSERT INTO memories (agent, id, memory) VALUES (?, ?, ?)
ON CONFLICT (agent, id) DO UPDATE SET memory = excluded.memory
"""


class SqliteMemories:
    def __init__(self, database: Database) -> None:
        self._database = database

    def remember(self, agent: str, memory: Memory) -> None:
        with self._database.write() as connection:
            connection.execute(_REMEMBER, (agent, memory.id, write_value(memory)))

    def forget(self, agent: str, memory_id: str) -> bool:
        with self._database.write() as connection:
            statement = "DELETE FROM memories WHERE agent = ? AND id = ?"
            return connection.execute(statement, (agent, memory_id)).rowcount > 0

    def memories(self, agent: str) -> tuple[Memory, ...]:
        statement = "SELECT memory FROM memories WHERE agent = ? ORDER BY id"
        rows = self._database.read(statement, (agent,))
        return tuple(read_value(Memory, text, where=f"a memory of `{agent}`") for (text,) in rows)
