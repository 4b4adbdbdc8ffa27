from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.compose.history import (
    FRAMING_TOKENS,
    LEFT_BEHIND,
    HistorySteps,
    keep_newest,
    roundest,
    turn_text,
)
from mentis.errors import ComposeError
from mentis.values.part import (
    MediaPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Cut, TokenCount
from mentis.values.turn import Role, Turn, TurnState

from .conftest import Desk, Quarters


def turn(role: Role, text: str = "x" * 40, state: TurnState = "complete") -> Turn:
    return Turn(role, (TextPart(text),), state=state)


TALK = (turn("user"), turn("assistant"), turn("user"), turn("assistant"))
COST = 10 + FRAMING_TOKENS


def test_everything_is_kept_where_there_is_room() -> None:
    kept = keep_newest(TALK, 4 * COST, Quarters())
    assert kept.turns == TALK
    assert kept.tokens == TokenCount(40)
    assert kept.cuts == ()


def test_the_oldest_turns_go_first_and_each_is_recorded() -> None:
    kept = keep_newest(TALK, 2 * COST, Quarters())
    assert kept.turns == TALK[2:]
    assert kept.cuts == (
        Cut("turn 1 (user)", 10, "no room left in the context"),
        Cut("turn 2 (assistant)", 10, "no room left in the context"),
    )


def test_of_very_many_that_had_no_room_the_oldest_are_told_together_and_never_counted() -> None:
    counted = list[str]()

    class Watched(Quarters):
        def count(self, text: str) -> TokenCount:
            counted.append(text)
            return super().count(text)

    talk = tuple(turn("user", f"{number:040}") for number in range(5_000))
    kept = keep_newest(talk, 3 * COST, Watched())
    assert kept.turns == talk[-3:]
    assert kept.cuts[:2] == (
        Cut(
            "turns 1 to 4947", 49470, "no room left in the context; reckoned from those after them"
        ),
        Cut("turn 4948 (user)", 10, "no room left in the context"),
    )
    assert len(kept.cuts) == 51
    assert len(counted) == 128


def test_an_answer_never_opens_the_history() -> None:
    kept = keep_newest(TALK, 3 * COST, Quarters())
    assert kept.turns == TALK[2:]
    assert kept.cuts[1] == Cut("turn 2 (assistant)", 10, "what it answers was left out")


def test_a_tool_result_never_opens_the_history() -> None:
    result = Turn("user", (ToolResultPart("1", "t", "y" * 40),))
    kept = keep_newest((TALK[0], TALK[1], result, TALK[3]), 2 * COST, Quarters())
    assert kept.turns == ()
    assert len(kept.cuts) == 4


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_turns_that_came_to_nothing_stay_out_with_a_record(role: Role) -> None:
    history = (*TALK, turn(role, state="failed"), turn(role, state="pending"), Turn(role, ()))
    kept = keep_newest(history, 1000, Quarters())
    assert kept.turns == TALK
    assert [cut.reason for cut in kept.cuts] == [
        "the turn failed",
        "the turn was never finished",
        "the turn is empty",
    ]


def test_a_conversation_that_the_agent_began_keeps_its_first_words_while_there_is_room() -> None:
    history = (TALK[1], *TALK)
    assert keep_newest(history, 5 * COST, Quarters()).turns == history
    assert keep_newest(history, 4 * COST, Quarters()).turns == TALK


def test_an_interrupted_answer_stays_in() -> None:
    history = (TALK[0], turn("assistant", state="interrupted"))
    assert keep_newest(history, 1000, Quarters()).turns == history


def test_a_turn_that_stays_out_takes_no_room() -> None:
    history = (*TALK[:2], turn("user", "z" * 4000, state="failed"))
    assert keep_newest(history, 2 * COST, Quarters()).turns == TALK[:2]


TURNS = st.builds(
    turn,
    st.sampled_from(["user", "assistant"]),
    st.text(min_size=1, max_size=60),
    st.sampled_from(["complete", "interrupted", "failed", "pending"]),
)


@given(st.lists(TURNS, max_size=12), st.integers(0, 200))
def test_what_is_kept_fits_and_what_is_not_is_recorded(history: list[Turn], room: int) -> None:
    kept = keep_newest(tuple(history), room, Quarters())
    assert kept.tokens.tokens + FRAMING_TOKENS * len(kept.turns) <= room
    assert len(kept.turns) + len(kept.cuts) == len(history)
    gone = any(cut.reason == "no room left in the context" for cut in kept.cuts)
    assert not kept.turns or kept.turns[0].role == "user" or not gone
    assert all(one.state in ("complete", "interrupted") for one in kept.turns)


LONGEST = 50  # tokens of a message with what stands around it
LENGTHS = st.integers(1, (LONGEST - FRAMING_TOKENS) * 4)


@given(st.lists(st.tuples(LENGTHS, LENGTHS, st.booleans()), min_size=30, max_size=60))
def test_in_steps_a_prompt_begins_as_the_one_before_and_moves_seldom(
    exchanges: list[tuple[int, int, bool]],
) -> None:
    room = 32 * LONGEST  # so that half of it holds at least sixteen messages
    talk, numbers, number = list[Turn](), list[int](), 0
    starts, before = [0], tuple[Turn, ...]()
    for asked, answered, anew in exchanges:
        if anew:  # the last exchange is replaced, and its numbers stay gone
            del talk[-2:], numbers[-2:]
        talk += [turn("user", "q" * asked), turn("assistant", "a" * answered)]
        numbers += [number, number + 1]
        number += 2
        steps = HistorySteps(room, tuple(numbers))
        kept = keep_newest(talk, 10 * room, Quarters(), steps=steps)
        taken = kept.tokens.tokens + FRAMING_TOKENS * len(kept.turns)
        assert taken <= room
        assert kept.turns == tuple(talk[len(kept.cuts) :])
        assert not kept.cuts or taken > room // 2 - LONGEST  # an answer that came first went, too
        start = numbers[len(kept.cuts)] if kept.cuts else 0
        if start == starts[-1] and not anew:
            assert kept.turns[: len(before)] == before
        before = kept.turns
        if start != starts[-1]:
            starts.append(start)
    moves = [later - sooner for sooner, later in pairwise(starts)]
    assert all(abs(move) >= 15 for move in moves)  # a power of two, and perhaps an answer less


@given(st.integers(0, 10**6), st.integers(1, 10**4))
def test_the_roundest_number_is_the_only_one_so_round(before: int, more: int) -> None:
    last = before + more
    found = roundest(before, last)
    rounds = [(n & -n, n) for n in range(before + 1, last + 1)]
    assert found == max(rounds)[1]
    assert [n for size, n in rounds if size == found & -found] == [found]


def test_where_the_told_part_begins_hangs_on_the_numbers_and_not_on_what_was_read() -> None:
    talk = tuple(turn("user", f"{number:040}") for number in range(100))
    steps = HistorySteps(20 * COST, tuple(range(100)))
    whole = keep_newest(talk, 10**6, Quarters(), steps=steps)
    assert whole.turns[0] == talk[80]
    assert whole.cuts[1] == Cut("turn 31 (user)", 10, LEFT_BEHIND)
    for first in (1, 30, 75):
        steps = HistorySteps(20 * COST, tuple(range(first, 100)))
        part = keep_newest(talk[first:], 10**6, Quarters(), earlier=first, steps=steps)
        assert part.turns == whole.turns
        counted = HistorySteps(20 * COST)
        assert keep_newest(talk[first:], 10**6, Quarters(), earlier=first, steps=counted) == part


def test_the_newest_exchange_is_told_where_it_alone_is_more_than_the_told_part_holds() -> None:
    long = (turn("user", "x" * 400), turn("assistant", "y" * 400))
    steps = HistorySteps(4 * COST, tuple(range(6)))
    assert keep_newest((*TALK, *long), 1000, Quarters(), steps=steps).turns == long
    assert keep_newest((*TALK, *long), 150, Quarters(), steps=steps).turns == ()


def test_less_room_than_the_told_part_may_hold_is_kept_to() -> None:
    steps = HistorySteps(100 * COST, tuple(range(4)))
    assert keep_newest(TALK, 3 * COST, Quarters(), steps=steps).turns == TALK[2:]


def test_every_kind_of_part_is_counted() -> None:
    parts = (
        TextPart("a"),
        ReasoningPart("b"),
        ToolCallPart("1", "look", {"at": "ä"}),
        ToolResultPart("1", "look", "c"),
        MediaPart("document", "text/plain", extracted="d"),
    )
    assert turn_text(Turn("assistant", parts)) == 'a\nb\nlook {"at": "ä"}\nc\nd'


def test_history_gets_what_the_prompt_and_the_answer_leave(desk: Desk) -> None:
    library = desk.library(desk.block("b", "s" * 400))
    inputs = {"history": TALK, "reserve_tokens": 100}
    # 100 for the system text, 1 for the current one, 2 messages, 100 reserved, 2 turns
    tight = 100 + 1 + 2 * FRAMING_TOKENS + 100 + 2 * COST
    composed = desk.compose(library, context_tokens=tight, **inputs)
    assert composed.request.conversation_history == TALK[2:]
    assert len(composed.trace.cuts) == 2
    roomy = desk.compose(library, context_tokens=tight + 2 * COST, **inputs)
    assert roomy.request.conversation_history == TALK
    assert roomy.trace.tokens == {
        "system": TokenCount(100),
        "tools": TokenCount(0, exact=True),
        "turn": TokenCount(0, exact=True),
        "current": TokenCount(1),
        "history": TokenCount(40),
        "total": TokenCount(141),
        "framing": TokenCount(6 * FRAMING_TOKENS),
    }


def test_a_prompt_that_cannot_fit_is_an_error_with_the_numbers(desk: Desk) -> None:
    library = desk.library(desk.block("b", "s" * 400, required=True))
    with pytest.raises(ComposeError) as caught:
        desk.compose(library, context_tokens=200, reserve_tokens=100)
    error = caught.value
    assert "needs 117 tokens (system 100, tools 0, turn 0, current 1)" in error.message
    assert "100 are reserved" in error.message
    assert "holds 200" in error.message
    assert "context_tokens" in error.hint
    assert "compact" in error.hint
    facts = {"needed": 117, "reserve": 100, "context": 200, "required": ["b"]}
    assert error.facts == facts


def test_tools_take_room_too(desk: Desk) -> None:
    tool = ToolDeclaration("look", "d" * 400)
    recalled = RecalledContext(Stimulus("Hello"), tools=(tool,))
    composed = desk.compose(desk.library(), recalled=recalled)
    assert composed.request.tool_declarations == (tool,)
    assert composed.trace.tokens["tools"].tokens > 100


class Exactly:
    def count(self, text: str) -> TokenCount:
        return TokenCount(len(text), exact=True)


def test_a_sum_is_exact_only_if_every_part_is(desk: Desk) -> None:
    library = desk.library(desk.block("b"))
    assert desk.compose(library, counter=Exactly()).trace.tokens["total"].exact
    assert not desk.compose(library).trace.tokens["total"].exact
