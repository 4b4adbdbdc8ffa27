"""Cuts that statements name: which entries moved into a segment, and which were let go."""

from __future__ import annotations

import pytest

from mentis.ledger.cuts import ROTATION, Cuts
from mentis.values.entry import Entry


@pytest.mark.parametrize(("first", "last"), [(0, 1), (0.0, 1), (-0.0, 1.0)])
def test_a_cut_is_read_as_it_is_signed_however_its_numbers_are_written(
    first: float, last: float
) -> None:
    """What is hashed and signed says 0 for -0.0, so that both are the same statement."""
    told = {"first": first, "last": last, "root": "r"}
    entry = Entry("ada", 2, "", "ledger", ROTATION, None, None, {}, "")
    assert list(Cuts().take(entry, told, {})) == []
    told["last"] = 1.5
    assert [one.index for one in Cuts().take(entry, told, {})] == [2]
