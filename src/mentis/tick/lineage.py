"""Where what a tick wants to keep came from: goals and memories are judged by the value, like acts.

What stands in text that nobody vouches for, and in no other, is kept all the same, marked, and a
person is asked to look at it, as far as the gate's policy wants that. What would take something
from the owner is not done at all while such text is told: by a sense, or by what is in review.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from mentis.act.gate import judge
from mentis.act.seen import SeenRequest, Told, seen_of
from mentis.settle.goal_patch import every_goal
from mentis.values.act import ActCall, ActSpec, Scope
from mentis.values.action import Action
from mentis.values.cognition import CognitionState, Sense
from mentis.values.json import JsonObject
from mentis.values.tick import (
    Append,
    Catalogue,
    GoalPatchOp,
    Insert,
    MemoryPatchOp,
    Prune,
    Remove,
    RewordedSection,
    Sprout,
    Tilt,
)
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust, least_trusted

from .run import TickRun

_ANYTHING: JsonObject = {"type": "object"}


def _patching(scope: Scope) -> ActSpec:
    return ActSpec(ToolDeclaration(f"patch_{scope}", "", parameters=_ANYTHING), scope=scope)


_GOALS, _MEMORY = _patching("goal"), _patching("memory")


class LineageJudge:
    """Judges the operations of one tick; what was shown is only looked at if there are any."""

    def __init__(self, run: TickRun) -> None:
        self._run = run

    def goal(self, op: GoalPatchOp) -> GoalPatchOp:
        match op:
            case Sprout():
                lineage, review = self._judged({"id": op.id, "text": op.text}, _GOALS)
                return replace(op, lineage=lineage, review=review)
            case Prune() | Tilt():
                lineage, review = self._judged({"id": op.id}, _GOALS)
                return replace(op, lineage=lineage, review=review)

    def memory(self, op: MemoryPatchOp) -> MemoryPatchOp:
        match op:
            case Append() | Insert():
                lineage, review = self._judged({"text": op.text}, _MEMORY)
                return replace(op, lineage=lineage, review=review)
            case Remove():
                return op  # it names nothing but a place

    @cached_property
    def guards_owner(self) -> bool:
        """What the owner put there neither goes nor weighs less while somebody outside is heard,
        now or through what was kept of them: such an operation has no value that could be judged.
        """
        heard = self.outside or self._shows_review
        return heard and self._run.limits.rules.policy != "open"

    @property
    def outside(self) -> bool:
        """Whether text that nobody vouches for is sensed; what is in review may stay for long."""
        return any(sense.trust is Trust.UNTRUSTED for sense in self._run.senses)

    @property
    def _shows_review(self) -> bool:
        state = self._run.state
        kept = (*every_goal(state.goals.user), *state.l1_memory)
        return not self._run.limits.holds_back and any(one.review for one in kept)

    def _judged(self, payload: JsonObject, spec: ActSpec) -> tuple[Trust, bool]:
        call = ActCall(Action(spec.name, payload), key="", mode="beat")
        decision = judge(self._run.limits.rules, call, spec, seen=self._seen)
        tainted = bool(decision.tainted) or decision.review
        return (Trust.UNTRUSTED if tainted else Trust.SELF), decision.review

    @cached_property
    def _seen(self) -> SeenRequest:
        run = self._run
        return seen_of(shown_texts(run.senses, run.catalogue, run.state, run.reworded))


def shown_texts(
    senses: Sequence[Sense],
    catalogue: Catalogue,
    state: CognitionState,
    reworded: Sequence[RewordedSection],
) -> Iterator[Told]:
    """What a primary is shown, piece by piece, each with who vouches for it. Names are as others
    may have put them: they clear nothing.
    """
    for one in catalogue.entries:
        if one.trust is Trust.UNTRUSTED:  # others never clear and never taint
            told = f"{one.endpoint}/{one.name}\n{one.description}\n{_json(one.schema)}"
            yield told, one.trust, f"the {one.kind} {one.name}"
    for sense in senses:
        yield _json(sense.payload), sense.trust, f"the sense {sense.kind}"
        yield sense.kind, least_trusted((Trust.SELF, sense.trust)), "the name of a sense"
        if sense.endpoint:
            yield sense.endpoint, Trust.UNTRUSTED, f"the sense {sense.kind}"
    for text in state.goals.root.texts:
        yield text, Trust.OWNER, "the drives"
    for goal in every_goal(state.goals.user):
        yield goal.text, goal.lineage, f"the goal {goal.id}"
        yield goal.id, least_trusted((Trust.SELF, goal.lineage)), "the id of a goal"
    for entry in state.l1_memory:
        yield entry.text, entry.lineage, "what is held in mind"
    for one in reworded:
        yield one.text, one.trust, f"the words of {one.stage}"


def _json(payload: JsonObject) -> str:
    return json.dumps(payload, ensure_ascii=False, default=str)
