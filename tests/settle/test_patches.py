"""A patch changes the state by fixed rules, and every operation says what became of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.settle.goal_patch import every_goal, find_goal
from mentis.settle.patches import patch, patch_goal
from mentis.values.cognition import USER_ROOT, CognitionState, Goal, GoalTree, L1Entry
from mentis.values.tick import (
    Append,
    Insert,
    PatchLimits,
    PatchOp,
    Prune,
    Remove,
    Sprout,
    Tilt,
)
from mentis.values.trust import Trust

TREE = Goal(
    USER_ROOT,
    "user goals",
    children=(Goal("a", "A", 10, (Goal("a1", "A1"), Goal("a2", "A2"))), Goal("b", "B")),
)
STATE = CognitionState(GoalTree(user=TREE), (L1Entry("zero"), L1Entry("one"), L1Entry("two")), 4)
IDS = st.sampled_from([USER_ROOT, "a", "a1", "b", "new", "other", ""])
WEIGHTS = st.integers(-3000, 3000)
HASHES = st.sampled_from(
    ["", L1Entry("zero").hash[:8], L1Entry("one").hash.upper(), "0" * 64, "ab"]
)
GOAL_OPS = st.lists(
    st.builds(Sprout, IDS, IDS, st.sampled_from(["", "goal"]), WEIGHTS)
    | st.builds(Prune, IDS)
    | st.builds(Tilt, IDS, WEIGHTS),
    max_size=12,
)
INDEXES = st.none() | st.integers(-1, 5)
MEMORY_OPS = st.lists(
    st.builds(Append, st.sampled_from(["zero", "x", " "]))
    | st.builds(Insert, st.sampled_from(["one", "y"]), INDEXES, HASHES)
    | st.builds(Remove, INDEXES, HASHES),
    max_size=12,
)
LIMITS = PatchLimits(goals=6, goal_chars=20, entries=5, entry_chars=20)


def texts(state: CognitionState) -> list[str]:
    return [entry.text for entry in state.l1_memory]


def ids(state: CognitionState) -> list[str]:
    return [goal.id for goal in every_goal(state.goals.user)]


@settings(max_examples=150)
@given(GOAL_OPS, MEMORY_OPS)
def test_whatever_is_asked_the_state_stays_sound(
    goal_ops: list[Any], memory_ops: list[Any]
) -> None:
    done = patch(STATE, goal_ops, memory_ops, LIMITS)
    new, known = done.state, ids(done.state)
    assert (known[0], len(known)) == (USER_ROOT, len(set(known)))
    assert len(known) - 1 <= LIMITS.goals
    assert len(new.l1_memory) <= LIMITS.entries
    assert all(-1000 <= goal.weight <= 1000 for goal in every_goal(new.goals.user))
    assert new.goals.root == STATE.goals.root
    same = replace(new, revision=STATE.revision) == STATE
    assert new.revision == STATE.revision + (not same)
    assert (new is STATE) == same
    assert [one.op for one in done.goal_ops] == goal_ops
    assert [one.op for one in done.memory_ops] == memory_ops
    assert all(one.applied or (one.reason and one.code) for one in done.goal_ops)
    assert all(one.applied or (one.reason and one.code) for one in done.memory_ops)


@settings(max_examples=50)
@given(GOAL_OPS, MEMORY_OPS)
def test_operations_apply_one_after_the_other(goal_ops: list[Any], memory_ops: list[Any]) -> None:
    at_once = patch(STATE, goal_ops, memory_ops, LIMITS)
    state, reports = STATE, list[Any]()
    for op in goal_ops:
        step = patch(state, [op], (), LIMITS)
        state, reports = step.state, [*reports, *step.goal_ops]
    for op in memory_ops:
        step = patch(state, (), [op], LIMITS)
        state, reports = step.state, [*reports, *step.memory_ops]
    assert (*at_once.goal_ops, *at_once.memory_ops) == tuple(reports)
    assert at_once.state.goals == state.goals
    assert at_once.state.l1_memory == state.l1_memory


@pytest.mark.parametrize(
    ("op", "applied", "code"),
    [
        (Sprout("a", "new", "N", 1000), True, ""),
        (Sprout("a", "new", "N", 1001), True, "clamped"),
        (Sprout("a", "a1", "N"), False, "duplicate-id"),
        (Sprout("a", USER_ROOT, "N"), False, "duplicate-id"),
        (Sprout("gone", "new", "N"), False, "no-parent"),
        (Sprout("a", "two words", "N"), False, "bad-id"),
        (Sprout("a", "line\nbreak", "N"), False, "bad-id"),
        (Sprout("a", "new", " "), False, "blank"),
        (Sprout("a", "new", "N" * 501), False, "too-long"),
        (Prune("a"), True, ""),
        (Prune(USER_ROOT), False, "fixed-root"),
        (Prune("gone"), False, "no-goal"),
        (Tilt("a2", -1001), True, "clamped"),
        (Tilt(USER_ROOT, 5), True, ""),
        (Tilt("a", 10), False, "same-weight"),
        (Tilt("gone", 1), False, "no-goal"),
        (Append("three"), True, ""),
        (Append("\n"), False, "blank"),
        (Append("x" * 2001), False, "too-long"),
        (Insert("three", 3), True, ""),
        (Insert("four", 4), False, "out-of-range"),
        (Insert("first", hash=L1Entry("zero").hash[:6]), True, ""),
        (Remove(2), True, ""),
        (Remove(3), False, "out-of-range"),
        (Remove(), False, "no-entry"),
        (Remove(hash="abcdef123"), False, "no-entry"),
        (Remove(hash=L1Entry("one").hash[:5]), False, "no-entry"),
        (Remove(1, L1Entry("one").hash), True, ""),
        (Remove(0, L1Entry("one").hash), False, "disagree"),
    ],
)
def test_each_operation_is_applied_or_ignored_by_its_rule(
    op: PatchOp, applied: bool, code: str
) -> None:
    goal = isinstance(op, Sprout | Prune | Tilt)
    done = patch(STATE, [op] if goal else [], [] if goal else [op])
    (report,) = done.goal_ops or done.memory_ops
    assert (report.applied, report.code) == (applied, code)
    assert done.state.revision == STATE.revision + applied


def test_goals_grow_last_among_their_siblings_and_go_with_all_below_them() -> None:
    done = patch(
        STATE, [Sprout("a", "a3", "A3", 1001), Sprout("a3", "deep", "D"), Tilt("b", -9999)]
    )
    assert ids(done.state) == [USER_ROOT, "a", "a1", "a2", "a3", "deep", "b"]
    goals = [find_goal(done.state.goals.user, name) for name in ("a3", "b")]
    assert [goal and goal.weight for goal in goals] == [1000, -1000]
    assert ids(patch(done.state, [Prune("a")]).state) == [USER_ROOT, "b"]
    again = patch(STATE, [Prune("a"), Sprout(USER_ROOT, "a", "anew"), Sprout("a1", "x", "X")])
    assert ids(again.state) == [USER_ROOT, "b", "a"]
    assert again.goal_ops[2].code == "no-parent"


def test_an_index_counts_in_the_list_as_it_is_by_then_and_a_hash_follows_its_entry() -> None:
    done = patch(STATE, (), [Remove(0), Remove(0), Insert("new", 1)])
    assert texts(done.state) == ["two", "new"]
    hashed = [Insert("before", 0), Remove(hash=L1Entry("one").hash[:8])]
    assert texts(patch(STATE, (), hashed).state) == ["before", "zero", "two"]
    twice = patch(STATE, (), [Append("one"), Remove(hash=L1Entry("one").hash)])
    assert texts(twice.state) == ["zero", "two", "one"]


def test_a_full_tree_refuses_more_goals_and_a_full_memory_makes_room_for_more_entries() -> None:
    limits = PatchLimits(goals=4, entries=3)
    ops = [Append("x"), Remove(0), Append("y"), Insert("z", 1)]
    done = patch(STATE, [Sprout("a", "x", "X")], ops, limits)
    assert [one.code for one in done.goal_ops] == ["full"]
    assert [one.code for one in done.memory_ops] == ["made-room", "", "", "made-room"]
    gone = [one.displaced and one.displaced.text for one in done.memory_ops]
    assert (gone, texts(done.state)) == (["zero", None, None, "two"], ["z", "x", "y"])


def test_room_is_never_made_by_what_the_owner_put_there() -> None:
    limits = PatchLimits(entries=2)
    owned = replace(STATE, l1_memory=(L1Entry("mine", Trust.OWNER), L1Entry("own")))
    done = patch(owned, (), [Append("x"), Append("y")], limits)
    assert texts(done.state) == ["mine", "y"]
    full = replace(owned, l1_memory=(L1Entry("mine", Trust.OWNER),) * 2)
    refused = patch(full, (), [Append("x")], limits)
    assert [(one.applied, one.code) for one in refused.memory_ops] == [(False, "full")]


def test_however_much_comes_from_outside_it_displaces_its_like() -> None:
    limits, outside = PatchLimits(entries=3), Trust.UNTRUSTED
    ops = [Append(f"mail {n}", outside, review=True) for n in range(9)]
    done = patch(STATE, (), ops, limits)
    assert texts(done.state) == ["one", "two", "mail 8"]


def test_goals_stand_only_so_far_below_each_other() -> None:
    chain = [Sprout(f"g{n - 1}" if n else USER_ROOT, f"g{n}", "goal") for n in range(20)]
    done = patch(CognitionState(), chain)
    codes = [one.code for one in done.goal_ops]
    assert codes == [*[""] * 16, "too-deep", *["no-parent"] * 3]


def test_a_change_that_is_taken_back_in_the_same_patch_is_none() -> None:
    done = patch(STATE, [Tilt("a", 11), Tilt("a", 10)], [Append("x"), Remove(3)])
    assert done.state is STATE
    assert all(one.applied for one in (*done.goal_ops, *done.memory_ops))


def test_what_came_from_outside_is_kept_marked_and_in_review() -> None:
    outside: Any = {"lineage": Trust.UNTRUSTED, "review": True}
    ops = [Sprout("a", "x", "X", **outside), Tilt("b", 3, **outside), Tilt("b", 4)]
    done = patch(STATE, ops, [Append("told", **outside), Append("own", lineage=Trust.OWNER)])
    goals = [find_goal(done.state.goals.user, name) for name in ("x", "b")]
    assert [(goal and goal.lineage, goal and goal.review) for goal in goals] == [
        (Trust.UNTRUSTED, True),
        (Trust.UNTRUSTED, True),
    ]
    assert done.state.l1_memory[-2:] == (L1Entry("told", Trust.UNTRUSTED, True), L1Entry("own"))
    assert done.in_review
    assert not patch(STATE, [Prune("gone", **outside)]).in_review


def test_one_goal_changes_by_the_same_rules() -> None:
    assert patch_goal(STATE, Prune("b"))[0] == patch(STATE, [Prune("b")]).state
