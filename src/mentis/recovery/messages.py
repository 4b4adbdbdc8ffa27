"""Turns that a process has begun and never ended, found by the next one that talks there.

A message that is still pending when nobody else is at it was left behind: it becomes failed, and an
entry says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mentis.record.agent_record import AgentRecord
from mentis.record.media_digest import media_digest
from mentis.record.stored_turns import turn_digest
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.part import MediaPart
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

LEFT = "left_behind"


def fail_left_behind(
    record: AgentRecord, session: str, is_busy: Callable[[], bool]
) -> tuple[Entry, ...]:
    """Record each pending message as failed, unless `is_busy` says that somebody else may still be
    at one. It blocks.
    """
    turns = record.turns(session)
    pending = [number for number, turn in enumerate(turns) if turn.state == "pending"]
    if not pending or is_busy():
        return ()
    # Once more: who was at it may have ended it between the two looks.
    turns = record.turns(session)
    left = [number for number in pending if turns[number].state == "pending"]
    return tuple(_settle(record, session, number, turns[number]) for number in left)


def _settle(record: AgentRecord, session: str, number: int, turn: Turn) -> Entry:
    told: dict[str, object] = {"session": session, "number": number, "failure": LEFT}
    if turn.replaces is not None:
        told["replaces"] = turn.replaces
    failed = replace(turn, state="failed")
    body: dict[str, object] = {
        "turn": told,
        "digests": {"message": digest(turn.text.encode())},
        "asked": turn_digest(failed),
    }
    media = [media_digest(part) for part in turn.parts if isinstance(part, MediaPart)]
    body |= {"attachments": media} if media else {}
    return record.append("turn", body, turns=TurnWrites(session, number, failed.state))
