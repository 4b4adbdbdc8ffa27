"""Chains of entries in SQLite. An append is one transaction, and one sync of the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from mentis.ports.ledger_store import Stamp
from mentis.stores.delivery import check_same_delivery
from mentis.values.entry import Draft, Entry, Head

from .column import damaged_cell, read_object, write_object
from .database import Database, Row

_COLUMNS = (
    "agent", "idx", "time", "source", "kind", "ruleset", "prev",
    "fields", "hash", "body", "salts", "recipe", "delivery",
)  # fmt: skip
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM ledger WHERE agent = ?"  # noqa: S608 - constants
_INSERT = (
    f"INSERT INTO ledger ({', '.join(_COLUMNS)})"  # noqa: S608 - constants
    f" VALUES ({', '.join('?' for _ in _COLUMNS)})"
)
_HEAD = "SELECT idx, hash, time FROM ledger WHERE agent = ? ORDER BY idx DESC LIMIT 1"
_BATCH = 256


class SqliteLedger:
    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, agent: str, drafts: Sequence[Draft], stamp: Stamp) -> tuple[Entry, ...]:
        with self._database.write() as connection:
            return tuple(_append_one(connection, agent, draft, stamp) for draft in drafts)

    def entries(self, agent: str) -> Iterator[Entry]:
        """Read in batches; between two of them others may write, which only makes it longer."""
        rows = self._database.read(f"{_SELECT} ORDER BY idx LIMIT ?", (agent, _BATCH))
        while rows:
            yield from map(_to_entry, rows)
            later = f"{_SELECT} AND idx > ? ORDER BY idx LIMIT ?"
            rows = self._database.read(later, (agent, rows[-1][1], _BATCH))

    def latest(self, agent: str, count: int) -> tuple[Entry, ...]:
        rows = self._database.read(f"{_SELECT} ORDER BY idx DESC LIMIT ?", (agent, count))
        return tuple(map(_to_entry, reversed(rows)))

    def agents(self) -> tuple[str, ...]:
        rows = self._database.read("SELECT DISTINCT agent FROM ledger ORDER BY agent")
        return tuple(agent for (agent,) in rows)


def _append_one(connection: sqlite3.Connection, agent: str, draft: Draft, stamp: Stamp) -> Entry:
    head = connection.execute(_HEAD, (agent,)).fetchone()
    entry = stamp(agent, Head(*head) if head else None, draft)
    known = _find_delivery(connection, agent, draft.delivery)
    if known is not None:
        check_same_delivery(known, entry)
        return known
    connection.execute(_INSERT, _to_row(entry))
    return entry


def _find_delivery(
    connection: sqlite3.Connection, agent: str, delivery: str | None
) -> Entry | None:
    if delivery is None:
        return None
    row = connection.execute(f"{_SELECT} AND delivery = ?", (agent, delivery)).fetchone()
    return None if row is None else _to_entry(row)


def _to_row(entry: Entry) -> Row:
    return (
        entry.agent,
        entry.index,
        entry.time,
        entry.source,
        entry.kind,
        entry.ruleset,
        entry.prev,
        write_object(entry.fields),
        entry.hash,
        write_object(entry.body),
        write_object(entry.salts),
        entry.recipe,
        entry.delivery,
    )


def _to_entry(row: Row) -> Entry:
    cells = dict(zip(_COLUMNS, row, strict=True))
    index = cells["idx"]
    for name, cell in cells.items():
        _check_cell(index, name, cell)
    return Entry(
        agent=cells["agent"],
        index=index,
        time=cells["time"],
        source=cells["source"],
        kind=cells["kind"],
        ruleset=cells["ruleset"],
        prev=cells["prev"],
        fields=_texts(index, "fields", cells["fields"]),
        hash=cells["hash"],
        body=read_object(cells["body"], index=index, column="body"),
        salts=_texts(index, "salts", cells["salts"]),
        recipe=cells["recipe"],
        delivery=cells["delivery"],
    )


def _check_cell(index: object, column: str, cell: object) -> None:
    """SQLite keeps any type in any column; a foreign one is somebody's doing, not ours."""
    expected = int if column == "idx" else str
    optional = column in {"ruleset", "prev", "delivery"}
    if not (isinstance(cell, expected) or (optional and cell is None)):
        raise damaged_cell(index, column, f"it holds {type(cell).__name__}")


def _texts(index: int, column: str, text: str) -> Mapping[str, str]:
    members = read_object(text, index=index, column=column)
    if not all(isinstance(member, str) for member in members.values()):
        raise damaged_cell(index, column, "it holds something else than texts")
    return cast("Mapping[str, str]", members)
