"""The newest entries of a record, found without reading the rest of it."""

from __future__ import annotations

from datetime import UTC, datetime

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
    found, turns = list[Entry](), 0
    for entry in reader.backwards(None if until is None else _first_at(reader, until)):
        found.append(entry)
        turns += entry.kind in ("turn", CALL)
        over = since is not None and moment_of(entry) < since
        if over or turns > count or len(found) >= _MOST:
            break
    return found[::-1], bool(found) and found[-1].index > 0


def moment_of(entry: Entry) -> datetime:
    return datetime.fromisoformat(entry.time).astimezone(UTC)


def _first_at(reader: RecordReader, when: datetime) -> int:
    """The first index that is not before a moment, found by halving: time goes on in a record."""
    last = next(reader.backwards(None), None)
    low, high = 0, 0 if last is None else last.index + 1
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
