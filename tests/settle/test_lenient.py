"""What a provider reports may be anything; what is made of it is a number."""

from __future__ import annotations

import pytest

from mentis.settle.lenient import count_in


@pytest.mark.parametrize("reported", [True, False, None, "12", -1, 1.5, 10**30, [3], float("nan")])
def test_what_is_no_number_of_tokens_counts_as_not_reported(reported: object) -> None:
    counted = count_in(reported)
    assert counted == 0
    assert type(counted) is int


def test_a_whole_number_of_tokens_is_taken_also_as_a_float() -> None:
    assert count_in(12) == 12
    assert repr(count_in(12.0)) == "12"
