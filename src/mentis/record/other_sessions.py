"""Other conversations of an agent: what a turn is told of them, by the places they are kept at.

Its diary is what it thought in beats. The scope of a message says whose past the rest is: this
conversation's (`local`), with recaps of other recent ones (`recent`), or that of all of them as one
(`unified`). Of others only words are told, no calls and no results. What was erased is not told.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from mentis.settings.conversations import ConversationSettings
from mentis.values.entry import Entry
from mentis.values.part import TextPart, ToolCallPart
from mentis.values.recalled import Stimulus
from mentis.values.session import BEATS
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .agent_record import AgentRecord
from .inputs import ConversationHistory, PlacedTurn
from .threads import told_numbers

_LOOKED_BACK = 512  # turns, by which conversations are found and put in order
_OF_A_BEAT = 8  # turns that are looked through for one thought: a beat may use tools
_LAST_WORDS = 2  # turns of a conversation that a recap ends with
_CAME_TO_SOMETHING = ("complete", "interrupted")


def with_other_sessions(
    record: AgentRecord,
    history: ConversationHistory,
    stimulus: Stimulus,
    chosen: ConversationSettings,
) -> ConversationHistory:
    """The conversation with what is told beside it. Nothing for a guest: it is not theirs; nothing
    in a beat or delivery, which have no past. It blocks.
    """
    if stimulus.trust is Trust.UNTRUSTED or stimulus.mode not in ("chat", "live"):
        return history
    if history.session != BEATS and stimulus.mode == "chat":  # thoughts are not read aloud
        history = replace(history, diary=_diary(record, chosen.diary))
    match stimulus.runtime_ctx.scope:
        case "local":
            return history
        case "recent":
            return replace(history, recaps=_recaps(record, history.session, chosen.recaps))
        case "unified":
            return _unified(record, history)


def woven_turns(placed: Sequence[PlacedTurn], own: str) -> tuple[Turn, ...]:
    """Turns of several conversations as those of one: of others the words, and which it is of. An
    answer right after what it answers needs no mark, which a model would only learn to write.
    """
    turns, before = list[Turn](), own
    for one in placed:
        answers = one.turn.role == "assistant" and one.session == before
        mark = "" if answers else f"[session:{one.session}]\n"
        words = TextPart(f"{mark}{one.turn.text}")
        turns.append(one.turn if one.session == own else replace(one.turn, parts=(words,)))
        before = one.session
    return tuple(turns)


def _diary(record: AgentRecord, most: int) -> tuple[PlacedTurn, ...]:
    """The newest thoughts of beats, the oldest of them first."""
    if not most:
        return ()
    numbered = record.ledger.last_turns(record.agent, BEATS, most * _OF_A_BEAT)
    thoughts = [PlacedTurn(BEATS, n, turn) for n, turn in numbered if _concludes(turn)]
    return tuple(thoughts[-most:])


def _concludes(turn: Turn) -> bool:
    """What a beat came to; not what was said before a call."""
    calls = any(isinstance(part, ToolCallPart) for part in turn.parts)
    return turn.role == "assistant" and _is_told(turn) and not calls and turn.state == "complete"


def _recaps(record: AgentRecord, session: str, most: int) -> tuple[PlacedTurn, ...]:
    """Of each of the last other conversations its summary, if it has one, and its last words."""
    if not most:
        return ()
    timeline = _Timeline.of(record)
    names = (name for name in timeline.newest_first() if name != session)
    told = (recap for name in names if (recap := _recap(record, name)))
    return tuple(turn for recap in reversed([*islice(told, most)]) for turn in recap)


def _recap(record: AgentRecord, session: str) -> list[PlacedTurn]:
    told = _told_turns(record, session)
    summary = [one for one in told if one.turn.kind == "summary"]
    said = [one for one in told if one.turn.kind == "said"]
    return [*summary, *said[-_LAST_WORDS:]]


def _unified(record: AgentRecord, history: ConversationHistory) -> ConversationHistory:
    """All conversations as one, in the order in which their turns ended."""
    timeline, own = _Timeline.of(record), history.session
    said = zip(history.numbers, history.turns, strict=True)
    mine = [PlacedTurn(own, number, turn) for number, turn in said]
    dated = list(zip(timeline.times(mine), range(len(mine)), mine, strict=True))
    for name in timeline.newest_first():
        others = [] if name == own else _told_turns(record, name)
        dated += [(t, -1, one) for t, one in zip(timeline.times(others), others, strict=True) if t]
    dated.sort(key=lambda row: row[0])  # stable: what is of one time stays in its order
    placed = [one for *_, one in dated]
    return replace(
        history,
        turns=woven_turns(placed, own),
        numbers=tuple(one.number for one in placed),
        sessions=tuple(one.session for one in placed),
        amended=tuple(new for new, (_, old, _) in enumerate(dated) if old in history.amended),
    )


def _told_turns(record: AgentRecord, session: str) -> list[PlacedTurn]:
    turns = record.turns(session)
    found = (PlacedTurn(session, number, turns[number]) for number in told_numbers(turns))
    return [one for one in found if _is_told(one.turn)]


def _is_told(turn: Turn) -> bool:
    usable = turn.kind in ("said", "summary") and turn.state in _CAME_TO_SOMETHING
    return usable and bool(turn.text.strip())


@dataclass(frozen=True, slots=True)
class _Timeline:
    """The last turns: by session the numbers of their messages, and the entries that ended them."""

    ends: Mapping[str, tuple[list[int], list[int]]]

    @classmethod
    def of(cls, record: AgentRecord) -> _Timeline:
        ends: dict[str, tuple[list[int], list[int]]] = {}
        for entry in record.latest(_LOOKED_BACK, kind="turn"):
            for session, number in _place(entry):
                numbers, indexes = ends.setdefault(session, ([], []))
                at = bisect_right(numbers, number)
                numbers.insert(at, number)
                indexes.insert(at, entry.index)
        return cls(ends)

    def newest_first(self) -> list[str]:
        return sorted(self.ends, key=lambda name: max(self.ends[name][1]), reverse=True)

    def times(self, turns: Sequence[PlacedTurn]) -> Iterator[int]:
        """When each turn of a session was said, never before the one before it; 0: longer ago than
        is known.
        """
        latest = 0
        for one in turns:
            begun, ended = self.ends.get(one.session, ([], []))
            place = bisect_right(begun, one.number) - 1
            latest = max(latest, 1 + ended[place] if place >= 0 else 0)
            yield latest


def _place(entry: Entry) -> Iterator[tuple[str, int]]:
    """The session of a turn and the number of its message; none of what was no conversation: a
    beat, a fork, what another agent asked.
    """
    found = entry.body.get("turn")
    if not isinstance(found, Mapping) or "fork" in entry.body:
        return
    facts = cast("Mapping[str, object]", found)
    session, number = facts.get("session"), facts.get("number")
    if "caller" in facts or session == BEATS:
        return
    if isinstance(session, str) and isinstance(number, int):
        yield session, number
