"""The goals of an agent: one is added, weighed anew or closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from anyio.to_thread import run_sync

from mentis.errors import StoreConflict
from mentis.ports.state_store import StateStore
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.cognition import REVIEW, USER_ROOT, CognitionState, Goal
from mentis.values.digest import digest
from mentis.values.json import JsonObject
from mentis.values.tick import GoalPatchOp, OpReport, PatchLimits, Prune, Sprout, Tilt
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .arguments import Arguments, Unfit
from .kind import BuiltIn, Kind

_LIMITS = PatchLimits()
UPDATE = Kind(
    "update_goal",
    "goal",
    endpoint="goals",
    limits=f"{_LIMITS.goal_chars} characters a goal, {_LIMITS.goals} goals",
)
# One operation on a state, by the rules that a tick keeps to as well.
Change: TypeAlias = Callable[[CognitionState, GoalPatchOp], tuple[CognitionState, OpReport]]
_TRIES = 8
_DONE_BEFORE = ("duplicate-id", "same-weight")  # it is as it was asked for


class UpdateGoal(BuiltIn):
    def __init__(self, words: ToolDeclaration, states: StateStore, change: Change) -> None:
        super().__init__(UPDATE.spec(words))
        self._states = states
        self._apply = change

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        op = _asked(call, given)
        state = await run_sync(self._change, call, op)
        result = {"id": op.id, "goals": _count(state.goals.user) - 1}
        return self._done(call, result, Trust.RUNTIME)

    def _change(self, call: ActCall, op: GoalPatchOp) -> CognitionState:
        """On top of the newest state; if somebody else saved meanwhile, on top of that."""
        for _ in range(_TRIES - 1):
            try:
                return self._once(call, op)
            except StoreConflict:
                continue
        return self._once(call, op)

    def _once(self, call: ActCall, op: GoalPatchOp) -> CognitionState:
        state = self._states.load(call.agent)
        new, report = self._apply(state, op)
        _refuse(call, report)
        if new is not state:
            words = f"act {call.key}" + (REVIEW if op.review else "")
            self._states.save(call.agent, new, expected=state.revision, words=words)
        return new


def _asked(call: ActCall, given: Arguments) -> GoalPatchOp:
    lineage, review = call.lineage, call.lineage is Trust.UNTRUSTED
    match given.choice("op", ("add", "weigh", "close")):
        case "add":
            return Sprout(
                parent=given.text("id", most=100, default=USER_ROOT),
                id=f"g-{digest(call.key.encode())[7:19]}",  # the same call again is the same goal
                text=given.text("text", most=_LIMITS.goal_chars),
                weight=given.whole("weight", -1000, 1000, 0),
                lineage=lineage,
                review=review,
            )
        case "weigh":
            weight = given.whole("weight", -1000, 1000)
            return Tilt(given.text("id", most=100), weight, lineage, review)
        case _:
            return Prune(given.text("id", most=100), lineage, review)


def goal_op_of(payload: JsonObject) -> Prune | Tilt | None:
    """What a call would do to a goal that stands, as far as it says so."""
    op, name, weight = (payload.get(key) for key in ("op", "id", "weight"))
    if not isinstance(name, str):
        return None
    if op == "close":
        return Prune(name)
    return Tilt(name, weight) if op == "weigh" and isinstance(weight, int) else None


def _refuse(call: ActCall, report: OpReport) -> None:
    if report.applied or report.code in _DONE_BEFORE:
        return
    if report.code == "no-goal" and call.attempt > 1:
        return  # it may be gone because the first try closed it
    raise Unfit(report.reason)


def _count(goal: Goal) -> int:
    return 1 + sum(_count(child) for child in goal.children)
