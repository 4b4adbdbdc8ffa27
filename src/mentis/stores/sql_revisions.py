"""History of edited things in an SQL database: what SQLite and PostgreSQL do alike."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from mentis.errors import StoreDamaged
from mentis.values.cognition import Revision

from .rows import Row
from .sql_inventory import Salts, note_revision
from .succession import check_next_revision

_NEWEST = "SELECT coalesce(max(number), 0) FROM revisions WHERE key = ?"
_SAVE = """
INSERT INTO revisions (key, number, content, digest, time, words, author)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_HISTORY = """
SELECT key, number, content, digest, time, words, author FROM revisions WHERE key = ?
ORDER BY number DESC LIMIT ?
"""
_ONE = """
SELECT key, number, content, digest, time, words, author FROM revisions
WHERE key = ? AND number = ?
"""
_ALL = 2**62
_TYPES = (str, int, str, str, str, str, str)


class RevisionsTransaction(Protocol):
    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]: ...


class RevisionsEngine(Protocol):
    """Parameters stand as `?`. No other writer of the key comes between what is in one `write`."""

    @property
    def salts(self) -> Salts: ...

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]: ...

    def write(self, key: str) -> AbstractContextManager[RevisionsTransaction]: ...


class SqlRevisions:
    def __init__(self, engine: RevisionsEngine) -> None:
        self._engine = engine

    def save(self, revision: Revision) -> None:
        one = revision
        with self._engine.write(one.key) as work:
            ((newest,),) = work.execute(_NEWEST, (one.key,))
            check_next_revision(one, newest=newest)
            row = (one.key, one.number, one.content, one.digest, one.time, one.words, one.author)
            work.execute(_SAVE, row)
            note_revision(work.execute, row, salts=self._engine.salts)

    def history(self, key: str, *, last: int | None = None) -> tuple[Revision, ...]:
        rows = self._engine.read(_HISTORY, (key, _ALL if last is None else last))
        return tuple(_revision(row) for row in reversed(rows))

    def at(self, key: str, number: int) -> Revision | None:
        rows = self._engine.read(_ONE, (key, number))
        return _revision(rows[0]) if rows else None


def _revision(row: Row) -> Revision:
    if tuple(map(type, row)) != _TYPES:
        raise StoreDamaged(
            f"a revision of `{row[0]}` cannot be read: it holds something else than texts",
            hint="somebody changed the database, or the disk did; put a backup in its place",
            key=str(row[0]),
        )
    return Revision(*row)
