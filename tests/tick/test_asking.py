"""Stages that ask at once share one budget."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from anyio import Event, fail_after

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.tick.events import TickEvent
from mentis.values.cognition import Sense
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
BUDGET = 900  # of tokens: one helper has room in it, two have not
TOML = f"""
[routes.default]
backend = "scripted"
replies = ["x"]
facts = {{native_tools = false}}
[routes.helper]
backend = "scripted"
replies = ["x"]
facts = {{native_tools = false}}
max_tokens = 50
[budgets]
turn_tokens = {BUDGET}
"""


class Waiting(ScriptedProvider):
    """Holds back every answer until a second call was made, or refused."""

    def __init__(self) -> None:
        super().__init__(["helped"])
        self.second = Event()

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering)
        if len(self.sent) > 1:
            self.second.set()
        await self.second.wait()
        async with ScriptedProvider(["helped"]).open(rendering, route) as events:
            yield events

    def hear(self, event: TickEvent) -> None:
        if event.event == "stage_failed":
            self.second.set()


@act
def note(text: str) -> str:
    """Note something."""
    return text


async def test_helpers_that_ask_at_once_do_not_overrun_the_budget(tmp_path: Path) -> None:
    home, provider = create_home(tmp_path / "home"), Waiting()
    plain = (home / "mentis.toml").read_text(encoding="utf-8").replace("[routes]", "")
    (home / "mentis.toml").write_text(plain + TOML, encoding="utf-8")
    async with Agent.open(home, parts=Parts(provider=provider, handlers=(note,))) as agent:
        with fail_after(20):
            done = await agent.tick([Sense("a", "input", {"text": "x"})], emit=provider.hear)
    assert done.entry is not None
    calls = cast("list[Mapping[str, Mapping[str, int]]]", done.entry.body["calls"])
    assert sum(one["planned"]["input"] + one["planned"]["output"] for one in calls) <= BUDGET
    states = {one.stage: (one.state, one.reason[:14]) for one in done.tick.report.stages}
    helpers = {states["sense_helper"], states["act_descriptor_helper"]}
    assert helpers == {("model", ""), ("fallback", "budget-reached")}
