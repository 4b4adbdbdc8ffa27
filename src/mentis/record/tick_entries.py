"""Entries of ticks: what each leaves in the record besides its acts, and how it is found again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mentis.home.identity import Identity
from mentis.ports.blob_store import BlobStore
from mentis.ports.entries import Stamp
from mentis.values.cognition import Sense
from mentis.values.entry import Entry
from mentis.values.mark import Mark

from .agent_record import AgentRecord
from .tick_senses import senses_mark

LOOKED_BACK = 64  # entries of turns among which the last ticks are looked for
MOST_TAKEN = 256  # deliveries that are known as taken; what is older is let go long since
_TAKEN = "taken"  # the kind of their marks
INTENT, INTENT_KEY = "tick", "underway"  # the mark of what a tick is about to do


def append_tick(
    record: AgentRecord,
    who: Identity,
    blobs: BlobStore,
    body: Mapping[str, object],
    *,
    senses: Sequence[Sense],
    taken: Sequence[str] = (),
    marks: Sequence[Mark] = (),
    stamp: Stamp | None = None,
) -> Entry:
    """The entry of a tick, with which it is over: nothing is underway any more."""
    left = senses_mark(who, blobs, senses)
    body = {**body, **({"next": left.value} if left.value else {})}
    body |= {"taken": list(taken)} if taken else {}
    own = (Mark(INTENT, INTENT_KEY), left, *_taken(record, taken))
    return record.append("turn", body, marks=(*marks, *own), stamp=stamp)


def ticks_of(record: AgentRecord, count: int = LOOKED_BACK) -> Iterator[Entry]:
    """The entries of the last ticks, oldest first."""
    for entry in record.latest(count, kind="turn"):
        if "tick" in entry.fields and "turn" not in entry.fields:
            yield entry


def taken_deliveries(record: AgentRecord) -> tuple[str, ...]:
    """Deliveries that recorded ticks took, the last ones; a source may not know of it yet."""
    marks = record.ledger.marks(record.agent, _TAKEN)
    return tuple([mark.key for mark in sorted(marks, key=_when)])


def _taken(record: AgentRecord, ids: Sequence[str]) -> Iterator[Mark]:
    """They are known in the moment the tick is; so many, and the oldest are forgotten."""
    if not ids:
        return
    known = [one for one in taken_deliveries(record) if one not in ids]
    for old in known[: max(0, len(known) + len(ids) - MOST_TAKEN)]:
        yield Mark(_TAKEN, old)
    now = round(record.now().timestamp() * 1000)
    for one in ids:
        yield Mark(_TAKEN, one, {"time": now})


def _when(mark: Mark) -> int:
    found = (mark.value or {}).get("time")
    return found if isinstance(found, int) else 0
