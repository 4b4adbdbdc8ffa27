"""The record of a tick: one entry, and the senses of the next one; of an idle tick, nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mentis.act.entries import told_mark
from mentis.act.registry import Registry
from mentis.act.senses import sense_of
from mentis.codec.forms import to_json, to_object
from mentis.errors import BadInput, NotCanonical
from mentis.home.identity import Identity
from mentis.ports.blob_store import BlobStore
from mentis.ports.entries import Stamp
from mentis.record.agent_record import AgentRecord
from mentis.tools.acting import ActRunner
from mentis.turn.window import WindowRequest, turn_stamp, window_fields
from mentis.values.action import Outcome
from mentis.values.cognition import Sense
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.mark import Mark
from mentis.values.tick import Tick
from mentis.values.trace import Degradation
from mentis.values.trust import Trust
from mentis.values.value import Value

from .asking import TickCall
from .handed_on import keep_senses, kept_senses
from .health import stage_fields

LOOKED_BACK = 64  # entries of turns among which the last ticks are looked for
MOST_TAKEN = 256  # deliveries that are known as taken; what is older is let go long since
_TAKEN = "taken"  # the kind of their marks
_NEXT, _NEXT_KEY = "next", "senses"  # the mark of where they are kept for the next tick
UNDERWAY, UNDERWAY_KEY = "tick", "underway"  # the mark of what a tick is about to do
_MOST_VIOLATIONS = 20


@dataclass(frozen=True, slots=True)
class FinishedTick(Value):
    """A tick that is over, and all that belongs to it. `told` are the news that it was shown;
    `again`: the senses are only those that were left to it. `taken` are the deliveries of which
    a source may let go now; `window`: how its own is judged; `degraded`: what was not asked for.
    """

    tick: Tick
    given: tuple[Sense, ...]
    before: int
    saved: bool
    library: str
    calls: tuple[TickCall, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    senses: tuple[Sense, ...] = ()
    told: tuple[str, ...] = ()
    again: bool = False
    taken: tuple[str, ...] = ()
    window: WindowRequest | None = None
    degraded: tuple[Degradation, ...] = ()

    @property
    def idle(self) -> bool:
        changed = self.tick.state.revision != self.before
        new = self.senses and not self.again
        return not (self.calls or self.outcomes or self.told or self.taken or new or changed)


def record_tick(
    record: AgentRecord, who: Identity, blobs: BlobStore, done: FinishedTick, *, registry: Registry
) -> Entry | None:
    """Write the entry that binds the tick; None when it did nothing. It blocks."""
    if done.idle:
        return None
    body: dict[str, object] = {"tick": _facts(done), "calls": _calls(done)}
    if done.told:
        body["told"] = list(done.told)
    body |= _windowed(registry, done)
    marks = tuple(map(told_mark, done.told))
    rest = partial(
        record_tick_body, record, who, blobs, senses=done.senses, taken=done.taken, marks=marks
    )
    rest = partial(rest, stamp=turn_stamp(record, done.window))
    try:
        return rest({**body, "digests": _digests(done)})
    except (BadInput, NotCanonical) as refusal:
        # Nothing a model or a sense says may keep the tick out of the record.
        return rest({**body, "unbound": refusal.message})


def record_tick_body(
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
    left = keep_senses(who, blobs, senses) if senses else None
    body = {**body, **({"next": left} if left else {}), **({"taken": list(taken)} if taken else {})}
    own = (Mark(UNDERWAY, UNDERWAY_KEY), Mark(_NEXT, _NEXT_KEY, left), *_taken(record, taken))
    return record.append("turn", body, marks=(*marks, *own), stamp=stamp)


def _windowed(registry: Registry, done: FinishedTick) -> dict[str, object]:
    """The window that the primary opened with, judged and held against what was done."""
    whole = [one.whole for one in done.calls if one.whole is not None]
    if not whole or done.again:
        return {}
    known = [spec.name for spec in registry.declarations()]
    return window_fields(done.window, whole, done.outcomes, known=known)


def senses_left(record: AgentRecord, who: Identity, blobs: BlobStore) -> tuple[Sense, ...]:
    """The senses that the last tick left to the next one, trusted as they were. It blocks."""
    told = record.ledger.mark(record.agent, _NEXT, _NEXT_KEY)
    if told is None or told.value is None:
        return ()
    return kept_senses(who, blobs, told.value)


def without_sense(
    record: AgentRecord, who: Identity, blobs: BlobStore, name: str, *, acting: ActRunner
) -> tuple[tuple[Sense, ...], tuple[Mark, ...]]:
    """What the next tick would be told under this id, and the marks by which it is not. It blocks.

    Ids of the runtime's own senses may repeat: an act that waited, and what then came of it.
    """
    left = senses_left(record, who, blobs)
    rest = [one for one in left if one.id != name]
    news = [one for one in acting.news() if sense_of(one).id == name]
    told = [replace(sense_of(one), trust=Trust.UNTRUSTED) for one in news]
    found = (*[one for one in left if one.id == name], *told)
    marks = [told_mark(one.key) for one in news]
    if len(rest) < len(left):
        kept = keep_senses(who, blobs, rest) if rest else None
        marks.append(Mark(_NEXT, _NEXT_KEY, kept))
    return found, tuple(marks)


def ticks_of(record: AgentRecord, count: int = LOOKED_BACK) -> Iterator[Entry]:
    """The entries of the last ticks, oldest first."""
    for entry in record.latest(count, kind="turn"):
        if "tick" in entry.fields and "turn" not in entry.fields:
            yield entry


def _facts(done: FinishedTick) -> dict[str, object]:
    report, state = done.tick.report, done.tick.state
    facts: dict[str, object] = {
        "senses": len(done.given),
        "acts": len(done.outcomes),
        "revision": state.revision,
        "before": done.before,
        "catalogue": report.catalogue,
        **stage_fields(report.stages),
    }
    facts |= {"noop": report.noop} if report.noop else {}
    facts |= {"unheard": True} if done.again else {}
    facts |= {"dropped": len(report.dropped)} if report.dropped else {}
    facts |= {"left_out": [to_object(one) for one in report.left_out]} if report.left_out else {}
    facts |= {"passed": [to_object(one) for one in report.passed]} if report.passed else {}
    facts |= {"degraded": [to_object(one) for one in done.degraded]} if done.degraded else {}
    if report.violations:
        facts["violations"] = [one.code for one in report.violations[:_MOST_VIOLATIONS]]
    return facts | ({} if done.saved else {"unsaved": True})


def _calls(done: FinishedTick) -> list[dict[str, object]]:
    return [call.entry_fields() for call in done.calls]


def _digests(done: FinishedTick) -> dict[str, str]:
    """What went in and came out, and of the primary the same as of a turn."""
    digests = {
        "library": done.library,
        "senses": _digest(done.given),
        "state": digest(to_json(done.tick.state)),
        "drafts": _digest(done.tick.acts),
        "acts": _digest(done.outcomes),
    }
    primary = next((call for call in reversed(done.calls) if call.stage == "primary"), None)
    if primary is not None:
        digests["request"] = primary.request
        digests["payload"] = primary.rendering.digest
        digests["reply"] = digest(to_json(primary.reply))
    return digests


def _digest(values: Sequence[Value]) -> str:
    listed = [to_object(value) for value in values]
    written = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    try:
        return digest(written.encode())
    except UnicodeEncodeError as error:
        raise BadInput("half a surrogate pair, which UTF-8 cannot say") from error


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
