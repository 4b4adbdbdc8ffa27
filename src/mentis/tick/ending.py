"""The record of a tick: one entry, and the senses of the next one; of an idle tick, nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from mentis.act.entries import told_mark
from mentis.act.registry import Registry
from mentis.act.senses import sense_of
from mentis.codec.forms import to_json, to_object
from mentis.errors import BadInput, NotCanonical
from mentis.home.identity import Identity
from mentis.ports.blob_store import BlobStore
from mentis.record.agent_record import AgentRecord
from mentis.record.tick_entries import append_tick
from mentis.record.tick_senses import senses_left, senses_mark
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
from .conclude import displaced
from .health import stage_fields

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
        append_tick, record, who, blobs, senses=done.senses, taken=done.taken, marks=marks
    )
    rest = partial(rest, stamp=turn_stamp(record, done.window))
    try:
        return rest({**body, "digests": _digests(done)})
    except (BadInput, NotCanonical) as refusal:
        # Nothing a model or a sense says may keep the tick out of the record.
        return rest({**body, "unbound": refusal.message})


def _windowed(registry: Registry, done: FinishedTick) -> dict[str, object]:
    """The window that the primary opened with, judged and held against what was done."""
    whole = [one.whole for one in done.calls if one.whole is not None]
    if not whole or done.again:
        return {}
    known = [spec.name for spec in registry.declarations()]
    return window_fields(done.window, whole, done.outcomes, known=known)


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
        marks.append(senses_mark(who, blobs, rest))
    return found, tuple(marks)


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
    if gone := displaced(report.memory_ops):
        # Which, never what they said: an entry stays when they are forgotten.
        facts["made_room"] = [{"name": one.name, "lineage": one.lineage.value} for one in gone]
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
