from __future__ import annotations

import pytest

from mentis.errors import ComposeError
from mentis.values.span import join_spans
from mentis.values.stability import Stability

from .conftest import Desk


def test_regions_come_before_order_and_moved_blocks_are_marked(desk: Desk) -> None:
    library = desk.library(
        desk.block("a", "a {{clock}}", order=1),
        desk.block("b", "b {{mood}}", order=2),
        desk.block("c", "c {{name}}", order=3),
        desk.block("d", "d {{mood}}", order=4),
        desk.block("e", "e {{clock}}", order=5),
    )
    composed = desk.compose(library, runtime_vars={"mood": "calm"})
    assert join_spans(composed.request.system_instruction) == "c Bo\n\nb calm\n\nd calm"
    assert join_spans(composed.request.runtime_ctx.spans) == "a 12:00\n\ne 12:00"
    traced = {one.block: (one.stability, one.moved) for one in composed.trace.blocks}
    assert traced == {
        "a": (Stability.TURN, True),
        "b": (Stability.SESSION, True),
        "c": (Stability.STABLE, False),
        "d": (Stability.SESSION, False),
        "e": (Stability.TURN, False),
    }
    moved = [one.reason for one in composed.trace.blocks if one.moved]
    assert moved[0] == "always; moved behind what lasts longer, to the turn region"


def test_a_block_declared_fleeting_stands_in_that_region(desk: Desk) -> None:
    library = desk.library(
        desk.block("t", order=1, stability=Stability.TURN),
        desk.block("s", "{{mood}} {{name}}", order=2, stability=Stability.STABLE),
        desk.block("x", "{{clock}}", order=3, stability=Stability.SESSION),
    )
    traced = desk.compose(library, runtime_vars={"mood": "calm"}).trace.blocks
    assert [one.stability for one in traced] == ["turn", "session", "turn"]


def test_appended_blocks_end_their_region(desk: Desk) -> None:
    library = desk.library(
        desk.block("last", order=1, position="system_prompt_append"),
        desk.block("first", order=2),
        desk.block("turn", "{{clock}}", order=0),
    )
    composed = desk.compose(library)
    assert join_spans(composed.request.system_instruction) == "[first]\n\n[last]"


def test_blocks_of_equal_order_keep_the_librarys_order(desk: Desk) -> None:
    library = desk.library(*(desk.block(name) for name in "cab"))
    assert join_spans(desk.compose(library).request.system_instruction) == "[c]\n\n[a]\n\n[b]"


def test_a_turn_value_in_a_block_declared_stable_is_an_error_with_the_fix(desk: Desk) -> None:
    block = desk.block("b", "{{name}} {{clock}}", stability=Stability.STABLE, file="b.json")
    with pytest.raises(ComposeError) as caught:
        desk.compose(desk.library(block))
    error = caught.value
    assert error.message == "block 'b' is declared stable, but {{clock}} in it changes every turn"
    assert error.hint == 'declare "stability": "turn" for \'b\', or take {{clock}} out of it'
    assert error.facts == {"block": "b", "placeholder": "clock", "file": "b.json"}


def test_a_block_that_stays_out_may_be_declared_wrongly(desk: Desk) -> None:
    block = desk.block("b", "{{clock}}", stability=Stability.STABLE, enabled=False)
    assert not desk.compose(desk.library(block)).trace.blocks[0].included


def test_an_empty_value_does_not_change_the_region(desk: Desk) -> None:
    block = desk.block("b", "b {{mood}}")
    for mood in ("", "calm"):
        composed = desk.compose(desk.library(block), runtime_vars={"mood": mood})
        assert composed.trace.blocks[0].stability is Stability.SESSION
