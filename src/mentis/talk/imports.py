"""Conversations of other programs as sessions: kept whole, bound by an entry, told as untrusted.

An answer that was not chosen stands before the one that was, as if it had been said anew: its
message comes again in the place of itself, or, where none came before it, an undo does.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from mentis.errors import UsageError
from mentis.record.agent_record import AgentRecord
from mentis.record.stored_turns import turn_digest
from mentis.record.threads import is_message, standing_numbers
from mentis.values.digest import Digest, digest
from mentis.values.entry import Entry
from mentis.values.imported import ImportedConversation, ImportedTurn
from mentis.values.part import TextPart
from mentis.values.trust import Trust
from mentis.values.turn import GUEST, Turn, TurnOrigin
from mentis.values.turn_writes import TurnWrites

from .sessions import ADOPTED, append_undo, title_turn

_LONGEST_TITLE = 120


def conversation_turns(conversation: ImportedConversation, imported: int) -> tuple[Turn, ...]:
    """The turns that a session keeps of it, under the number of its import."""
    turns: list[Turn] = []
    for one in conversation.turns:
        place = len(turns) - 1
        for other in one.others:
            turns += (_turn(replace(one, text=other), imported), _again(turns, place))
            place = len(turns) - 1
        turns.append(_turn(one, imported))
    if title := " ".join(conversation.title.split())[:_LONGEST_TITLE].strip():
        turns.append(title_turn(title, Trust.UNTRUSTED))
    return tuple(turns)


def store_conversation(
    record: AgentRecord,
    conversation: ImportedConversation,
    *,
    session: str,
    imported: int,
    source: Digest,
) -> Entry:
    """A new session with all of it, and the entry that binds it to the file it came from. It
    blocks.
    """
    if record.turns(session):
        raise UsageError(f"there is a session {session!r} already", hint="choose another name")
    turns = conversation_turns(conversation, imported)
    if not turns:
        raise UsageError("there is nothing to import: nobody says anything", hint="leave it out")
    body: dict[str, object] = {
        "turn": {
            "session": session,
            "number": 0,
            "inner": ADOPTED,
            "import": imported,
            "file": source,
        },
        "digests": {"instruction": digest(b"")},
        "acted": [turn_digest(turn) for turn in turns],
    }
    return record.append("turn", body, source="owner", turns=TurnWrites(session, turns=turns))


def withdraw_conversation(record: AgentRecord, session: str) -> Entry | None:
    """Tell nothing of a session any more; None where nothing is told of it. It stays in the record.
    It blocks.
    """
    turns = record.turns(session)
    if all(turns[n].kind in ("title", "undo") for n in standing_numbers(turns)):
        return None
    return append_undo(record, session, len(turns), replaces=0)


def free_name(wanted: str, taken: Collection[str]) -> str:
    """The name, or the first with a number that is not taken."""
    names = (wanted if n == 1 else f"{wanted[:58]}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _turn(one: ImportedTurn, imported: int) -> Turn:
    return Turn(
        one.role,
        (*one.attachments, TextPart(one.text)),
        Trust.UNTRUSTED,
        kind="hidden" if one.hidden else "said",
        author=(one.name or GUEST) if one.guest else "",
        origin=TurnOrigin(imported, one.name, one.time),
    )


def _again(turns: list[Turn], place: int) -> Turn:
    """What says that the answer after the turn at `place` is not the one that is told."""
    asked = turns[place] if place >= 0 else None
    if asked is not None and is_message(asked):
        return replace(asked, replaces=place)
    return Turn("user", (TextPart(""),), kind="undo", replaces=place + 1)
