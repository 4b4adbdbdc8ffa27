"""What every `StateStore` does."""

from __future__ import annotations

import pytest

from mentis.errors import Defect, StoreConflict
from mentis.ports.state_store import StateStore
from mentis.values.cognition import CognitionState, Goal


def test_a_mind_without_a_saved_state_starts_empty(states: StateStore) -> None:
    assert states.load("ada") == CognitionState(revision=0)


def test_the_newest_state_comes_back_whole(states: StateStore) -> None:
    goal = Goal("g", "see", 0.5, children=(Goal("h", "hear"),))
    states.save("ada", CognitionState(revision=1), expected=0)
    newest = CognitionState((goal,), ("a note",), revision=2)
    states.save("ada", newest, expected=1)
    assert states.load("ada") == newest
    assert states.load("bob") == CognitionState()


def test_who_has_not_seen_the_newest_state_is_told_and_changes_nothing(states: StateStore) -> None:
    first = CognitionState(l1_memory=("first",), revision=1)
    states.save("ada", first, expected=0)
    with pytest.raises(StoreConflict, match="at revision 1, not 0") as caught:
        states.save("ada", CognitionState(l1_memory=("late",), revision=1), expected=0)
    assert caught.value.facts == {"agent": "ada", "newest": 1, "expected": 0}
    assert states.load("ada") == first


def test_a_state_that_does_not_count_up_is_a_defect(states: StateStore) -> None:
    with pytest.raises(Defect, match="revision 0 cannot follow revision 0"):
        states.save("ada", CognitionState(revision=0), expected=0)
