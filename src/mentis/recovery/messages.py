"""Turns that a process has begun and never ended, found by the next one that talks there.

A message that is still pending when nobody else is at it was left behind. What its turn had come to
is closed with the steps that the journal knows; without one it becomes failed. An entry says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mentis.act import entries
from mentis.record.agent_record import AgentRecord
from mentis.record.media_digest import media_digest
from mentis.record.stored_turns import result_turn, turn_digest
from mentis.record.turn_steps import (
    JournalledCall,
    JournalledStep,
    JournalledTurn,
    StepJournal,
)
from mentis.values.action import Action, Outcome
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.mark import Mark
from mentis.values.part import MediaPart
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

from .acts import GONE

LEFT = "left_behind"


def close_left_behind(
    record: AgentRecord, journal: StepJournal, session: str, is_busy: Callable[[], bool]
) -> tuple[Entry, ...]:
    """Record what each turn that was left came to, unless `is_busy` says that somebody else may
    still be at one. Nothing is asked and nothing is done. It blocks.
    """
    if not _left(record, journal, session) or is_busy():
        return ()
    # Once more: who was at it may have ended it between the two looks.
    return tuple(_close(record, one) for one in _left(record, journal, session))


@dataclass(frozen=True, slots=True)
class _Left:
    """`message` is None of what nobody said; without `steps` there is nothing to be told of it."""

    session: str
    number: int
    message: Turn | None = None
    steps: tuple[JournalledStep, ...] = ()
    ends: tuple[Mark, ...] = ()
    media: Mapping[str, tuple[MediaPart, ...]] = field(
        default_factory=dict[str, tuple[MediaPart, ...]]
    )


def _left(record: AgentRecord, journal: StepJournal, session: str) -> list[_Left]:
    """Messages without an end, and what the agent had begun by itself."""
    with record.ledger.together():
        pending = record.ledger.pending_turns(record.agent, session)
        journalled = journal.turns(session)
    found: list[_Left] = []
    for number, turn in pending:
        own = next((one for one in journalled if _is_of(one, number, turn)), None)
        left = _Left(session, number, turn)
        if own is not None:
            left = replace(left, steps=own.steps, ends=own.ends, media=own.media)
        found.append(left)
    taken = {mark.key for one in found for mark in one.ends}
    for one in journalled:
        if one.ends[0].key not in taken:
            inner = bool(one.steps) and "inner" in one.steps[0].turn
            known = inner and _was_said(record, session, one.steps[0].said)
            steps = one.steps if inner and not known else ()
            found.append(_Left(session, one.number, None, steps, one.ends, one.media))
    return found


def _was_said(record: AgentRecord, session: str, said: Turn) -> bool:
    return turn_digest(said) in map(turn_digest, record.turns(session))


def _is_of(journalled: JournalledTurn, number: int, message: Turn) -> bool:
    """Whether the steps are those of an answer to the message: of what nobody said they are not."""
    if journalled.number != number or not journalled.steps:
        return False
    first = journalled.steps[0]
    asked = first.asked.get("message") == digest(message.text.encode())
    return asked and "inner" not in first.turn


def _close(record: AgentRecord, left: _Left) -> Entry:
    opening = left.steps[0].opening if left.steps else ()
    stepped = (turn for step in left.steps for turn in _followed(record, step, left.media))
    followed = (*opening, *stepped)
    body, state = _body(left, followed), None
    if left.message is not None:
        ended = replace(left.message, state="complete" if followed else "failed")
        body |= {"asked": turn_digest(ended), **_attached(left.message)}
        state = ended.state
    told = left.steps[0].told if left.steps else ()
    body |= {"told": list(told)} if told else {}
    marks = (*left.ends, *map(entries.told_mark, told))
    writes = TurnWrites(left.session, left.number, state, followed)
    return record.append("turn", body, marks=marks, turns=writes)


def _body(left: _Left, followed: Sequence[Turn]) -> dict[str, object]:
    about: dict[str, object] = {"session": left.session, "number": left.number}
    first = left.steps[0] if left.steps else None
    if (message := left.message) is not None:
        about |= {} if message.replaces is None else {"replaces": message.replaces}
        asked: dict[str, object] = {"message": digest(message.text.encode())}
    else:
        about |= {} if first is not None else {"inner": "unknown"}
        asked = dict(first.asked) if first is not None else {"instruction": digest(b"")}
    about |= {**(first.turn if first is not None else {}), "failure": LEFT}
    body: dict[str, object] = {"turn": about, "digests": asked}
    body |= {"calls": [dict(step.call) for step in left.steps]} if left.steps else {}
    return body | ({"acted": [turn_digest(turn) for turn in followed]} if followed else {})


def _followed(
    record: AgentRecord, step: JournalledStep, media: Mapping[str, tuple[MediaPart, ...]]
) -> tuple[Turn, ...]:
    outcomes = [_outcome(record, call) for call in step.calls]
    came = [replace(one, media=media.get(one.key, ())) for one in outcomes]
    results = [outcome for outcome in came if outcome.state != "deferred"]
    return (step.said, result_turn(results)) if results else (step.said,)


def _outcome(record: AgentRecord, call: JournalledCall) -> Outcome:
    """As the record says it. Of what is still open whoever looks after the acts tells later."""
    action = Action(call.type, {}, call_id=call.id)
    for entry in _entries(record, call.key):
        if (outcome := entries.recorded_outcome(entry, action)) is not None:
            return outcome
    return Outcome(action, "unknown", reason=GONE, key=call.key)


def _entries(record: AgentRecord, key: str) -> list[Entry]:
    names = (entries.delivery(key, "outcome"), entries.delivery(key, "waiting"))
    found = (record.ledger.find_delivery(record.agent, name) for name in names)
    return [entry for entry in found if entry is not None]


def _attached(turn: Turn) -> dict[str, object]:
    media = [media_digest(part) for part in turn.parts if isinstance(part, MediaPart)]
    return {"attachments": media} if media else {}
