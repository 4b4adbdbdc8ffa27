"""Turns of conversations in SQLite; the bytes of attachments apart, each content once."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from dataclasses import replace
from typing import TypeAlias

from mentis.errors import StoreDamaged, StoreError
from mentis.stores.column import read_value, write_value
from mentis.stores.turn_cache import TurnCache
from mentis.values.digest import digest
from mentis.values.ending import Ending
from mentis.values.part import MediaPart, Part
from mentis.values.turn import Turn

from .database import Database

_NEXT = "SELECT coalesce(max(number) + 1, 0) FROM turns WHERE agent = ? AND session = ?"
_ADD = "INSERT INTO turns (agent, session, number, turn) VALUES (?, ?, ?, ?)"
_REPLACE = "UPDATE turns SET turn = ? WHERE agent = ? AND session = ? AND number = ?"
# From the message on: what it came to stands there, or behind it.
_CARRIED = """
SELECT 1 FROM turns WHERE agent = ? AND session = ? AND number >= ? AND ending = ? LIMIT 1
"""
_TURN = "SELECT turn FROM turns WHERE agent = ? AND session = ? AND number = ?"
_END = "UPDATE turns SET turn = ?, ending = ? WHERE agent = ? AND session = ? AND number = ?"
_FOLLOW = "INSERT INTO turns (agent, session, number, turn, ending) VALUES (?, ?, ?, ?, ?)"
_TURNS = "SELECT number, turn FROM turns WHERE agent = ? AND session = ? ORDER BY number"
_SESSIONS = "SELECT session FROM turns WHERE agent = ? GROUP BY session ORDER BY min(id)"
_KEEP = "INSERT OR IGNORE INTO media (agent, digest, data) VALUES (?, ?, ?)"
_LINK = "INSERT INTO turn_media (agent, session, number, part, digest) VALUES (?, ?, ?, ?, ?)"
_UNLINK = "DELETE FROM turn_media WHERE agent = ? AND session = ? AND number = ?"
_LINKED = "SELECT digest FROM turn_media WHERE agent = ? AND session = ? AND number = ?"
_FORGET = """
DELETE FROM media WHERE agent = ? AND digest = ? AND NOT EXISTS (
    SELECT 1 FROM turn_media AS t WHERE t.agent = media.agent AND t.digest = media.digest)
"""
_MEDIA = """
SELECT number, part, digest, data FROM turn_media JOIN media USING (agent, digest)
WHERE agent = ? AND session = ? ORDER BY number, part
"""

_Bytes: TypeAlias = dict[int, bytes]
_TABLES = ("turns", "media", "turn_media")


class SqliteConversations:
    """Turns are numbered from 0, so that a number is also the place in `turns`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept = TurnCache()

    def damage(self) -> tuple[str, ...]:
        return self._database.damage(_TABLES)

    def add(self, agent: str, session: str, turn: Turn) -> int:
        bare, data = _apart(turn)
        with self._database.write() as connection:
            number: int = connection.execute(_NEXT, (agent, session)).fetchone()[0]
            connection.execute(_ADD, (agent, session, number, write_value(bare)))
            _keep(connection, (agent, session, number), data)
            return number

    def replace(self, agent: str, session: str, number: int, turn: Turn) -> None:
        bare, data = _apart(turn)
        place = (agent, session, number)
        with self._database.write() as connection:
            if not connection.execute(_REPLACE, (write_value(bare), *place)).rowcount:
                raise StoreError(f"session `{session}` of `{agent}` has no turn {number}")
            before = {name for (name,) in connection.execute(_LINKED, place)}
            connection.execute(_UNLINK, place)
            _keep(connection, place, data)
            gone = before.difference(map(digest, data.values()))
            connection.executemany(_FORGET, [(agent, name) for name in gone])

    def carry(self, agent: str, session: str, ending: Ending) -> None:
        with self._database.write() as connection:
            if connection.execute(_CARRIED, _named(agent, session, ending)).fetchone():
                return
            _end(connection, (agent, session, ending.number), ending)
            (number,) = connection.execute(_NEXT, (agent, session)).fetchone()
            for place, turn in enumerate(ending.turns, start=number):
                bare, data = _apart(turn)
                row = (agent, session, place, write_value(bare), ending.name)
                connection.execute(_FOLLOW, row)
                _keep(connection, (agent, session, place), data)

    def carried(self, agent: str, session: str, ending: Ending) -> bool:
        return bool(self._database.read(_CARRIED, _named(agent, session, ending)))

    def turns(self, agent: str, session: str) -> tuple[Turn, ...]:
        where = f"a turn of session `{session}` of `{agent}`"
        data: defaultdict[int, _Bytes] = defaultdict(dict)
        names: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        for number, part, name, content in self._database.read(_MEDIA, (agent, session)):
            data[number][part] = content
            names[number].append((part, name))
        turns: list[Turn] = []
        for place, (number, text) in enumerate(self._database.read(_TURNS, (agent, session))):
            if (number, type(text)) != (place, str):
                raise StoreDamaged(
                    f"{where} is not in its place: the one after {place} others has the number"
                    f" {number!r}",
                    hint="somebody changed the database; put a backup in its place",
                )
            row = (text, tuple(names.get(number, ())))
            turn = self._kept.get(row)
            if turn is None:
                turn, held = read_value(Turn, text, where=where), data.get(number, {})
                turn = self._kept.keep(row, _with(turn, held) if held else turn)
            turns.append(turn)
        return tuple(turns)

    def sessions(self, agent: str) -> tuple[str, ...]:
        return tuple(_name(session) for (session,) in self._database.read(_SESSIONS, (agent,)))


def _name(session: object) -> str:
    try:
        if isinstance(session, str) and session.encode():
            return session
    except UnicodeEncodeError:
        pass
    raise StoreDamaged(
        f"there are turns of a session that is called {session!r}, which no session can be",
        hint="somebody changed the database; put a backup in its place",
    )


def _named(agent: str, session: str, ending: Ending) -> tuple[str, str, int, str]:
    return agent, session, ending.number, ending.name


def _end(connection: sqlite3.Connection, place: tuple[str, str, int], ending: Ending) -> None:
    """Only its state is new. A message that somebody took away is for `verify` to miss."""
    row = connection.execute(_TURN, place).fetchone() if ending.state is not None else None
    if row is None or ending.state is None:
        return
    where = f"turn {ending.number} of session `{place[1]}` of `{place[0]}`"
    turn = replace(read_value(Turn, str(row[0]), where=where), state=ending.state)
    connection.execute(_END, (write_value(turn), ending.name, *place))


def _keep(connection: sqlite3.Connection, place: tuple[str, str, int], data: _Bytes) -> None:
    for part, content in data.items():
        name = digest(content)
        connection.execute(_KEEP, (place[0], name, content))
        connection.execute(_LINK, (*place, part, name))


def _apart(turn: Turn) -> tuple[Turn, _Bytes]:
    """The turn without the bytes of its attachments, and those by the number of their part."""
    data = {
        number: part.data
        for number, part in enumerate(turn.parts)
        if isinstance(part, MediaPart) and part.data is not None
    }
    return (_with(turn, dict.fromkeys(data)), data) if data else (turn, data)


def _with(turn: Turn, data: dict[int, bytes] | dict[int, None]) -> Turn:
    parts: tuple[Part, ...] = tuple(
        replace(part, data=data[number]) if isinstance(part, MediaPart) and number in data else part
        for number, part in enumerate(turn.parts)
    )
    return replace(turn, parts=parts)
