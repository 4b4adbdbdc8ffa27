"""Old entries move into sealed segments; old segments go when the policy says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path

from mentis.errors import StoreDamaged, UsageError
from mentis.ledger import keeping
from mentis.ledger.chain import format_time
from mentis.ledger.keeping import Keeping
from mentis.ledger.segments import cut, cut_before
from mentis.values.entry import Entry

from .record import Record


@dataclass(frozen=True, slots=True)
class Rotated:
    path: Path
    first: int
    last: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Expired:
    """The segments that were deleted, and the entry that says so."""

    entry: Entry | None
    files: tuple[Path, ...]


def rotate(record: Record, index: int) -> Rotated:
    """Move the entries before `index` into a segment.

    They are dropped once that is on disk and a signed entry says so.
    """
    record.start()
    segment, lines = keeping.seal_segment(record.keeping, index, record.sealed().signer())
    path = record.segments.write(segment, lines)
    # Cut short after this, the entries are in both places, which is no harm.
    ledger = Keeping(record.ledger, record.agent, record.sealed().pin)
    keeping.record_rotation(ledger, segment, record.sealed().signer(), record.stamp())
    dropped = record.store.drop_before(record.agent, index)
    return Rotated(path, segment.first, segment.last, dropped)


def index_to_keep(record: Record, keep: int) -> int:
    """Where to cut so that the last `keep` entries stay, and the one that says so."""
    return cut(record.store.count(record.agent), keep=keep)


def index_before(record: Record, text: str) -> int:
    """Where to cut, given as an index or as a time: what is older goes."""
    if text.isdecimal():
        return int(text)
    index = cut_before(record.store.entries(record.agent), _moment(text))
    return record.store.count(record.agent) - 1 if index is None else index


def expire(record: Record) -> Expired:
    """Delete the segments that the policy no longer keeps; first a signed entry says which."""
    days = record.settings.model.ledger.keep_segments_days
    if not days:
        raise UsageError("segments are kept for ever", hint="set `ledger.keep_segments_days` first")
    record.start()
    limit = format_time(record.clock.now() - timedelta(days=days))
    # From the beginning on, so that what is left has no gaps.
    old = list(takewhile(lambda file: file.last_time() < limit, record.segments.files()))
    if not old:
        return Expired(None, ())
    _check_verifies(record)
    entry = keeping.record_retention(
        Keeping(record.ledger, record.agent, record.sealed().pin),
        [file.segment for file in old],
        days=days,
        before=limit,
        signer=record.sealed().signer(),
        stamp=record.stamp(),
    )
    for file in old:
        record.segments.delete(file)
    return Expired(entry, tuple(file.path for file in old))


def _check_verifies(record: Record) -> None:
    """Whoever took a segment would otherwise have it called let go."""
    findings = record.verify().findings
    if findings:
        raise StoreDamaged(
            f"no segment is deleted from a record that does not verify: {findings[0].message}",
            hint="`mentis status verify` names what is wrong",
        )


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is neither an index nor a time", hint="for example 1000, or 2026-01-31"
        ) from error
    return format_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
