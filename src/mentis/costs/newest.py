"""The newest entries of a record, found without reading the rest of it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import takewhile

from mentis.ask.recorded_calls import CALL
from mentis.errors import UsageError
from mentis.values.entry import Entry

from .record_reader import RecordReader

_MOST = 8192  # entries that are looked through for turns


def newest_entries(
    reader: RecordReader, count: int, *, since: datetime | None, until: datetime | None
) -> tuple[list[Entry], bool]:
    """The last entries of that time, oldest first, with at least `count` turns among them as far as
    there are; and whether there are older ones. It blocks.
    """
    if reader.tail is None:
        with reader.snapshot() as source:
            return list(source.entries()), False
    length = reader.tail.count()
    end = length if until is None else _first_at(reader, until, length)
    size = count + 1
    while True:
        start = max(0, end - size)
        found = list(takewhile(lambda entry: entry.index < end, reader.tail.entries(start)))
        turns = sum(entry.kind in ("turn", CALL) for entry in found)
        reached = since is not None and found and moment_of(found[0]) < since
        if start == 0 or turns > count or reached or size >= _MOST:
            return found, start > 0
        size *= 2


def moment_of(entry: Entry) -> datetime:
    return datetime.fromisoformat(entry.time).astimezone(UTC)


def _first_at(reader: RecordReader, when: datetime, length: int) -> int:
    """The first index that is not before a moment, found by halving: time goes on in a record."""
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if _is_before(reader, middle, when):
            low = middle + 1
        else:
            high = middle
    return low


def _is_before(reader: RecordReader, index: int, when: datetime) -> bool:
    try:
        return moment_of(reader.find(index)) < when
    except UsageError:
        return True  # it was let go of, so it is old
