"""The end of a conversation, read in pieces, is what all of it would have told."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.record import recent_thread
from mentis.record.agent_record import AgentRecord
from mentis.record.recent_thread import RecentThread, read_thread, turns_page
from mentis.record.threads import standing_numbers, told_numbers
from mentis.stores.memory import LedgerInMemory
from mentis.values.part import TextPart
from mentis.values.turn import Turn, TurnState

# What may stand in a conversation; a number is how far a message goes back, or a summary reaches.
_KINDS = st.sampled_from(("said", "said", "said", "anew", "summary", "title", "thought", "undo"))
_STATES = st.sampled_from(("complete", "complete", "complete", "pending", "failed", "interrupted"))
_STEPS = st.lists(st.tuples(_KINDS, _STATES, st.integers(1, 30), st.booleans()), max_size=40)


def turn_of(number: int, kind: str, state: TurnState, back: int, *, erased: bool) -> Turn:
    parts, place = () if erased else (TextPart(f"{number}"),), max(number - back, 0)
    match kind:
        case "anew":
            return Turn("user", parts, state=state, replaces=place)
        case "undo":
            return Turn("user", parts, kind="undo", replaces=place)
        case "summary":
            return Turn("assistant", parts, kind="summary", until=place)
        case "title":
            return Turn("assistant", parts, kind="title")
        case "thought":
            return Turn("assistant", parts, kind="thought")
        case _:
            return Turn("assistant" if number % 2 else "user", parts, state=state)


def record_of(turns: Sequence[Turn]) -> AgentRecord:
    ledger = LedgerInMemory()
    for turn in turns:
        ledger.add_turn("home/ada", "main", turn)
    return AgentRecord("home/ada", ledger, FixedClock(), CountingIds())


def read_end(turns: Sequence[Turn], room: int, before: int | None = None) -> RecentThread:
    """With pieces of four and two turning points, as a long conversation is read."""
    record = record_of(turns)
    with patch.object(recent_thread, "_PIECE", 4), patch.object(recent_thread, "_POINTS", 2):
        return read_thread(record, "main", lambda said: room + 1 if len(said) > room else 0, before)


@given(_STEPS, st.integers(0, 12), st.none() | st.integers(0, 40))
def test_the_end_of_a_conversation_is_told_as_if_all_of_it_had_been_read(
    steps: Sequence[tuple[str, TurnState, int, bool]], room: int, before: int | None
) -> None:
    turns = [
        turn_of(number, kind, state, back, erased=erased and kind != "said")
        for number, (kind, state, back, erased) in enumerate(steps)
    ]
    whole, thread = told_numbers(turns, before), read_end(turns, room, before)
    summary = whole[:1] if whole and turns[whole[0]].kind == "summary" else ()
    last = thread.told[len(summary) :]
    assert thread.told == (*summary, *whole[len(whole) - len(last) :])
    missing = len(whole) - len(thread.told)
    assert missing <= thread.earlier
    assert not missing or len(thread.told) > room, "what there is room for is read"
    assert all(thread.turns[number] == turns[number] for number in thread.told)
    if all(turn.kind == "said" and turn.parts for turn in turns):
        assert thread.earlier == missing


def test_a_message_that_was_said_anew_hundreds_of_times_is_told_once() -> None:
    talk = [turn_of(number, "said", "complete", 1, erased=False) for number in range(100)]
    talk += [
        Turn("user" if number % 2 == 0 else "assistant", (TextPart("?"),), replaces=replaced)
        for number in range(100, 900)
        for replaced in [60 if number % 2 == 0 else None]
    ]
    assert read_end(talk, 1000) == RecentThread(dict(enumerate(talk)), (*range(60), 898, 899))
    assert read_end(talk, 1000, 60).told == tuple(range(60))
    assert read_end(talk, 3).earlier == 60 - len(read_end(talk, 3).told) + 2


@given(_STEPS, st.integers(1, 9), st.booleans())
def test_the_pages_of_a_conversation_are_all_of_it_and_know_what_was_replaced(
    steps: Sequence[tuple[str, TurnState, int, bool]], count: int, newest: bool
) -> None:
    turns = [
        turn_of(number, kind, state, back, erased=erased and kind != "said")
        for number, (kind, state, back, erased) in enumerate(steps)
    ]
    record, after, shown = record_of(turns), None, list[tuple[int, Turn, bool]]()
    while True:
        page = turns_page(record, "main", after=after, count=count, newest=newest)
        rows = page.turns[:: -1 if newest else 1]
        shown += [(number, turn, number in page.standing) for number, turn in rows]
        if not page.more:
            break
        assert len(rows) == count
        after = rows[-1][0]
    standing = standing_numbers(turns)
    whole = [(number, turn, number in standing) for number, turn in enumerate(turns)]
    assert shown == whole[:: -1 if newest else 1]
