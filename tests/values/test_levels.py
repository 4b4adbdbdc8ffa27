"""Stability and trust: ordered, and a text is only as good as its worst part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mentis.values.stability import Stability, least_stable
from mentis.values.trust import Trust, least_trusted


def test_stability_goes_from_lasting_to_fleeting() -> None:
    assert sorted(Stability, key=lambda level: level.rank) == ["stable", "session", "turn"]


def test_trust_goes_from_the_constitution_down_to_nobody() -> None:
    order = ["constitution", "owner", "runtime", "self", "reference", "untrusted"]
    assert sorted(Trust, key=lambda level: level.rank) == order


@given(st.lists(st.sampled_from(Stability), min_size=1))
def test_a_text_is_as_stable_as_its_most_fleeting_part(levels: list[Stability]) -> None:
    assert least_stable(levels).rank == max(level.rank for level in levels)


@given(st.lists(st.sampled_from(Trust), min_size=1))
def test_a_text_is_as_trusted_as_its_least_trusted_part(levels: list[Trust]) -> None:
    assert least_trusted(levels).rank == max(level.rank for level in levels)


def test_a_text_of_no_parts_takes_nothing_away() -> None:
    assert least_stable([]) is Stability.STABLE
    assert least_trusted([]) is Trust.CONSTITUTION
