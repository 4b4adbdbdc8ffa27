"""Changes of the goals, one operation after the other. The root partition is out of reach here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias, assert_never

from mentis.values.cognition import USER_ROOT, Goal, L1Entry
from mentis.values.tick import GoalPatchOp, OpReport, PatchLimits, Prune, Sprout, Tilt
from mentis.values.trust import Trust, least_trusted

HEAVIEST = 1000
UNSEEN = (
    "outside text was told, sensed or in review: what the owner put there may go, or weigh less, in"
    " a moment without any"
)
_LONGEST_ID = 100
_Goals: TypeAlias = tuple[Goal, ...]


def apply_goal_ops(
    user: Goal, ops: Iterable[GoalPatchOp], limits: PatchLimits
) -> tuple[Goal, tuple[OpReport, ...]]:
    """Each on what the one before it left."""
    reports: list[OpReport] = []
    for op in ops:
        user, report = apply_goal_op(user, op, limits)
        reports.append(report)
    return user, tuple(reports)


def apply_goal_op(user: Goal, op: GoalPatchOp, limits: PatchLimits) -> tuple[Goal, OpReport]:
    match op:
        case Sprout():
            return _sprout(user, op, limits)
        case Prune():
            changed = _prune(user, op)
        case Tilt():
            changed = _tilt(user, op)
        case _:
            assert_never(op)
    if limits.guards_owner and changed[1].applied and takes_from_owner(user, op):
        return user, OpReport(replace(op, review=True), False, UNSEEN, "review")
    return changed


def _sprout(user: Goal, op: Sprout, limits: PatchLimits) -> tuple[Goal, OpReport]:
    known = {goal.id for goal in every_goal(user)}
    refusal = _unfit(op, limits)
    if refusal is not None:
        return user, refusal
    if op.id in known:
        return user, OpReport(op, False, f"there is a goal {op.id!r} already", "duplicate-id")
    if op.parent not in known:
        return user, OpReport(op, False, f"there is no goal {op.parent!r} to be under", "no-parent")
    if len(known) > limits.goals:  # the fixed root does not count
        return user, OpReport(op, False, f"there are {limits.goals} goals already", "full")
    if _depth((user,), op.parent) >= limits.goal_depth:
        reason = f"goals stand at most {limits.goal_depth} below each other"
        return user, OpReport(op, False, reason, "too-deep")
    weight, report = _weighed(op, op.weight)
    lineage = least_trusted((Trust.SELF, op.lineage))
    goal = Goal(op.id, op.text, weight, lineage=lineage, review=op.review)
    grown = _replaced((user,), op.parent, lambda over: (_over(over, goal),))
    return grown[0], report


def _unfit(op: Sprout, limits: PatchLimits) -> OpReport | None:
    if not op.text.strip():
        return OpReport(op, False, "a goal needs words", "blank")
    if len(op.text) > limits.goal_chars:
        reason = f"a goal has at most {limits.goal_chars} characters, this one {len(op.text)}"
        return OpReport(op, False, reason, "too-long")
    if not op.id or len(op.id) > _LONGEST_ID or not op.id.isprintable() or " " in op.id:
        reason = f"an id is 1 to {_LONGEST_ID} characters that can be seen, without blanks"
        return OpReport(op, False, reason, "bad-id")
    return None


def _prune(user: Goal, op: Prune) -> tuple[Goal, OpReport]:
    if op.id == USER_ROOT:
        return user, OpReport(op, False, f"{USER_ROOT} holds all goals and stays", "fixed-root")
    left = _replaced((user,), op.id, lambda _: ())[0]
    if left is user:
        return user, _no_goal(op, op.id)
    return left, OpReport(op, True)


def _tilt(user: Goal, op: Tilt) -> tuple[Goal, OpReport]:
    goal = find_goal(user, op.id)
    if goal is None:
        return user, _no_goal(op, op.id)
    weight, report = _weighed(op, op.weight)
    if goal.weight == weight:
        return user, OpReport(op, False, f"it weighs {weight} already", "same-weight")
    tilted = replace(
        goal,
        weight=weight,
        lineage=goal.lineage if is_owners(goal) else least_trusted((goal.lineage, op.lineage)),
        review=goal.review or op.review,
    )
    return _replaced((user,), op.id, lambda _: (tilted,))[0], report


def takes_from_owner(user: Goal, op: Prune | Tilt) -> bool:
    """Whether a goal of the owner would go, or weigh less."""
    goal = find_goal(user, op.id)
    if goal is None:
        return False
    if isinstance(op, Tilt):
        return is_owners(goal) and op.weight < goal.weight
    return any(map(is_owners, every_goal(goal)))


def is_owners(one: Goal | L1Entry) -> bool:
    """Whether the owner put it there, or vouched for it."""
    return one.lineage.rank <= Trust.OWNER.rank


def _no_goal(op: GoalPatchOp, goal_id: str) -> OpReport:
    return OpReport(op, False, f"there is no goal {goal_id!r}", "no-goal")


def _weighed(op: GoalPatchOp, weight: int) -> tuple[int, OpReport]:
    held = max(-HEAVIEST, min(HEAVIEST, weight))
    if held == weight:
        return held, OpReport(op, True)
    return held, OpReport(op, True, f"weights end at {held}", "clamped")


def every_goal(goal: Goal) -> Iterator[Goal]:
    """The goal and all below it, parents first."""
    waiting = [goal]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(one.children))


def find_goal(user: Goal, goal_id: str) -> Goal | None:
    return next((goal for goal in every_goal(user) if goal.id == goal_id), None)


def _depth(goals: _Goals, goal_id: str) -> int:
    """How far below the fixed root the goal stands; it is known to be there."""
    depth = 0
    while all(goal.id != goal_id for goal in goals):
        goals = tuple([child for goal in goals for child in goal.children])
        depth += 1
    return depth


def _over(goal: Goal, child: Goal) -> Goal:
    return replace(goal, children=(*goal.children, child))


def _replaced(goals: _Goals, goal_id: str, change: Callable[[Goal], _Goals]) -> _Goals:
    """The same objects wherever nothing changes."""
    for at, goal in enumerate(goals):
        if goal.id == goal_id:
            return (*goals[:at], *change(goal), *goals[at + 1 :])
        below = _replaced(goal.children, goal_id, change)
        if below is not goal.children:
            return (*goals[:at], replace(goal, children=below), *goals[at + 1 :])
    return goals
