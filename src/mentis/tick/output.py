"""The last part of a tick that may be a model: three helpers at once make data of the sections.

A helper that fails or comes too late leaves its own section empty, and no other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from anyio import create_task_group

from mentis.values.tick import ActDraft, GoalPatchOp, MemoryPatchOp, Section, Stage, StageReport

from .run import TickRun
from .stages import Intent, PrimaryDrafts, SectionItems
from .think import PrimaryDecision

T = TypeVar("T")


@dataclass(slots=True)
class TickOutput:
    """What the sections came to, before anything of it is held against the catalogue."""

    acts: tuple[ActDraft, ...] = ()
    goal_ops: tuple[GoalPatchOp, ...] = ()
    memory_ops: tuple[MemoryPatchOp, ...] = ()
    bodies: dict[Section, str] = field(default_factory=dict[Section, str])


async def read_output(run: TickRun, decided: PrimaryDecision) -> TickOutput:
    if decided.drafts is not None:
        return _called(run, decided.drafts)
    output, stages, state = decided.output, run.stages, run.state
    made = TickOutput(bodies={name: output.body(name) or "" for name in _SECTIONS})
    intent = partial(Intent, output=output, text=decided.text)

    async def acts() -> None:
        given = intent(made.bodies["acts"])
        work = partial(stages.acts_helper, given, run.catalogue)
        made.acts = await _helped(run, "acts_helper", given, work)

    async def goals() -> None:
        given = intent(made.bodies["goal-tree-patch"])
        work = partial(stages.goal_tree_patch_helper, given, state.goals.user)
        made.goal_ops = await _helped(run, "goal_tree_patch_helper", given, work)

    async def memory() -> None:
        given = intent(made.bodies["l1-memory-patch"])
        work = partial(stages.l1_memory_patch_helper, given, state.l1_memory)
        made.memory_ops = await _helped(run, "l1_memory_patch_helper", given, work)

    async with create_task_group() as helpers:
        helpers.start_soon(acts)
        helpers.start_soon(goals)
        helpers.start_soon(memory)
    return made


_SECTIONS: tuple[Section, ...] = ("acts", "goal-tree-patch", "l1-memory-patch")
_STAGES: tuple[Stage, ...] = ("acts_helper", "goal_tree_patch_helper", "l1_memory_patch_helper")


def _called(run: TickRun, drafts: PrimaryDrafts) -> TickOutput:
    for stage in _STAGES:
        run.skip(stage, "the primary made tool calls")
    run.dropped.extend(drafts.dropped)
    return TickOutput(drafts.acts, drafts.goal_ops, drafts.memory_ops)


async def _helped(
    run: TickRun, stage: Stage, intent: Intent, work: Callable[[], Awaitable[SectionItems[T]]]
) -> tuple[T, ...]:
    if not intent.body.strip():
        run.skip(stage, "its section is empty")
        return ()
    found = await run.guard(stage, run.deadline.output(stage), work)
    if isinstance(found, StageReport):
        run.fail(found)
        return ()
    run.finish(stage, found.way, found.route)
    run.dropped.extend(found.dropped)
    return found.items
