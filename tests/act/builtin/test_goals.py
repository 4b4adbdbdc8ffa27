"""Goals are added, weighed and closed on top of the newest state, whoever else saves."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mentis.act.builtin.goals import UpdateGoal
from mentis.library.acts import load_acts
from mentis.settle.patches import patch_goal
from mentis.stores.memory import StatesInMemory
from mentis.values.cognition import USER_ROOT, CognitionState, Goal, GoalTree, L1Entry
from mentis.values.tick import PatchLimits
from mentis.values.trust import Trust

from .calling import do, result

pytestmark = pytest.mark.anyio
WORDS = load_acts()["update_goal"]
HERE = "home/ada"


def tree(goals: tuple[Goal, ...]) -> GoalTree:
    return GoalTree(user=Goal(USER_ROOT, "user goals", children=goals))


class World:
    def __init__(self, states: StatesInMemory | None = None) -> None:
        self.states = states or StatesInMemory()
        self.act = UpdateGoal(WORDS, self.states, patch_goal)

    def goals(self) -> tuple[Goal, ...]:
        return self.states.load(HERE).goals.user.children


async def test_a_goal_is_added_weighed_and_closed() -> None:
    world = World()
    told = result(await do(world.act, {"op": "add", "text": "Learn Polish"}))
    assert world.goals() == (Goal(told["id"], "Learn Polish"),)
    await do(world.act, {"op": "weigh", "id": told["id"], "weight": 250}, key="k2")
    assert world.goals()[0].weight == 250
    assert result(await do(world.act, {"op": "close", "id": told["id"]}, key="k3"))["goals"] == 0
    assert world.states.load(HERE) == CognitionState(revision=3)


async def test_a_goal_can_be_part_of_another() -> None:
    world = World()
    over = result(await do(world.act, {"op": "add", "text": "Travel"}))["id"]
    payload = {"op": "add", "text": "Book a train", "id": over, "weight": 0}
    part = result(await do(world.act, payload, key="k2"))["id"]
    assert world.goals()[0].children == (Goal(part, "Book a train"),)
    await do(world.act, {"op": "weigh", "id": part, "weight": 1}, key="k3")
    assert world.goals()[0].children[0].weight == 1
    await do(world.act, {"op": "close", "id": part}, key="k4")
    assert world.goals()[0].children == ()


async def test_the_same_call_again_changes_nothing() -> None:
    world = World()
    add = {"op": "add", "text": "Learn Polish"}
    goal_id = result(await do(world.act, add))["id"]
    result(await do(world.act, add, attempt=2))
    assert len(world.goals()) == 1
    close = {"op": "close", "id": goal_id}
    await do(world.act, close, key="k2")
    result(await do(world.act, close, key="k2", attempt=2))
    assert world.states.load(HERE).revision == 2


async def test_what_untrusted_text_asks_for_stays_marked() -> None:
    world = World()
    payload = {"op": "add", "text": "Buy coins"}
    goal_id = result(await do(world.act, payload, lineage=Trust.UNTRUSTED))["id"]
    assert world.goals()[0].lineage is Trust.UNTRUSTED
    own = result(await do(world.act, {"op": "add", "text": "Rest"}, key="k2"))["id"]
    weigh = {"op": "weigh", "id": own, "weight": 100}
    await do(world.act, weigh, key="k3", lineage=Trust.UNTRUSTED)
    await do(world.act, {"op": "weigh", "id": goal_id, "weight": 200}, key="k4")
    assert [goal.lineage for goal in world.goals()] == [Trust.UNTRUSTED, Trust.UNTRUSTED]
    assert [goal.review for goal in world.goals()] == [True, True]
    told = [revision.words for revision in world.states.history(HERE)]
    assert told == ["act k1 (review)", "act k2", "act k3 (review)", "act k4"]


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"op": "sprout"},
        {"op": "add", "text": ""},
        {"op": "add", "text": "x" * 501},
        {"op": "add", "text": "x", "weight": -1001},
        {"op": "add", "text": "x", "weight": 0.5},
        {"op": "add", "text": "x", "weight": math.nan},
        {"op": "weigh", "id": "g", "weight": "much"},
    ],
)
async def test_what_is_no_change_is_refused(payload: dict[str, Any]) -> None:
    world = World()
    await do(world.act, payload, fits=False)
    assert world.states.load(HERE).revision == 0


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"op": "add"}, "text: a text is needed, not NoneType"),
        ({"op": "weigh", "weight": 1}, "id: a text is needed, not NoneType"),
        ({"op": "weigh", "id": "g"}, "weight: a number is needed, not NoneType"),
        ({"op": "close", "id": "g"}, "there is no goal 'g'"),
        ({"op": "add", "text": "x", "id": "g"}, "there is no goal 'g' to be under"),
        ({"op": "close", "id": USER_ROOT}, "user-root holds all goals and stays"),
    ],
)
async def test_what_a_change_needs_is_named(payload: dict[str, Any], reason: str) -> None:
    outcome = await do(World().act, payload)
    assert (outcome.state, outcome.reason) == ("invalid", reason)


async def test_there_is_an_end_to_goals() -> None:
    world = World()
    goals = tuple(Goal(f"g{number}", "x") for number in range(PatchLimits().goals))
    state = CognitionState(tree(goals), (L1Entry("l1"),), 1)
    world.states.save(HERE, state, expected=0)
    outcome = await do(world.act, {"op": "add", "text": "one more"})
    assert (outcome.state, world.states.load(HERE).revision) == ("invalid", 1)


class Contested(StatesInMemory):
    """Somebody else saves before us, so many times."""

    def __init__(self, others: int) -> None:
        super().__init__()
        self.others = others

    def save(self, agent: str, state: CognitionState, *, expected: int, words: str = "") -> None:
        if self.others:
            self.others -= 1
            mine = Goal(f"o{self.others}", "other")
            goals = tree((*self.load(agent).goals.user.children, mine))
            super().save(agent, CognitionState(goals, (), expected + 1), expected=expected)
        super().save(agent, state, expected=expected, words=words)


@pytest.mark.parametrize(("others", "state", "goals"), [(7, "done", 8), (8, "unavailable", 8)])
async def test_what_others_save_meanwhile_is_kept(others: int, state: str, goals: int) -> None:
    world = World(Contested(others))
    outcome = await do(world.act, {"op": "add", "text": "mine"})
    assert (outcome.state, len(world.goals())) == (state, goals)
