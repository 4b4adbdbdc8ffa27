"""Copies all that a home's database holds to another one, row by row, in either direction.

Both have the same tables; a vector is a blob here and an array there. What was copied is read
again and compared with what it was copied from, in the same transaction.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from mentis.errors import StoreDamaged

from .memory_rows import LIST_COLUMNS
from .rows import COLUMNS, Row
from .sqlite.database import fetch

if TYPE_CHECKING:
    import psycopg


class _Table(NamedTuple):
    name: str
    columns: tuple[str, ...]
    order: str


_VECTORS = "memory_vectors"
_NUMBERED = "inventory"  # its numbers are told in entries, so they stay
_TABLES = (
    _Table("ledger", COLUMNS, "agent, idx"),
    _Table("dropped", ("agent", "idx", "hash", "delivery"), "agent, idx"),
    _Table("checkpoints", ("agent", "size", "note"), "id"),
    _Table("leases", ("agent", "purpose", "owner", "fence", "expires", "released"), "1, 2"),
    _Table("marks", ("agent", "kind", "key", "value"), "agent, kind, key"),
    _Table("turns", ("agent", "session", "number", "turn"), "id"),
    _Table("media", ("agent", "digest", "data"), "agent, digest"),
    _Table("turn_media", ("agent", "session", "number", "part", "digest"), "1, 2, 3, 4"),
    _Table(
        "memories",
        ("agent", "id", "memory", "text", "content", "revision", *LIST_COLUMNS),
        "agent, id",
    ),
    _Table(_VECTORS, ("agent", "fingerprint", "id", "text", "vector", "revision"), "1, 2, 3"),
    _Table("memory_standing", ("agent", "revision", "forgotten"), "agent"),
    _Table(
        "revisions",
        ("key", "number", "content", "digest", "time", "words", "author"),
        "key, number",
    ),
    _Table(_NUMBERED, ("number", "scope", "kind", "name", "salt", "leaf", "bound"), "number"),
    _Table("inventory_lists", ("digest", "items"), "digest"),
)
_BESIDE = ("blobs", "files", "inbox", "rings", "workers")  # of a server alone
_BATCH = 200
_VECTOR = _TABLES[9].columns.index("vector")
_COUNT_ON = """
SELECT setval(pg_get_serial_sequence('inventory', 'number'), greatest(max(number), 1))
FROM inventory HAVING max(number) IS NOT NULL
"""

Rows = Iterator[Row]


def copy_to_server(source: sqlite3.Connection, target: psycopg.Connection[Row]) -> dict[str, int]:
    """How many rows of each table, all of them there. The caller's transactions are around it."""
    counts: dict[str, int] = {}
    for table in _TABLES:
        statement = _insert(table, "%s", " OVERRIDING SYSTEM VALUE")
        with target.cursor() as cursor:
            for rows in _batches(_of_file(source, table)):
                cursor.executemany(statement.encode(), [_arrayed(table, row) for row in rows])
        counts[table.name] = _compared(
            table, _of_file(source, table), lambda table=table: _of_server(target, table)
        )
    target.execute(_COUNT_ON)
    return counts


def copy_to_file(source: psycopg.Connection[Row], target: sqlite3.Connection) -> dict[str, int]:
    """The same the other way."""
    counts: dict[str, int] = {}
    for table in _TABLES:
        statement = _insert(table, "?", "")
        for rows in _batches(_of_server(source, table)):
            target.executemany(statement, rows)
        counts[table.name] = _compared(
            table, _of_server(source, table), lambda table=table: _of_file(target, table)
        )
    return counts


def clear_server(target: psycopg.Connection[Row]) -> None:
    """Nothing of a home is left there, but the tables."""
    names = ", ".join((*(table.name for table in _TABLES), *_BESIDE))
    target.execute(f"TRUNCATE {names}".encode())


def holds_rows(target: psycopg.Connection[Row]) -> bool:
    """Whether anything of a home is there already."""
    names = (*(table.name for table in _TABLES), *_BESIDE)
    looks = (f"SELECT 1 FROM {name} LIMIT 1" for name in names)  # noqa: S608 - constants
    return any(target.execute(look.encode()).fetchall() for look in looks)


def _batches(rows: Rows) -> Iterator[list[Row]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _insert(table: _Table, mark: str, overriding: str) -> str:
    columns, marks = ", ".join(table.columns), ", ".join([mark] * len(table.columns))
    over = overriding if table.name == _NUMBERED else ""
    return f"INSERT INTO {table.name} ({columns}){over} VALUES ({marks})"  # noqa: S608 - constants


def _of_file(source: sqlite3.Connection, table: _Table) -> Rows:
    yield from fetch(source, _select(table, table.columns))


def _of_server(source: psycopg.Connection[Row], table: _Table) -> Rows:
    cells = source.execute(_select(table, table.columns).encode())
    for row in cells:
        yield tuple(_plain(cell) for cell in row)


def _select(table: _Table, columns: Sequence[str]) -> str:
    return f"SELECT {', '.join(columns)} FROM {table.name} ORDER BY {table.order}"  # noqa: S608 - constants


def _plain(cell: object) -> object:
    """Bytes as a file has them: a vector is 4 bytes a number, the low one first."""
    if isinstance(cell, list):
        numbers = array("f", cell)  # pyright: ignore[reportUnknownArgumentType]
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tobytes()
    return cell


def _arrayed(table: _Table, row: Row) -> Row:
    if table.name != _VECTORS:
        return row
    numbers = array("f", row[_VECTOR])
    if sys.byteorder == "big":
        numbers.byteswap()
    return (*row[:_VECTOR], list(numbers), *row[_VECTOR + 1 :])


def _compared(table: _Table, ours: Rows, read: Callable[[], Rows]) -> int:
    """How many rows; StoreDamaged where what was written is not what was read."""
    count, told = _summed(ours)
    if (count, told) != _summed(read()):
        raise StoreDamaged(
            f"the table {table.name} was not copied as it is, so nothing of the home was moved",
            hint="try again; if it stays so, `mentis verify` says what ails the home",
            column=table.name,
        )
    return count


def _summed(rows: Rows) -> tuple[int, str]:
    count, told = 0, hashlib.sha256()
    for row in rows:
        count += 1
        told.update(repr(row).encode("utf-8", "surrogatepass"))
    return count, told.hexdigest()
