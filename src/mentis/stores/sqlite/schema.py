"""Whether the tables are those that the migrations make, and nothing stands beside them.

A trigger, a view in a table's place or a table without its key decides what is written and read, so
nothing that goes through it could be believed.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TypeAlias

from mentis.errors import StoreDamaged

from .migrations import MIGRATIONS

_READ = "SELECT type, name, tbl_name, sql FROM main.sqlite_master"
# What ANALYZE leaves: it may make a reading slower, and never makes it another.
_STATISTICS = frozenset({"sqlite_stat1", "sqlite_stat4"})
# Nowhere else: SQLite takes a key word in quotes for a part of the type's name, not for a key word.
_QUOTED = re.compile(r'(CREATE (?:TABLE|(?:UNIQUE )?INDEX \w+ ON)) "(\w+)"')
# What SQLite calls white space. Other kinds of it are letters of a name there.
_SPACE = re.compile(r"[ \t\n\f\r]+")

_Key: TypeAlias = tuple[object, object]
_Made: TypeAlias = tuple[object, object]


def check_schema(connection: sqlite3.Connection, version: int, path: Path) -> None:
    """StoreDamaged unless everything in the file is as that version has it."""
    found, expected = _read(connection), _expected(version)
    if found == expected:
        return
    odd = sorted(_told(key) for key in found.keys() - expected.keys())
    missing = sorted(_told(key) for key in expected.keys() - found.keys())
    changed = sorted(_told(key) for key in found.keys() & expected.keys() - _same(found, expected))
    told = (("not ours", odd), ("missing", missing), ("changed", changed))
    reason = "; ".join(f"{what}: {', '.join(names)}" for what, names in told if names)
    raise StoreDamaged(
        f"{path} does not have the tables it should have: {reason}",
        hint="it was left as it is; take out what is not ours, or put a backup in its place",
        path=str(path),
        column="schema",
    )


@cache
def _expected(version: int) -> dict[_Key, _Made]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in MIGRATIONS[: max(version, 0)]:
            step(connection)
        return _read(connection)


def _read(connection: sqlite3.Connection) -> dict[_Key, _Made]:
    return {
        (kind, name): (table, _normal(sql))
        for kind, name, table, sql in connection.execute(_READ)
        if not (kind == "table" and name in _STATISTICS)
    }


def _same(found: dict[_Key, _Made], expected: dict[_Key, _Made]) -> set[_Key]:
    return {key for key, made in found.items() if expected.get(key) == made}


def _normal(sql: object) -> object:
    """Renaming a table puts its name into quotes, and layout means nothing."""
    if not isinstance(sql, str):
        return sql
    plain = _SPACE.sub(" ", sql).strip(" ")
    quoted = _QUOTED.match(plain)
    return f"{quoted[1]} {quoted[2]}{plain[quoted.end() :]}" if quoted else plain


def _told(key: _Key) -> str:
    kind, name = key
    return f"{kind} {name!r}"
