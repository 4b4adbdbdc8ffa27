"""Whether every row of the record is found through its indexes.

The server itself checks nothing of the kind by a plain query, and its extension amcheck needs an
owner who installs it. So each row of the table itself (a sample of all of it, which no index can
serve) is looked up by the columns of each index. What an index has beyond that, its owner finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mentis.stores.rows import Row

if TYPE_CHECKING:
    import psycopg


class _Index(NamedTuple):
    name: str
    table: str
    columns: tuple[str, ...]


_INDEXES = (
    _Index("ledger_pkey", "ledger", ("agent", "idx")),
    _Index("ledger_delivery", "ledger", ("agent", "delivery")),
    _Index("dropped_pkey", "dropped", ("agent", "idx")),
    _Index("dropped_agent_delivery_key", "dropped", ("agent", "delivery")),
    _Index("marks_pkey", "marks", ("agent", "kind", "key")),
    _Index("turns_pkey", "turns", ("agent", "session", "number")),
    _Index("media_pkey", "media", ("agent", "digest")),
    _Index("turn_media_pkey", "turn_media", ("agent", "session", "number", "part")),
)


def unfound_rows(connection: psycopg.Connection[Row]) -> Iterator[str]:
    """In a transaction that lets the server use indexes alone."""
    for index in _INDEXES:
        row = connection.execute(_statement(index).encode()).fetchone()
        if row is not None and row[0]:
            yield f"{index.table}: rows missing from index {index.name}: {row[0]}"


def _statement(index: _Index) -> str:
    same = " AND ".join(f"found.{column} = kept.{column}" for column in index.columns)
    return f"""
        SELECT count(*) FROM {index.table} AS kept TABLESAMPLE SYSTEM (100)
        LEFT JOIN LATERAL (
            SELECT found.ctid AS place FROM {index.table} AS found WHERE {same} OFFSET 0
        ) AS found ON TRUE
        WHERE kept.{index.columns[-1]} IS NOT NULL AND found.place IS DISTINCT FROM kept.ctid
    """  # noqa: S608 - constants
