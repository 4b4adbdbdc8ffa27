"""Old entries move into sealed segments; old segments go when the policy says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mentis.errors import StoreDamaged, UsageError
from mentis.home.server import open_blobs
from mentis.ledger import keeping
from mentis.ledger.chain import format_time
from mentis.ledger.segments import cut, cut_before
from mentis.values.entry import Entry

from .erasure import kept_row, release_blobs
from .record import Record
from .segments import SegmentFile
from .source import EntrySource


@dataclass(frozen=True, slots=True)
class Rotation:
    path: Path
    first: int
    last: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Expiry:
    """The segments that were deleted, and the entry that says so."""

    entry: Entry | None
    files: tuple[Path, ...]


def rotate(record: Record, index: int) -> Rotation:
    """Move the entries before `index` into a segment.

    They are dropped once that is on disk and a signed entry says so.
    """
    with record.exclusive():
        ledger, signer = record.signable_ledger(), record.require_sealing().signer()
        _check_own(record)
        segment, lines = keeping.seal_segment(ledger, index, signer)
        path = record.segments.write(segment, lines)
        # Cut short after this, the entries are in both places, which is no harm and said by verify.
        keeping.record_rotation(ledger, segment, signer, record.stamp_signed())
        dropped = record.store.drop_before(record.agent, index)
    return Rotation(path, segment.first, segment.last, dropped)


def index_to_keep(record: Record, keep: int) -> int:
    """Where to cut so that the last `keep` entries stay, and the one that says so."""
    return cut(record.store.count(record.agent), keep=keep)


def index_before(record: Record, text: str) -> int:
    """Where to cut, given as an index or as a time: what is older goes."""
    place = _place(text)
    if isinstance(place, int):
        return place
    index = cut_before(record.store.entries(record.agent), place)
    return record.store.count(record.agent) - 1 if index is None else index


def expire(record: Record) -> Expiry:
    """Delete the segments that the policy no longer keeps; first a signed entry says which."""
    days = record.settings.model.ledger.keep_segments_days
    if not days:
        raise UsageError("segments are kept for ever", hint="set `ledger.keep_segments_days` first")
    with record.exclusive():
        return _expire(record, days)


def _expire(record: Record, days: int) -> Expiry:
    ledger = record.signable_ledger()
    limit = _limit(record.clock.now(), days)
    with record.snapshot() as source:
        old = list(_older(source, limit))
        if not old:
            return Expiry(None, ())
        _check_verifies(record)
        released = [entry for file in old for entry in file.entries()]
        record.unbind_inventory()
        inputs = [mark for entry in released for mark in kept_row(entry)]
        entry = keeping.record_retention(
            ledger,
            [file.segment for file in old],
            told=source.entries(),
            days=days,
            before=limit,
            signer=record.require_sealing().signer(),
            stamp=record.stamp_signed(),
            marks=inputs,
        )
    # Before the files: once they are deleted, nothing says any more which blobs it were.
    release_blobs(open_blobs(record.home, record.database), released, record.every_entry())
    # Also copies that a rotation left which was cut short; they verified, too.
    end = old[-1].segment.last
    gone = [file for file in record.segments.files() if file.segment.last <= end]
    for file in gone:
        record.segments.delete(file)
    return Expiry(entry, tuple(file.path for file in gone))


def _older(source: EntrySource, limit: str) -> Iterator[SegmentFile]:
    """From the beginning of what is left on, so that it stays without gaps."""
    place = source.first
    files = sorted(source.segments.files, key=lambda f: (f.segment.first, -f.segment.last))
    for file in files:
        if file.segment.first != place or file.segment.last >= source.stored:
            continue  # a copy, or not moved out yet
        if file.last_time() >= limit:
            return
        yield file
        place = file.segment.last + 1


def _check_own(record: Record) -> None:
    """One of another history would be taken for what is moved out now, or be overwritten by it."""
    with record.snapshot() as source:
        foreign = source.foreign()
    if foreign:
        raise StoreDamaged(
            f"{foreign[0].path.name} is among the segments, and its entries are not those of the"
            " ledger: nothing is moved out beside it",
            hint="if a rollback has left it there, `mentis ledger accept-rollback` sets it aside;"
            " else take it out of the folder",
            path=str(foreign[0].path),
        )


def _check_verifies(record: Record) -> None:
    """Whoever took a segment would otherwise have it called let go."""
    findings = record.verify(held=True).findings
    if findings:
        raise StoreDamaged(
            f"no segment is deleted from a record that does not verify: {findings[0].message}",
            hint="`mentis verify` names what is wrong",
        )


def _place(text: str) -> int | str:
    """An index, or a time as entries have it."""
    try:
        if text.isdecimal():
            return int(text)
        moment = datetime.fromisoformat(text)
        return format_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:  # also one before the first year, or too long
        raise UsageError(
            f"{text[:40]!r} is neither an index nor a time", hint="for example 1000, or 2026-01-31"
        ) from error


def _limit(now: datetime, days: int) -> str:
    """What is older than this goes; nothing is older than the first year."""
    try:
        return format_time(now - timedelta(days=days))
    except OverflowError:
        return format_time(datetime.min.replace(tzinfo=UTC))
