"""The end of a tick: drafts are held against the catalogue, patches applied, all of it told.

Drafts that come to nothing are not lost: the agent senses them in the next tick.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from mentis.act.builtin.goals import UPDATE, goal_op_of
from mentis.act.payloads import fault_in
from mentis.codec.forms import to_object
from mentis.errors import BadInput, MentisError
from mentis.settle.goal_patch import UNSEEN, takes_from_owner
from mentis.settle.patches import patch
from mentis.values.cognition import Sense
from mentis.values.tick import (
    DRAFT_DROPPED,
    ActDraft,
    Descriptor,
    DisplacedEntry,
    DroppedElement,
    OpReport,
    Section,
    SignalKey,
    Stage,
    StageReport,
    Tick,
    TickReport,
)
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.value import Value
from mentis.values.written import dump

from .events import EventName, silent
from .expand import expand_senses
from .lineage import LineageJudge
from .output import TickOutput
from .run import TickRun
from .think import FAULT

_ORDER: tuple[Stage, ...] = get_args(Stage)
_NO_ACTS = "acts_helper_empty"
_SHOWN = 400
_GOALS: Section = "goal-tree-patch"
_MEMORY: Section = "l1-memory-patch"


def conclude(run: TickRun, output: TickOutput) -> Tick:
    known = {entry.key: entry for entry in run.catalogue.entries if entry.kind == "act"}
    marking = LineageJudge(run)
    checked = _checked(run, output.acts, known)
    acts = expand_senses(run, tuple(_sparing(run, checked) if marking.guards_owner else checked))
    patched = patch(
        run.state,
        [marking.goal(op) for op in output.goal_ops],
        [marking.memory(op) for op in output.memory_ops],
        replace(run.limits.patches, guards_owner=marking.guards_owner),
    )
    _tell(run, "output_ir_acts", output.bodies.get("acts"), output.acts)
    _tell(run, "output_ir_goal_tree_patch", output.bodies.get("goal-tree-patch"), output.goal_ops)
    _tell(run, "output_ir_l1_memory_patch", output.bodies.get("l1-memory-patch"), output.memory_ops)
    for one in displaced(patched.memory_ops):
        run.tell("memory_made_room", one.text, name=one.name, lineage=one.lineage.value)
    if not acts:
        run.tell("noop_fallback", reason=_NO_ACTS)
    report = _report(run, goal_ops=patched.goal_ops, memory_ops=patched.memory_ops)
    senses = dropped_senses(run.dropped, run.state.revision)
    held = (*_held(run, _GOALS, patched.goal_ops), *_held(run, _MEMORY, patched.memory_ops))
    told = (*_anew(run, (*senses, *held), marking), *run.expanded, *_later(run))
    return _returned(run, Tick(acts, patched.state, report, told, tuple(run.reworded)))


def conclude_with_nothing(run: TickRun, *, fault: Exception | None = None) -> Tick:
    """Nothing came of it: the very state that was given, and why."""
    if fault is not None:
        told = f"{fault.code}: {fault.message}" if isinstance(fault, MentisError) else repr(fault)
        run.fail(StageReport("primary", "failed", f"nothing can be made of it: {told[:_SHOWN]}"))
        run.noop = FAULT
    run.tell("noop_fallback", reason=run.noop)
    return _returned(run, Tick((), run.state, _report(run), _later(run)))


def _later(run: TickRun) -> tuple[Sense, ...]:
    """Senses that there was no room for: the next tick has them."""
    return run.senses[-run.unseen :] if run.unseen else ()


def _returned(run: TickRun, tick: Tick) -> Tick:
    _tell(run, "final_returned_acts", None, tick.acts)
    changed = tick.state.revision != run.state.revision
    run.tell("tick_completed", acts=len(tick.acts), revision=tick.state.revision, changed=changed)
    return tick


def _report(
    run: TickRun, *, goal_ops: tuple[OpReport, ...] = (), memory_ops: tuple[OpReport, ...] = ()
) -> TickReport:
    return TickReport(
        stages=tuple([run.reports[stage] for stage in _ORDER if stage in run.reports]),
        violations=run.violations,
        dropped=tuple(run.dropped),
        goal_ops=goal_ops,
        memory_ops=memory_ops,
        noop=run.noop,
        catalogue=run.catalogue.version,
        left_out=run.left_out,
    )


def displaced(reports: Sequence[OpReport]) -> tuple[DisplacedEntry, ...]:
    """Entries that went because the memory was full."""
    return tuple([one.displaced for one in reports if one.displaced is not None])


# Drafts


def _checked(
    run: TickRun, drafts: Sequence[ActDraft], known: Mapping[SignalKey, Descriptor]
) -> Iterator[ActDraft]:
    """Those that the catalogue has, with a payload that fits; the others are noted."""
    for index, draft in enumerate(drafts):
        descriptor = known.get(("act", draft.endpoint, draft.name))
        if descriptor is None:
            place = f"{draft.endpoint}/{draft.name}"
            reason = f"the catalogue has no act {place[:200]!r}"
            run.dropped.append(DroppedElement("acts", index, "unknown-act", reason, _raw(draft)))
        elif reason := _fault(draft, descriptor):
            run.dropped.append(DroppedElement("acts", index, "payload", reason, _raw(draft)))
        else:
            yield draft


def _sparing(run: TickRun, drafts: Iterable[ActDraft]) -> Iterator[ActDraft]:
    """Without acts that would do to a goal what a patch may not do now."""
    own = UPDATE.place, UPDATE.name
    for index, draft in enumerate(drafts):
        op = goal_op_of(draft.payload) if (draft.endpoint, draft.name) == own else None
        if op is not None and takes_from_owner(run.state.goals.user, op):
            run.dropped.append(DroppedElement("acts", index, "review", UNSEEN))
        else:
            yield draft


def _fault(draft: ActDraft, descriptor: Descriptor) -> str:
    try:
        return fault_in(
            draft.payload, ToolDeclaration(descriptor.name, "", parameters=descriptor.schema)
        )
    except BadInput as error:
        return error.message


def _raw(draft: ActDraft) -> str:
    written = dump(to_object(draft)).decode(errors="replace")
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"


def dropped_senses(dropped: Sequence[DroppedElement], revision: int) -> Iterator[Sense]:
    """What came to nothing, as the next tick is told it. The reason may repeat outside text, but
    for that of a review, which is always the same.
    """
    for number, one in enumerate(dropped):
        payload: dict[str, object] = {
            "section": one.section,
            "index": one.index,
            "code": one.code,
            "reason": one.reason,
        }
        payload |= {"raw": one.raw} if one.raw else {}
        name = f"{DRAFT_DROPPED}:{revision}:{one.section}:{one.index}:{number}"
        trust = Trust.SELF if one.code == "review" else Trust.UNTRUSTED
        yield Sense(name, DRAFT_DROPPED, payload, trust)


def _held(run: TickRun, section: Section, reports: Sequence[OpReport]) -> Iterator[Sense]:
    """What was not done because outside text was heard. Without names: they may be from there."""
    for index, one in enumerate(reports):
        if one.code == "review":
            payload = {
                "section": section,
                "index": index,
                "op": one.op.op,
                "code": one.code,
                "reason": one.reason,
            }
            name = f"{DRAFT_DROPPED}:{run.state.revision}:{section}:{index}:review"
            yield Sense(name, DRAFT_DROPPED, payload, Trust.SELF)


def _anew(run: TickRun, senses: Sequence[Sense], marking: LineageJudge) -> Iterator[Sense]:
    """What is in review waits for a person: an agent that was just told so and tries again is not
    told at once, or the two would go on for as long.
    """
    known = not marking.outside and any(map(_of_review, run.senses))
    return (one for one in senses if not (known and _of_review(one)))


def _of_review(sense: Sense) -> bool:
    return sense.kind == DRAFT_DROPPED and sense.payload.get("code") == "review"


def _tell(run: TickRun, event: EventName, body: str | None, items: Sequence[Value]) -> None:
    """The section as it was written; by tool calls, what they came to."""
    if run.emit is not silent:
        made = [to_object(item) for item in items]
        run.tell(event, body if body is not None else json.dumps(made, ensure_ascii=False))
