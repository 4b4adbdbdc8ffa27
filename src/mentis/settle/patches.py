"""A state and what is to change in it become the next state: goals first, then memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mentis.values.cognition import CognitionState
from mentis.values.tick import GoalPatchOp, MemoryPatchOp, OpReport, PatchLimits
from mentis.values.value import Value

from .goal_patch import apply_goal_ops
from .memory_patch import apply_memory_ops

DEFAULT_LIMITS = PatchLimits()


@dataclass(frozen=True, slots=True)
class PatchedState(Value):
    """`state` is the very same object when nothing changed."""

    state: CognitionState
    goal_ops: tuple[OpReport, ...]
    memory_ops: tuple[OpReport, ...]

    @property
    def in_review(self) -> bool:
        """Whether something was applied that a person should look at."""
        return any(one.applied and one.op.review for one in (*self.goal_ops, *self.memory_ops))


def patch(
    state: CognitionState,
    goal_ops: Iterable[GoalPatchOp] = (),
    memory_ops: Iterable[MemoryPatchOp] = (),
    limits: PatchLimits = DEFAULT_LIMITS,
) -> PatchedState:
    """The revision rises by one if the state is another one afterwards, however many took part."""
    user, goal_reports = apply_goal_ops(state.goals.user, goal_ops, limits)
    entries, memory_reports = apply_memory_ops(state.l1_memory, memory_ops, limits)
    if (user, entries) != (state.goals.user, state.l1_memory):
        goals = replace(state.goals, user=user)
        state = CognitionState(goals, entries, state.revision + 1)
    return PatchedState(state, goal_reports, memory_reports)


def patch_goal(
    state: CognitionState, op: GoalPatchOp, limits: PatchLimits = DEFAULT_LIMITS
) -> tuple[CognitionState, OpReport]:
    """One operation by itself."""
    patched = patch(state, (op,), limits=limits)
    return patched.state, patched.goal_ops[0]
