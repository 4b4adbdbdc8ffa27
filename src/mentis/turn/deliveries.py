"""Outcomes of acts after their turn, and their recipients: whoever asked, before anybody else.

A talk is told what was asked for in it. What nobody waits for, or can be told where it was asked
for, is told where you speak yourself, never to a guest, and not where nobody spoke.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from mentis.act import entries
from mentis.act.gate import scope_of
from mentis.act.registry import Registry
from mentis.compose.modes import writes_to_people
from mentis.errors import BudgetReached
from mentis.record.agent_record import AgentRecord
from mentis.settings.sources import LiveSettings
from mentis.tools.acting import ActRunner
from mentis.values.action import Outcome
from mentis.values.entry import Entry
from mentis.values.recalled import Stimulus
from mentis.values.trust import Trust
from mentis.values.value import Value

_LOOKED_BACK = 256
_ASKED = ("chat", "live")  # where somebody waits for the result
_STAGES: tuple[entries.Stage, ...] = ("intent", "waiting", "outcome")


@dataclass(frozen=True, slots=True)
class ActOrigin(Value):
    """Where an act was asked for, as the record says: nothing, where it says nothing."""

    mode: str = ""
    session: str = ""


def origin_of(record: AgentRecord, key: str) -> ActOrigin:
    """It blocks."""
    for stage in _STAGES:
        entry = record.ledger.find_delivery(record.agent, entries.delivery(key, stage))
        head = entry.body.get("act") if entry is not None else None
        if isinstance(head, Mapping):
            told = cast("Mapping[str, object]", head)
            return ActOrigin(str(told.get("mode", "")), str(told.get("session", "")))
    return ActOrigin()


def asking_session(record: AgentRecord, outcome: Outcome) -> str:
    """The session whose talk asked for it; none, of what the agent did by itself. It blocks."""
    origin = origin_of(record, outcome.key)
    return origin.session if origin.mode in _ASKED else ""


def delivery_session(record: AgentRecord, outcome: Outcome) -> str:
    """Where it is delivered; what the agent did by itself is told in `main`."""
    return asking_session(record, outcome) or "main"


def deliverable_outcomes(
    record: AgentRecord, acting: ActRunner, live: LiveSettings
) -> tuple[Outcome, ...]:
    """The news that somebody waits for, and that can still be delivered. It blocks."""
    return _deliverable(record, acting.registry, live, acting.news())


def _deliverable(
    record: AgentRecord, registry: Registry, live: LiveSettings, news: Iterable[Outcome]
) -> tuple[Outcome, ...]:
    most = live.current()[0].model.delivery.attempts
    return tuple(
        one
        for one in news
        if origin_of(record, one.key).mode in _ASKED
        and not why_undeliverable(record, registry, one, most)
    )


def news_for_turn(
    record: AgentRecord, acting: ActRunner, live: LiveSettings, *, session: str, stimulus: Stimulus
) -> tuple[Outcome, ...]:
    """What a turn is told of. It blocks.

    A beat writes to nobody and leaves all of it untold; a delivery tells its own outcome alone.
    """
    if stimulus.mode == "delivery":
        return ()
    news = acting.news()
    if stimulus.mode == "beat" or not news:
        return news
    if not _is_yours(stimulus):
        return tuple([one for one in news if asking_session(record, one) == session])
    elsewhere = [one for one in news if delivery_session(record, one) != session]
    owed = {one.key for one in _deliverable(record, acting.registry, live, elsewhere)}
    return tuple([one for one in news if one.key not in owed])


def _is_yours(stimulus: Stimulus) -> bool:
    """Somebody wrote whom you vouch for: anywhere else it is not known who reads, or listens."""
    vouched = stimulus.trust is not Trust.UNTRUSTED
    return stimulus.mode == "chat" and stimulus.asked and vouched


@dataclass(frozen=True, slots=True)
class PendingOutcomes(Value):
    """`told` is for the next tick, `owed` is for whoever asked for it in a talk."""

    told: tuple[Outcome, ...] = ()
    owed: tuple[Outcome, ...] = ()


def pending_outcomes(record: AgentRecord, acting: ActRunner, live: LiveSettings) -> PendingOutcomes:
    """A tick takes nothing away from somebody who can still be told by `mentis run`. It blocks."""
    news = acting.news()
    if not news or not live.current()[0].model.run.deliver:
        return PendingOutcomes(news)
    owed = _deliverable(record, acting.registry, live, news)
    keys = {one.key for one in owed}
    return PendingOutcomes(tuple([one for one in news if one.key not in keys]), owed)


def why_undeliverable(
    record: AgentRecord, registry: Registry, outcome: Outcome, attempts: int
) -> str:
    """Why an outcome cannot be delivered; nothing, where it can. It blocks."""
    name, spec = outcome.action.type, registry.spec(outcome.action.type)
    if not outcome.key:
        return "it has no key, so nothing can say whether it was told already"
    if outcome.state == "waiting":
        return "it still waits for a yes, so there is nothing to tell"
    if writes_to_people(name) or (spec is not None and scope_of(spec) == "message"):
        return f"{name} is a message itself, and no delivery follows on a message"
    if origin_of(record, outcome.key).mode == "delivery":
        return "a delivery asked for it, and no delivery follows on a delivery"
    return _was_tried(record, outcome, attempts)


def _was_tried(record: AgentRecord, outcome: Outcome, attempts: int) -> str:
    release = entries.delivery(outcome.key, "released")
    released = record.ledger.find_delivery(record.agent, release)
    since = -1 if released is None else released.index  # before, it was told as withheld
    turns = [one for one in record.latest(_LOOKED_BACK, kind="turn") if one.index > since]
    for entry in turns:
        if outcome.key in cast("list[str]", entry.body.get("told") or []):
            return f"entry {entry.index} says that it was told already"
        if _delivers(entry) == outcome.key and (reason := _message(record, entry)):
            return reason
    failed = sum(_delivers(entry) == outcome.key and not _unpaid(entry) for entry in turns)
    return f"it was tried {failed} times already" if failed >= attempts else ""


def _message(record: AgentRecord, entry: Entry) -> str:
    """What became of the message that this delivery left waiting; nothing, if it was not sent."""
    for key in cast("list[str]", entry.body.get("waits") or []):
        kinds = (entries.WAITING, entries.APPROVED)
        marks = (mark for kind in kinds for mark in record.ledger.marks(record.agent, kind))
        if any(mark.key == key for mark in marks):
            return f"the message of entry {entry.index} waits for a yes"
        if _was_done(record, key):
            return f"the message of entry {entry.index} told it already"
    return ""


def _was_done(record: AgentRecord, key: str) -> bool:
    """Anything that was begun may have gone out: only a no, or no answer, brings the news back."""
    stages: tuple[entries.Stage, ...] = ("denied", "expired")
    found = (
        record.ledger.find_delivery(record.agent, entries.delivery(key, one)) for one in stages
    )
    return not any(entry is not None for entry in found)


def _delivers(entry: Entry) -> str:
    return str(_turn(entry).get("delivers", ""))


def _unpaid(entry: Entry) -> bool:
    """A budget kept it from being asked at all: no try of it."""
    return _turn(entry).get("failure") == BudgetReached.code


def _turn(entry: Entry) -> Mapping[str, object]:
    return cast("Mapping[str, object]", entry.body.get("turn") or {})
