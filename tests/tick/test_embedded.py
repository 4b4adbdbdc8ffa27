"""The embedded model as each of the six helpers of a tick.

That it can act and remember as the primary: `tests/loop/test_embedded.py`, and all twenty
tasks with `python tests/tick/embedded_tasks.py`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.tick.asking import TickAsker
from mentis.tick.cache import HelperCache
from mentis.tick.run import TickLimits
from mentis.tick.tick import tick
from mentis.tick.wire_up import StageBuilder
from mentis.values.tick import Catalogue

from .injected import KNOCKED, READ, STATE, answering, said

pytestmark = [pytest.mark.anyio, pytest.mark.model]
VAGUE = (
    "<output-ir><acts>read notes.txt</acts><goal-tree-patch>g1 counts more</goal-tree-patch>"
    "<l1-memory-patch>the door is open</l1-memory-patch></output-ir>"
)
SHORT = ("SENSE_HELPER", "ACT_DESCRIPTOR_HELPER", "GOAL_TREE_HELPER")  # a few words do
HELPED = {
    f"MENTIS_ROUTES__{name}__{key}": value
    for name in ("HELPER", *SHORT)
    for key, value in (
        ("BACKEND", "embedded"),
        ("THREADS", "1"),
        ("TEMPERATURE", "0"),
        ("MAX_TOKENS", "2" if name in SHORT else "104"),
    )
}


@pytest.mark.slow
async def test_each_helper_runs_on_the_embedded_model_and_two_are_cached(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    async with Agent.open(home, parts=Parts(environ={**os.environ, **HELPED})) as agent:
        agent_parts = agent._parts  # pyright: ignore[reportPrivateUsage]  # the stages as they are wired
        present, cache = agent_parts.look(), HelperCache(agent_parts.who.secret)
        asking = TickAsker(agent_parts.who, agent_parts.record, agent_parts.models, present)
        desk = StageBuilder(agent_parts.who, agent_parts.models, present.settings, asking, cache)
        catalogue, limits = Catalogue("v", (READ,)), TickLimits(seconds=600)
        vague = replace(desk.stages(), primary=answering(VAGUE))
        first = await tick([KNOCKED], catalogue, STATE, stages=vague, limits=limits)
        quiet = replace(desk.stages(), primary=said())
        second = await tick([], catalogue, STATE, stages=quiet, limits=limits)
    ways = {one.stage: one.state for one in first.report.stages}
    assert ways.pop("primary") == "model"
    assert ways == dict.fromkeys(ways, "model"), first.report
    assert len(ways) == 6
    again = {one.stage: one.state for one in second.report.stages}
    assert again["act_descriptor_helper"] == again["goal_tree_helper"] == "cached"
    assert (cache.hits, cache.misses) == (2, 2)
