"""Turns that a process has begun and never ended, found by the next one that talks there.

A message that is still pending when nobody else is at it was left behind. What its turn had come to
is closed with the steps that the journal knows; without one it becomes failed. An entry says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mentis.act import entries
from mentis.record.agent_record import AgentRecord
from mentis.record.media_digest import media_digest
from mentis.record.stored_turns import result_turn, turn_digest
from mentis.record.turn_steps import JournalledCall, JournalledStep, StepJournal
from mentis.values.action import Action, Outcome
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.part import MediaPart
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

LEFT = "left_behind"
_GONE = "the process that did it ended before it could say what came of it"


def close_left_behind(
    record: AgentRecord, journal: StepJournal, session: str, is_busy: Callable[[], bool]
) -> tuple[Entry, ...]:
    """Record what each turn that was left came to, unless `is_busy` says that somebody else may
    still be at one. Nothing is asked and nothing is done. It blocks.
    """
    if not _numbers(record, journal, session) or is_busy():
        return ()
    # Once more: who was at it may have ended it between the two looks.
    left = _numbers(record, journal, session)
    turns = record.turns(session)
    return tuple(_close(record, journal, _Left(session, number, turns)) for number in left)


def _numbers(record: AgentRecord, journal: StepJournal, session: str) -> list[int]:
    """Messages without an end, and what the agent had begun by itself."""
    turns = enumerate(record.turns(session))
    pending = {number for number, turn in turns if turn.state == "pending"}
    return sorted(pending | set(journal.numbers(session)))


@dataclass(frozen=True, slots=True)
class _Left:
    session: str
    number: int
    turns: Sequence[Turn]

    @property
    def message(self) -> Turn | None:
        """None of what nobody said."""
        turn = self.turns[self.number] if self.number < len(self.turns) else None
        return turn if turn is not None and turn.state == "pending" else None


def _close(record: AgentRecord, journal: StepJournal, left: _Left) -> Entry:
    steps, marks = journal.read(left.session, left.number)
    followed = tuple(turn for step in steps for turn in _followed(record, step))
    body, state = _body(left, steps, followed), None
    if (message := left.message) is not None:
        ended = replace(message, state="complete" if followed else "failed")
        body |= {"asked": turn_digest(ended), **_attached(message)}
        state = ended.state
    writes = TurnWrites(left.session, left.number, state, followed)
    return record.append("turn", body, marks=marks, turns=writes)


def _body(
    left: _Left, steps: Sequence[JournalledStep], followed: Sequence[Turn]
) -> dict[str, object]:
    about: dict[str, object] = {"session": left.session, "number": left.number}
    if (message := left.message) is not None:
        about |= {} if message.replaces is None else {"replaces": message.replaces}
        asked: dict[str, object] = {"message": digest(message.text.encode())}
    else:
        asked = dict(steps[0].asked) if steps else {}
    about |= {**(steps[0].turn if steps else {}), "failure": LEFT}
    body: dict[str, object] = {"turn": about, "digests": asked}
    body |= {"calls": [dict(step.call) for step in steps]} if steps else {}
    return body | ({"acted": [turn_digest(turn) for turn in followed]} if followed else {})


def _followed(record: AgentRecord, step: JournalledStep) -> tuple[Turn, Turn]:
    return step.said, result_turn([_outcome(record, call) for call in step.calls])


def _outcome(record: AgentRecord, call: JournalledCall) -> Outcome:
    """As the record says it. Of what is still open whoever looks after the acts tells later."""
    action = Action(call.type, {}, call_id=call.id)
    for entry in _entries(record, call.key):
        if (outcome := entries.recorded_outcome(entry, action)) is not None:
            return outcome
    return Outcome(action, "unknown", reason=_GONE, key=call.key)


def _entries(record: AgentRecord, key: str) -> list[Entry]:
    names = (entries.delivery(key, "outcome"), entries.delivery(key, "waiting"))
    found = (record.ledger.find_delivery(record.agent, name) for name in names)
    return [entry for entry in found if entry is not None]


def _attached(turn: Turn) -> dict[str, object]:
    media = [media_digest(part) for part in turn.parts if isinstance(part, MediaPart)]
    return {"attachments": media} if media else {}
