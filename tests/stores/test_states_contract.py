"""What every `StateStore` does."""

from __future__ import annotations

import pytest

from mentis.errors import Defect, StoreConflict
from mentis.ports.state_store import StateStore
from mentis.values.cognition import (
    USER_ROOT,
    CognitionState,
    Goal,
    GoalTree,
    L1Entry,
    root_partition,
)
from mentis.values.trust import Trust


def test_a_mind_without_a_saved_state_starts_empty(states: StateStore) -> None:
    assert states.load("ada") == CognitionState(revision=0)


def test_the_newest_state_comes_back_whole(states: StateStore) -> None:
    goals = GoalTree(
        root_partition(["Live."]),
        Goal(USER_ROOT, "user goals", children=(Goal("g", "see", 500, review=True),)),
    )
    states.save("ada", CognitionState(revision=1), expected=0)
    newest = CognitionState(goals, (L1Entry("a note", Trust.UNTRUSTED),), revision=2)
    states.save("ada", newest, expected=1)
    assert states.load("ada") == newest
    assert states.load("bob") == CognitionState()


def test_who_has_not_seen_the_newest_state_is_told_and_changes_nothing(states: StateStore) -> None:
    first = CognitionState(l1_memory=(L1Entry("first"),), revision=1)
    states.save("ada", first, expected=0)
    with pytest.raises(StoreConflict, match="at revision 1, not 0") as caught:
        states.save("ada", CognitionState(l1_memory=(L1Entry("late"),), revision=1), expected=0)
    assert caught.value.facts == {"agent": "ada", "newest": 1, "expected": 0}
    assert states.load("ada") == first


def test_a_state_that_does_not_count_up_is_a_defect(states: StateStore) -> None:
    with pytest.raises(Defect, match="revision 0 cannot follow revision 0"):
        states.save("ada", CognitionState(revision=0), expected=0)


def test_every_state_is_kept_with_what_made_it(states: StateStore) -> None:
    made = [
        CognitionState(l1_memory=(L1Entry(text),), revision=n) for n, text in ((1, "a"), (2, "b"))
    ]
    for state in made:
        states.save("ada", state, expected=state.revision - 1, words=f"tick {state.revision}")
    assert [states.at("ada", number) for number in range(4)] == [CognitionState(), *made, None]
    assert [(r.number, r.words) for r in states.history("ada")] == [(1, "tick 1"), (2, "tick 2")]
    assert [revision.number for revision in states.history("ada", last=1)] == [2]
    assert states.history("ada", last=0) == () == states.history("bob", last=5)
