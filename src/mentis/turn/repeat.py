"""When nobody answers: an earlier answer to the same message, given once more and marked so.

It comes out of the agent's own record and conversation, so it is always of the same conversation,
and only as old as the settings allow. Nothing else is kept for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from mentis.record.agent_record import AgentRecord
from mentis.record.media_digest import media_digest
from mentis.record.stored_turns import asked_text
from mentis.settings.sections import FallbackSettings
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.measured import ClockReading, age_of, reading_of
from mentis.values.part import TextPart
from mentis.values.recalled import Stimulus
from mentis.values.reply import Reply, ReplyProblem
from mentis.values.turn import Turn


@dataclass(frozen=True, slots=True)
class Repeat:
    """The answer of entry `index`, as the reply that is given instead of a live one."""

    index: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class RepeatKey:
    """What makes two messages the same: the session, the words, what was attached, the library."""

    session: str
    message: str
    attachments: tuple[str, ...]
    library: str


def repeat_for(
    record: AgentRecord, stimulus: Stimulus, session: str, *, library: str, limits: FallbackSettings
) -> Repeat | None:
    """The answer to give once more, if there is one and the settings allow it. It blocks."""
    if not limits.repeat_seconds:
        return None
    question = RepeatKey(
        session,
        digest(asked_text(stimulus).encode()),
        tuple(media_digest(part) for part in stimulus.attachments),
        library,
    )
    entries = record.latest(limits.repeat_turns, kind="turn")
    turns = record.turns(session)
    return find_repeat(question, entries, turns, now=record.reading(), limits=limits)


def find_repeat(
    question: RepeatKey,
    entries: Sequence[Entry],
    turns: Sequence[Turn],
    *,
    now: ClockReading,
    limits: FallbackSettings,
) -> Repeat | None:
    """The newest good answer to the same question that is young enough, if there is one."""
    oldest = timedelta(seconds=limits.repeat_seconds)
    spoken = {digest(turn.text.encode()): turn.text for turn in turns if turn.role == "assistant"}
    for entry in reversed(entries):
        if not timedelta(0) <= age_of(reading_of(entry), now) <= oldest:
            continue  # too old, or made by a clock that was ahead, so nobody knows when
        answer = _answer(entry, question)
        if answer in spoken:
            return Repeat(entry.index, _reply(spoken[answer], entry))
    return None


def _answer(entry: Entry, question: RepeatKey) -> str:
    """The digest of the answer, if this entry is a good answer to the question."""
    turn, digests = _object(entry, "turn"), _object(entry, "digests")
    asked = RepeatKey(
        str(turn.get("session")),
        str(digests.get("message")),
        tuple(cast("list[str]", entry.body.get("attachments") or ())),
        str(digests.get("library")),
    )
    # An answer that was itself a repetition would otherwise live for ever.
    good = entry.kind == "turn" and turn.get("stop") == "end" and "failure" not in turn
    return str(digests.get("answer")) if good and asked == question else ""


def _reply(text: str, entry: Entry) -> Reply:
    said = f"no route answered; this is the answer of entry {entry.index}, given at {entry.time}"
    note = ReplyProblem("repeated", said)
    return Reply(text, "repeated", parts=(TextPart(text),), notes=(note,))


def _object(entry: Entry, name: str) -> Mapping[str, object]:
    found = entry.body.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
