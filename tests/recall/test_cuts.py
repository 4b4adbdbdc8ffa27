from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import BadInput
from mentis.recall.cuts import (
    PLANNED,
    Right,
    SelectionCut,
    calibrate,
    cut_for,
    dump_cuts,
    find_cut,
    read_cuts,
)


def test_a_cut_is_found_by_the_name_of_its_embedder_and_the_owner_comes_first() -> None:
    model = "minilm-l6-v2+gloss-00000000+ngrams-1/640/l2"
    assert cut_for(model) == find_cut(model)
    assert cut_for(model) != PLANNED
    assert cut_for(model, {"minilm-l6-v2": SelectionCut(0.5, 0.1)}) == SelectionCut(0.5, 0.1)
    assert find_cut("minilm-l6-v22/3/l2") is None
    assert cut_for("unheard-of/3/l2") == PLANNED


scores = st.floats(0.01, 1.2)


@given(st.lists(st.builds(Right, st.sampled_from(["tool", "skill"]), scores, scores), min_size=1))
def test_what_was_measured_stays_after_the_cut(found: list[Right]) -> None:
    cut = calibrate(found)
    for one in found:
        floor = cut.floor_of(one.kind)
        assert floor is not None
        assert one.score >= floor
        assert one.behind <= cut.margin


def test_cuts_are_read_as_they_were_written() -> None:
    cuts = {"a": SelectionCut(0.25, 0.5, 0.3), "b": SelectionCut(None, 1.0)}
    assert read_cuts(dump_cuts(cuts, "note"), where="here") == cuts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"cuts": {"a": {"floor": 1}}}',
        '{"cuts": {"a": {"floor": NaN, "margin": 1}}}',
    ],
)
def test_a_file_without_cuts_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="here holds no cuts"):
        read_cuts(text, where="here")


def test_there_is_no_cut_without_a_right_answer() -> None:
    with pytest.raises(BadInput, match="found what it expects"):
        calibrate([])
