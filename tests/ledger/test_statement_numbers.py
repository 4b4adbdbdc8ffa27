"""Numbers in signed statements: the same whole number, however it is written."""

from __future__ import annotations

import pytest

from mentis.ledger.statements import erased_in, lost_in, missing_in


@pytest.mark.parametrize("number", [1, 1.0])
def test_a_number_counts_as_what_was_signed_says_it(number: float) -> None:
    erased = erased_in({"index": number, "fields": ["text"], "reason": "asked"}, 3)
    assert erased is not None
    assert erased.index == 1
    assert [*lost_in({"lost": [{"size": number, "root": "r"}]})] == [(1, "r")]
    assert [*missing_in({"missing": [{"first": number, "last": number}]})] == [(1, 1)]


@pytest.mark.parametrize("number", [None, True, "1", 1.5])
def test_what_is_no_whole_number_names_nothing(number: object) -> None:
    assert erased_in({"index": number, "fields": ["text"]}, 3) is None
    assert [*lost_in({"lost": [{"size": number, "root": "r"}]})] == []
    assert [*missing_in({"missing": [{"first": number, "last": 1}]})] == []
