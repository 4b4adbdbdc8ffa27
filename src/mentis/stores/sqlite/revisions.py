"""History of edited things in SQLite."""

from __future__ import annotations

from mentis.stores.succession import check_next_revision
from mentis.values.cognition import Revision

from .database import Database

_NEWEST = "SELECT coalesce(max(number), 0) FROM revisions WHERE key = ?"
_SAVE = """
INSERT INTO revisions (key, number, content, digest, time, words) VALUES (?, ?, ?, ?, ?, ?)
"""
_HISTORY = """
SELECT key, number, content, digest, time, words FROM revisions WHERE key = ? ORDER BY number
"""


class SqliteRevisions:
    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, revision: Revision) -> None:
        with self._database.write() as connection:
            newest = connection.execute(_NEWEST, (revision.key,)).fetchone()[0]
            check_next_revision(revision, newest=newest)
            connection.execute(
                _SAVE,
                (
                    revision.key,
                    revision.number,
                    revision.content,
                    revision.digest,
                    revision.time,
                    revision.words,
                ),
            )

    def history(self, key: str) -> tuple[Revision, ...]:
        return tuple(Revision(*row) for row in self._database.read(_HISTORY, (key,)))
