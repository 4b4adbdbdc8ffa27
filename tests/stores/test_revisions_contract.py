"""What every `Revisions` store does."""

from __future__ import annotations

import pytest

from mentis.errors import StoreConflict
from mentis.ports.revisions import Revisions
from mentis.values.cognition import Revision


def revision(key: str, number: int) -> Revision:
    return Revision(
        key, number, f"text {number} ü", "sha256:0", "2026-01-01", words="why", author="ada"
    )


def test_a_history_is_told_oldest_first(revisions: Revisions) -> None:
    saved = [revision("prompts/a", 1), revision("prompts/a", 2)]
    for one in saved:
        revisions.save(one)
    revisions.save(revision("prompts/b", 1))
    assert revisions.history("prompts/a") == tuple(saved)
    assert revisions.history("prompts/none") == ()
    assert revisions.history("prompts/a", last=1) == (saved[1],)
    assert revisions.history("prompts/a", last=9) == tuple(saved)
    assert [revisions.at("prompts/a", n) for n in (0, 1, 2, 3)] == [None, *saved, None]


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_number_that_is_not_the_next_is_a_conflict(revisions: Revisions, number: int) -> None:
    revisions.save(revision("a", 1))
    with pytest.raises(StoreConflict, match=f"at revision 1: {number} cannot be the next"):
        revisions.save(revision("a", number))
    assert len(revisions.history("a")) == 1
