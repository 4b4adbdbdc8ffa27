"""The goals of an agent: one is added, weighed anew or closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from anyio.to_thread import run_sync

from mentis.errors import StoreConflict
from mentis.ports.state_store import StateStore
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.cognition import CognitionState, Goal
from mentis.values.digest import digest
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust, least_trusted

from .arguments import Arguments, Unfit
from .kind import BuiltIn, Kind

MOST_GOALS = 200
UPDATE = Kind(
    "update_goal",
    "goal",
    endpoint="goals",
    limits=f"500 characters a goal, {MOST_GOALS} goals",
)
_TRIES = 8
_Goals: TypeAlias = tuple[Goal, ...]
_Change: TypeAlias = Callable[[_Goals], _Goals]


class UpdateGoal(BuiltIn):
    def __init__(self, words: ToolDeclaration, states: StateStore) -> None:
        super().__init__(UPDATE.spec(words))
        self._states = states

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        goal_id, change = _asked(call, given)
        goals = await run_sync(self._change, call.agent, change)
        result = {"id": goal_id, "goals": _count(goals)}
        return self._done(call, result, Trust.RUNTIME)

    def _change(self, agent: str, change: _Change) -> _Goals:
        """On top of the newest state; if somebody else saved meanwhile, on top of that."""
        for _ in range(_TRIES - 1):
            try:
                return self._once(agent, change)
            except StoreConflict:
                continue
        return self._once(agent, change)

    def _once(self, agent: str, change: _Change) -> _Goals:
        state = self._states.load(agent)
        goals = change(state.goals)
        if goals != state.goals:
            new = CognitionState(goals, state.l1_memory, state.revision + 1)
            self._states.save(agent, new, expected=state.revision)
        return goals


def _asked(call: ActCall, given: Arguments) -> tuple[str, _Change]:
    """The id of the goal that is meant, and what becomes of the goals."""
    match given.choice("op", ("add", "weigh", "close")):
        case "add":
            return _add(call, given)
        case "weigh":
            weight = given.number("weight", 0, 1)
            lineage = call.lineage
            return _on_one(call, given, lambda goal: (_weighed(goal, weight, lineage),))
        case _:
            return _on_one(call, given, lambda _: ())


def _add(call: ActCall, given: Arguments) -> tuple[str, _Change]:
    goal = Goal(
        id=f"g-{digest(call.key.encode())[7:19]}",  # the same call again is the same goal
        text=given.text("text", most=500),
        weight=float(given.number("weight", 0, 1, 1.0)),
        lineage=least_trusted((Trust.SELF, call.lineage)),
    )
    parent = given.text("id", most=100, default="")

    def change(goals: _Goals) -> _Goals:
        if _find(goals, goal.id):
            return goals
        if _count(goals) >= MOST_GOALS:
            raise Unfit(f"there are {MOST_GOALS} goals already: close one first")
        if not parent:
            return (*goals, goal)
        _must_have(goals, parent)
        return _replaced(goals, parent, lambda over: (_over(over, goal),))

    return goal.id, change


def _on_one(
    call: ActCall, given: Arguments, change: Callable[[Goal], _Goals]
) -> tuple[str, _Change]:
    goal_id = given.text("id", most=100)

    def whole(goals: _Goals) -> _Goals:
        if call.attempt == 1:  # later the goal may be gone because the first try closed it
            _must_have(goals, goal_id)
        return _replaced(goals, goal_id, change)

    return goal_id, whole


def _over(goal: Goal, child: Goal) -> Goal:
    return replace(goal, children=(*goal.children, child))


def _weighed(goal: Goal, weight: float, lineage: Trust) -> Goal:
    return replace(goal, weight=float(weight), lineage=least_trusted((goal.lineage, lineage)))


def _replaced(goals: _Goals, goal_id: str, change: Callable[[Goal], _Goals]) -> _Goals:
    made: list[Goal] = []
    for goal in goals:
        if goal.id == goal_id:
            made.extend(change(goal))
        else:
            made.append(replace(goal, children=_replaced(goal.children, goal_id, change)))
    return tuple(made)


def _find(goals: _Goals, goal_id: str) -> bool:
    return any(goal.id == goal_id or _find(goal.children, goal_id) for goal in goals)


def _must_have(goals: _Goals, goal_id: str) -> None:
    if not _find(goals, goal_id):
        raise Unfit(f"id: there is no goal {goal_id!r}")


def _count(goals: _Goals) -> int:
    return sum(1 + _count(goal.children) for goal in goals)
