"""The first part of a tick: three helpers at once make the Input IR of what is given.

A helper that fails, comes too late or says nothing is replaced by the deterministic form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from anyio import create_task_group

from mentis.compose.input_ir import (
    InputIr,
    goal_tree_section,
    looked_through,
    render_catalog,
    render_goals,
    render_memory,
    render_senses,
    waiting_line,
)
from mentis.settle.goal_patch import every_goal
from mentis.values.tick import LeftOut, RewordedSection, Stage, StageReport
from mentis.values.trust import Trust, least_trusted

from .run import TickRun
from .stages import GoalTreeInput, SectionText, SenseInput

_NOTHING = "there is nothing to convert"


async def perceive(run: TickRun) -> InputIr:
    """All sections, in the end always; the reports say which are not what they were to be."""
    texts: dict[Stage, str] = {}
    async with create_task_group() as helpers:
        helpers.start_soon(_senses, run, texts)
        helpers.start_soon(_acts, run, texts)
        helpers.start_soon(_goals, run, texts)
    waiting = _hold_back(run)
    user = waiting_line(waiting["goal_tree"]) + texts["goal_tree_helper"]
    held = render_memory(run.state.l1_memory, holds_back=run.limits.holds_back)
    ir = InputIr(
        texts["sense_helper"],
        texts["act_descriptor_helper"],
        goal_tree_section(run.state.goals.root, user),
        waiting_line(waiting["l1_memory"]) + held,
    )
    run.tell("input_ir_sense", ir.senses)
    run.tell("input_ir_act_descriptor_catalog", ir.act_descriptor_catalog)
    run.tell("input_ir_goal_tree", ir.goal_tree)
    run.tell("input_ir_l1_memory", ir.l1_memory)
    return ir


def _hold_back(run: TickRun) -> Counter[str]:
    """How much of each section waits for its owner; that is in the report, and told as an event."""
    if not run.limits.holds_back:
        return Counter()
    goals = run.state.goals.user
    every, shown = (sum(1 for _ in every_goal(one)) for one in (goals, looked_through(goals)))
    memory = sum(entry.review for entry in run.state.l1_memory)
    found = (
        LeftOut("goal_tree", every - shown, "review"),
        LeftOut("l1_memory", memory, "review"),
    )
    run.left_out = tuple([one for one in found if one.lines])
    for one in run.left_out:
        run.tell("input_ir_cut", section=one.section, lines=one.lines, why=one.why)
    return Counter({one.section: one.lines for one in run.left_out})


async def _senses(run: TickRun, texts: dict[Stage, str]) -> None:
    stage: Stage = "sense_helper"
    raw = partial(render_senses, run.senses, run.catalogue.senses)
    if not run.senses:
        run.skip(stage, _NOTHING)
        texts[stage] = raw()
        return
    given = SenseInput(run.senses, run.catalogue.senses)
    trusts = [*(one.trust for one in given.senses), *(one.trust for one in given.descriptors)]
    work = partial(run.stages.sense_helper, given)
    texts[stage] = await _helped(run, stage, work, _Plain(raw, trusts))


async def _acts(run: TickRun, texts: dict[Stage, str]) -> None:
    stage: Stage = "act_descriptor_helper"
    acts = run.catalogue.acts
    raw = partial(render_catalog, acts)
    if not acts:
        run.skip(stage, _NOTHING)
        texts[stage] = raw()
        return
    work = partial(run.stages.act_descriptor_helper, acts)
    texts[stage] = await _helped(run, stage, work, _Plain(raw, [one.trust for one in acts]))


async def _goals(run: TickRun, texts: dict[Stage, str]) -> None:
    """The helper is never shown the drives; they are put before its text as they are."""
    stage: Stage = "goal_tree_helper"
    tree = run.state.goals
    user = looked_through(tree.user) if run.limits.holds_back else tree.user
    raw = partial(render_goals, user)
    if not user.children:
        run.skip(stage, _NOTHING)
        texts[stage] = raw()
        return
    given = GoalTreeInput(user, tree.root.texts)
    work = partial(run.stages.goal_tree_helper, given)
    trusts = [goal.lineage for goal in every_goal(user)]
    texts[stage] = await _helped(run, stage, work, _Plain(raw, trusts))


@dataclass(frozen=True, slots=True)
class _Plain:
    """What a section is made from: its deterministic form, and who vouches for each part."""

    text: Callable[[], str]
    trusts: Sequence[Trust]


async def _helped(
    run: TickRun, stage: Stage, work: Callable[[], Awaitable[SectionText]], plain: _Plain
) -> str:
    found = await run.guard(stage, run.deadline.input(stage), work)
    if isinstance(found, StageReport):
        run.fail(found)
        run.reports[stage] = replace(found, state="fallback", reason=_why(found))
        return plain.text()
    if not found.text.strip():
        run.reports[stage] = StageReport(stage, "fallback", "it said nothing", found.route)
        return plain.text()
    run.finish(stage, found.way, found.route)
    if found.way in ("model", "cached"):
        trust = least_trusted((Trust.SELF, *plain.trusts))
        run.reworded.append(RewordedSection(stage, found.text, trust))
    return found.text


def _why(report: StageReport) -> str:
    return f"timeout: {report.reason}" if report.state == "timeout" else report.reason
