from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.compose.budget import Unit, order_of_going
from mentis.compose.history import FRAMING_TOKENS, NO_ROOM
from mentis.errors import ComposeError
from mentis.values.block import Block
from mentis.values.part import MediaPart, TextPart
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.request import ReplyTo, RuntimeContext
from mentis.values.span import Span, join_spans
from mentis.values.surroundings import Surroundings
from mentis.values.trace import Cut, TokenCount
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .conftest import Desk

BOTH = 2 * FRAMING_TOKENS + 1  # two messages and "Hello"


def said(text: str) -> Turn:
    return Turn("user", (TextPart(text),))


def told(desk: Desk, *blocks: Block, room: int, **inputs: object) -> str:
    composed = desk.compose(
        desk.library(*blocks), context_tokens=room + BOTH, reserve_tokens=0, **inputs
    )
    return join_spans(composed.request.system_instruction)


def test_the_lowest_priority_goes_first_then_the_last(desk: Desk) -> None:
    blocks = [
        desk.block("a", "a" * 40, order=1),
        desk.block("b", "b" * 40, order=2, priority=5),
        desk.block("c", "c" * 40, order=3),
    ]
    assert told(desk, *blocks, room=31) == "\n\n".join(x * 40 for x in "abc")
    assert told(desk, *blocks, room=30) == "\n\n".join(x * 40 for x in "ab")
    assert told(desk, *blocks, room=19) == "b" * 40
    assert told(desk, *blocks, room=9) == ""


def test_what_was_cut_is_in_the_trace(desk: Desk) -> None:
    library = desk.library(desk.block("a", "a" * 40, order=1), desk.block("b", "b" * 40, order=2))
    trace = desk.compose(library, context_tokens=10 + BOTH, reserve_tokens=0).trace
    assert trace.cuts == (Cut("block b", 10, NO_ROOM),)
    kept, cut = trace.blocks
    assert kept.included
    assert (cut.included, cut.reason, cut.tokens) == (False, NO_ROOM, TokenCount(0))
    assert trace.tokens["system"] == TokenCount(10)


def test_a_key_left_open_in_a_block_that_was_cut_is_not_listed(desk: Desk) -> None:
    library = desk.library(desk.block("a", "a" * 40, order=1), desk.block("b", "{{no}}" + "b" * 40))
    trace = desk.compose(library, context_tokens=10 + BOTH, reserve_tokens=0).trace
    assert trace.unresolved == ()


def test_blocks_kept_together_go_together(desk: Desk) -> None:
    blocks = [
        desk.block("a", "a" * 40, order=1),
        desk.block("b", "b" * 40, order=2, keep_with="c", priority=1),
        desk.block("c", "c" * 40, order=3, keep_with="nobody", priority=2),
    ]
    library = desk.library(*blocks)
    composed = desk.compose(library, context_tokens=20 + BOTH, reserve_tokens=0)
    assert join_spans(composed.request.system_instruction) == "b" * 40 + "\n\n" + "c" * 40
    composed = desk.compose(library, context_tokens=15 + BOTH, reserve_tokens=0)
    assert composed.request.system_instruction == ()
    together = "no room left in the context for all that stays together"
    assert composed.trace.cuts[1:] == (Cut("block b", 10, together), Cut("block c", 10, together))


def test_what_is_kept_with_a_required_block_is_required_too(desk: Desk) -> None:
    blocks = [
        desk.block("a", "a" * 40, order=1, required=True),
        desk.block("b", "b" * 40, order=2, keep_with="a", priority=-9),
        desk.block("c", "c" * 40, order=3),
    ]
    assert told(desk, *blocks, room=20) == "a" * 40 + "\n\n" + "b" * 40
    with pytest.raises(ComposeError, match="needs"):
        told(desk, *blocks, room=19)


@pytest.mark.parametrize("fields", [{"required": True}, {"trust": Trust.CONSTITUTION}])
def test_a_required_block_that_does_not_fit_is_an_error(desk: Desk, fields: dict[str, Any]) -> None:
    block = desk.block("law", "a" * 40, priority=-5, **fields)
    with pytest.raises(ComposeError) as caught:
        told(desk, block, room=9)
    assert caught.value.facts["required"] == ["law"]


def test_a_priority_below_zero_gives_way_to_the_conversation(desk: Desk) -> None:
    library = desk.library(
        desk.block("a", "a" * 40, order=1, priority=-1),
        desk.block("b", "b" * 40, order=2),
    )
    one_turn = 10 + FRAMING_TOKENS
    inputs = {"history": (said("x" * 40), said("y" * 40)), "reserve_tokens": 0}
    room = 10 + 2 * one_turn + BOTH
    composed = desk.compose(library, context_tokens=room, **inputs)
    assert join_spans(composed.request.system_instruction) == "b" * 40
    assert len(composed.request.conversation_history) == 2
    composed = desk.compose(library, context_tokens=room + 11, **inputs)
    assert composed.trace.cuts == ()


def test_the_conversation_goes_before_the_surroundings_and_these_before_blocks(desk: Desk) -> None:
    memories = (Span("m" * 40, source="memory"), Span("n" * 40, source="memory"))
    recalled = RecalledContext(Stimulus("Hello"), memories=memories)
    library = desk.library(desk.block("a", "a" * 40))
    around = Surroundings(recent=("r" * 40, "s" * 40))
    composed = desk.compose(
        library,
        recalled=recalled,
        surroundings=around,
        history=(said("x" * 40),),
        context_tokens=22 + BOTH,
        reserve_tokens=0,
    )
    assert [cut.what for cut in composed.trace.cuts] == [
        "recent 1",
        "recent 2",
        "memories 2",
        "turn 1 (user)",
    ]
    assert join_spans(composed.request.context_summary) == "- " + "m" * 40


def test_a_block_longer_than_its_own_limit_ends_after_a_sentence(desk: Desk) -> None:
    text = "One two three four. Five {{name}} six seven.\n\nEight nine ten eleven."
    library = desk.library(desk.block("a", text, max_tokens=12), desk.block("b", order=20))
    composed = desk.compose(library)
    shown = "One two three four. Five Bo six seven.\n\n[b]"
    assert join_spans(composed.request.system_instruction) == shown
    assert composed.trace.cuts == (Cut("block a", 6, "over its own limit of 12 tokens"),)
    assert composed.trace.blocks[0].reason == "always; shortened to 12 tokens"
    assert composed.trace.blocks[0].tokens == TokenCount(9)
    spans = [span for span in composed.request.system_instruction if span.block == "a"]
    assert [span.placeholder for span in spans] == ["", "name", ""]
    assert desk.compose(library).request.system_instruction is composed.request.system_instruction


def test_a_block_of_which_no_sentence_fits_stays_out(desk: Desk) -> None:
    library = desk.library(desk.block("a", "a" * 80 + ". b", max_tokens=5))
    composed = desk.compose(library)
    assert composed.request.system_instruction == ()
    assert not composed.trace.blocks[0].included
    assert composed.trace.cuts[0].tokens == 20


def test_a_required_block_is_never_shortened(desk: Desk) -> None:
    library = desk.library(desk.block("a", "One two. Three.", max_tokens=2, required=True))
    with pytest.raises(ComposeError, match="over its own limit of 2"):
        desk.compose(library)


def test_attachments_the_answered_message_and_the_facts_of_the_turn_take_room(desk: Desk) -> None:
    image = MediaPart("image", "image/png", b"x", metadata={"width": 750, "height": 100})
    composed = desk.compose(
        desk.library(),
        attachments=(image,),
        reply_to=ReplyTo("y" * 40, "Al"),
        runtime_ctx=RuntimeContext(tone="t" * 40),
    )
    tokens = composed.trace.tokens
    assert tokens["attachments"] == TokenCount(100)
    assert tokens["current"].tokens == (2 + 40 + 6 + 5) // 4
    assert tokens["runtime"].tokens >= 10
    assert composed.request.attachments == (image,)
    with pytest.raises(ComposeError, match="attachments 100"):
        desk.compose(desk.library(), attachments=(image,), context_tokens=100, reserve_tokens=0)


def test_the_first_to_go_goes_first() -> None:
    low, high = Unit("a", 1, (0,), "a"), Unit("b", 1, (1,), "b")
    bound = Unit("c", 1, (0,), "b")
    assert order_of_going([high, bound, low]) == [(low,), (high, bound)]
    assert order_of_going([high, Unit("d", 1, (0,), "b", required=True)]) == []


BLOCKS = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.text("ab .\n", min_size=1, max_size=120),
            "priority": st.integers(-2, 2),
            "required": st.sampled_from([False, False, False, True]),
            "keep_with": st.none() | st.sampled_from(["b0", "b1", "b2"]),
            "max_tokens": st.none() | st.integers(5, 40),
        }
    ),
    max_size=6,
)
TURNS = st.lists(st.text("xy ", min_size=1, max_size=80).map(said), max_size=6)
LINES = st.lists(st.text("mn", min_size=1, max_size=60), max_size=4).map(tuple)


@given(BLOCKS, TURNS, LINES, st.integers(0, 160))
def test_the_budget_holds_and_every_cut_is_told(
    blocks: list[dict[str, Any]], history: list[Turn], lines: tuple[str, ...], context: int
) -> None:
    desk = Desk()
    library = desk.library(*(desk.block(f"b{n}", **one) for n, one in enumerate(blocks)))
    inputs = {
        "history": tuple(history),
        "surroundings": Surroundings(thoughts=lines, recent=lines),
        "reserve_tokens": 10,
    }
    try:
        composed = desk.compose(library, context_tokens=context, **inputs)
    except ComposeError:
        return
    request, trace = composed.request, composed.trace
    assert trace.tokens["total"].tokens + trace.tokens["framing"].tokens <= context - 10
    whole = desk.compose(library, context_tokens=10**6, **inputs)
    before = {one.block for one in whole.trace.blocks if one.included}
    after = {one.block for one in trace.blocks if one.included}
    lost = {cut.what.removeprefix("block ") for cut in trace.cuts if cut.reason.startswith(NO_ROOM)}
    assert after | (before & lost) == before
    assert not after & lost
    assert all(
        block.id in after for block in library.blocks if block.required and block.id in before
    )
    shown = len(request.conversation_history)
    assert shown + sum(cut.what.startswith("turn ") for cut in trace.cuts) == len(history)
    told = (*request.context_summary, *request.runtime_ctx.spans)
    items = sum(span.source in ("thought", "recent") for span in told)
    gone = sum(cut.what.startswith(("thoughts ", "recent ")) for cut in trace.cuts)
    assert items + gone == 2 * len(lines)
