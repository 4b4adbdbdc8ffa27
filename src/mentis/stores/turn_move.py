"""Moves the turns of an agent from the database of its home to the server that has its ledger.

An older Mentis kept them apart. They are copied in one transaction of the server, with a mark for
each session that says which rows it was; then exactly those rows go from the file, and the marks
last. Killed after any of the three, whoever opens the home next goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .older_turns import settle_marks
from .rows import Row
from .session import ADD_TURN, SqlTransaction
from .sql_ledger import SqlLedger
from .sql_turns import FORGET_MEDIA, KEEP_MEDIA, LINK_MEDIA, count_turns
from .sqlite.database import Database, fetch

MOVED = "moved_turns"  # the kind of the marks; the key is the session
_TURNS = "SELECT session, number, turn FROM turns WHERE agent = ? ORDER BY id"
_LINKS = """
SELECT session, number, part, digest FROM turn_media WHERE agent = ? ORDER BY session, number, part
"""
_MEDIA = "SELECT digest, data FROM media WHERE agent = ?"
_RECORDED = "SELECT 1 FROM ledger WHERE agent = ? LIMIT 1"
_MARKS = "SELECT key, value FROM marks WHERE agent = ? AND kind = ?"
_MARK = "INSERT INTO marks (agent, kind, key, value) VALUES (?, ?, ?, ?)"
_CLEAR = "DELETE FROM marks WHERE agent = ? AND kind = ? AND key = ?"

_Read: TypeAlias = Callable[[str, Sequence[object]], list[Row]]


@dataclass(slots=True)
class _Stored:
    """The rows of one session, as they are in the file."""

    turns: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])
    links: list[tuple[Any, Any, Any]] = field(default_factory=list[tuple[Any, Any, Any]])

    def digest(self) -> str:
        rows = json.dumps([self.turns, self.links], default=repr).encode()
        return hashlib.sha256(rows).hexdigest()


def move_turns(source: Database, store: SqlLedger, agent: str) -> tuple[str, ...]:
    """Returns the sessions that stay in the file: the server has others under their names."""
    with source.snapshot() as read:
        sessions = _sessions(read, agent)
        media = read(_MEDIA, (agent,)) if sessions else []
    moved = store.unit(agent, lambda unit: _copy(unit, agent, sessions, media, read=source.read))
    if moved and sessions:
        _remove(source, agent, moved)
    left = _sessions(source.read, agent)
    if done := moved.keys() - left.keys():
        store.unit(agent, lambda unit: _clear(unit, agent, done))
    return tuple(name for name, one in left.items() if moved.get(name) != one.digest())


def _sessions(read: _Read, agent: str) -> dict[str, _Stored]:
    """In the order in which they were begun."""
    found: defaultdict[str, _Stored] = defaultdict(_Stored)
    for session, number, turn in read(_TURNS, (agent,)):
        found[session].turns.append((number, turn))
    for session, number, part, digest in read(_LINKS, (agent,)) if found else ():
        found[session].links.append((number, part, digest))
    return dict(found)


def _copy(
    unit: SqlTransaction,
    agent: str,
    sessions: dict[str, _Stored],
    media: Iterable[Row],
    *,
    read: _Read,
) -> dict[str, str]:
    """The digest of every session whose copy is there, also of an earlier try."""
    moved: dict[str, str] = {
        key: json.loads(value)["digest"] for key, value in unit.execute(_MARKS, (agent, MOVED))
    }
    fresh = {
        name: stored
        for name, stored in sessions.items()
        if name not in moved and not count_turns(unit, agent, name)
    }
    linked = {digest for stored in fresh.values() for _, _, digest in stored.links}
    for digest, data in media:
        if digest in linked:
            unit.execute(KEEP_MEDIA, (agent, digest, data))
    for name, stored in fresh.items():
        for number, turn in stored.turns:
            unit.write_turn(ADD_TURN, (agent, name, number), turn)
        for number, part, digest in stored.links:
            unit.defer(LINK_MEDIA, (agent, name, number, part, digest))
        moved[name] = stored.digest()
        unit.defer(_MARK, (agent, MOVED, name, json.dumps({"digest": moved[name]})))
    settle_marks(unit, agent, read)
    return moved


def _remove(source: Database, agent: str, moved: dict[str, str]) -> None:
    """Nothing of what came there since, nor what the file's own entries speak of."""
    with source.write() as connection:
        if fetch(connection, _RECORDED, (agent,)):
            return
        for name, stored in _sessions(_reading(connection), agent).items():
            if moved.get(name) == stored.digest():
                for table in ("turns", "turn_media"):
                    statement = f"DELETE FROM {table} WHERE agent = ? AND session = ?"  # noqa: S608 - constants
                    connection.execute(statement, (agent, name))
        for (digest,) in fetch(connection, "SELECT digest FROM media WHERE agent = ?", (agent,)):
            connection.execute(FORGET_MEDIA, (agent, digest))
    source.fold(wait=False)


def _reading(connection: sqlite3.Connection) -> _Read:
    return lambda statement, parameters: fetch(connection, statement, parameters)


def _clear(unit: SqlTransaction, agent: str, names: Iterable[str]) -> None:
    for name in names:
        unit.execute(_CLEAR, (agent, MOVED, name))
