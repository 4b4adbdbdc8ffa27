"""Shares with their intervals, against figures from the books."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.values.proportion import Proportion, difference_interval

counts = st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        # Newcombe 1998, Statistics in Medicine 17, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_an_interval_is_wilsons(passed: int, total: int, low: float, high: float) -> None:
    assert Proportion(passed, total).interval == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        # Newcombe 1998, Statistics in Medicine 17, table II, method 10.
        ((48, 80), (56, 70), 0.0524, 0.3339),
        ((3, 10), (9, 10), 0.1705, 0.8090),
        ((0, 29), (5, 56), -0.0381, 0.1926),
        ((0, 10), (10, 10), 0.6075, 1.0),
    ],
)
def test_the_interval_of_a_difference_is_newcombes(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    found = difference_interval(Proportion(*first), Proportion(*second))
    assert found == pytest.approx((low, high), abs=1e-3)


@given(counts)
def test_the_rate_lies_in_its_interval(counted: tuple[int, int]) -> None:
    share = Proportion(*counted)
    low, high = share.interval
    assert 0 <= low <= share.rate <= high <= 1 or not share.total


@given(counts, counts)
def test_the_other_way_round_a_difference_is_the_same_with_the_other_sign(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    a, b = Proportion(*first), Proportion(*second)
    low, high = difference_interval(a, b)
    assert difference_interval(b, a) == pytest.approx((-high, -low))


def test_nothing_counted_says_nothing() -> None:
    assert (Proportion(0, 0).rate, Proportion(0, 0).interval) == (0.0, (0.0, 1.0))
    assert Proportion(1, 2) + Proportion(2, 3) == Proportion(3, 5)
