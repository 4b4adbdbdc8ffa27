"""A stretch of a record with a verdict on each of its entries, for whoever leafs through it.

The verdict on an entry is about itself and its place: its hash, its fields, the entry before.
Whether the whole record holds, and whether something is missing, only `verify` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mentis.errors import LedgerError, StoreError, UsageError
from mentis.home.database import open_database
from mentis.home.identity import RECORDED, home_name, persona_of
from mentis.home.ledger import agents_here, open_ledger
from mentis.home.parts import Parts
from mentis.home.signing import open_sealing
from mentis.ledger.origin import KIND, linked_hash
from mentis.ledger.places import ChainOrder
from mentis.ledger.recipes import check_recipe, erased_fields
from mentis.ports.ledger_store import LedgerStore
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.values.entry import Entry, Finding

from .record import Record


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An entry, what does not hold of it, and whether a checkpoint here has seen it."""

    entry: Entry
    findings: tuple[Finding, ...]
    erased: tuple[str, ...]
    signed: bool


@dataclass(frozen=True, slots=True)
class RecordTimeline:
    """The newest first. `missing` are entries that can no more be read here."""

    count: int
    sealed: int  # how many entries the longest checkpoint has seen
    entries: tuple[TimelineEntry, ...]
    missing: tuple[int, ...]
    first: int  # where the stretch begins


def read_timeline(record: Record, count: int, *, before: int | None = None) -> RecordTimeline:
    """The last `count` entries, or those before an index. No more of the record is read."""
    length = record.store.count(record.agent)
    end = length if before is None else max(0, min(before, length))
    first = max(0, end - count)
    sealed = max((size for size, _ in record.checkpoints()), default=0)
    places = range(first, end)
    found = {index: entry for index in places if (entry := _entry(record, index))}
    rows = [
        TimelineEntry(entry, findings, erased_fields(entry), entry.index < sealed)
        for entry, findings in _checked(record, first, list(found.values()))
    ]
    missing = tuple(index for index in places if index not in found)
    return RecordTimeline(length, sealed, tuple(reversed(rows)), missing, first)


def _checked(
    record: Record, first: int, entries: list[Entry]
) -> Iterator[tuple[Entry, tuple[Finding, ...]]]:
    before = _entry(record, first - 1) if first else None
    for entry in entries:
        if before is not None and before.index == entry.index - 1:
            order = ChainOrder(record.agent, entry.index, before.hash, before.time)
            imported = linked_hash(before) if before.kind == KIND else None
        else:  # the one before is let go, or this is the first
            order = ChainOrder(record.agent, entry.index, entry.prev if entry.index else None, "")
            imported = None
        yield entry, (*order.take(entry), *check_recipe(entry, imported))
        before = entry


def _entry(record: Record, index: int) -> Entry | None:
    """None for what expired with its segment, or cannot be read."""
    try:
        return record.entry(index)
    except (UsageError, LedgerError, StoreError):
        return None


@dataclass(frozen=True, slots=True)
class ChainSummary:
    """A record of a home, at a glance. `persona` is what `open_record` knows it by."""

    agent: str
    persona: str
    entries: int
    sealed: int
    time: str  # of the last entry


def list_chains(path: Path, parts: Parts) -> tuple[ChainSummary, ...]:
    """Every record of a home, those of recorded agents last. It blocks."""
    home = find_home(path)
    settings = load_settings(home.path, parts.variables)
    if settings.model.ledger.store == "sqlite" and not home.database.exists():
        return ()
    own = home_name(home, settings)
    with (
        open_database(home, settings, parts.variables, readonly=True) as database,
        closing(open_ledger(settings, database, parts.variables)) as store,
    ):
        agents = agents_here(store, settings, home, open_sealing(home, settings, parts.variables))
        rows = [_summary(store, agent, persona_of(agent, own)) for agent in agents]
    return tuple(sorted(rows, key=lambda row: row.persona.startswith(RECORDED)))


def _summary(store: LedgerStore, agent: str, persona: str) -> ChainSummary:
    sealed = max((size for size, _ in store.checkpoints(agent)), default=0)
    last = next(iter(store.latest(agent, 1)), None)
    return ChainSummary(agent, persona, store.count(agent), sealed, last.time if last else "")
