"""A turn that falls back: each route is told what it has room for, and none more than that."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mentis.app.agent import Agent
from mentis.errors import ProviderUnreachable
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
ROUTES = """
[routes.default]
url = "http://127.0.0.1:9/v1"
model = "m"
fallback = ["tiny", "small"]
context_tokens = 60000
[routes.tiny]
url = "http://127.0.0.1:9/v1"
model = "m"
context_tokens = 600
max_tokens = 500
[routes.small]
url = "http://127.0.0.1:9/v1"
model = "m"
context_tokens = 6000
max_tokens = 500
"""


class Failing:
    """A provider whose first route answers twice and is gone then."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if route.name == "default" and len(self.sent) >= 2:
            raise ProviderUnreachable("nobody is there", hint="wait")
        self.sent.append((route.name, len(rendering.body())))
        yield _events()


async def _events() -> AsyncIterator[str]:
    yield json.dumps({"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]})


async def test_a_smaller_fallback_is_told_less_and_one_without_room_is_passed(
    tmp_path: Path,
) -> None:
    home, model = create_home(tmp_path / "home"), Failing()
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(ROUTES)
    async with Agent.open(home, parts=Parts(provider=model)) as agent:
        for _ in range(2):
            await agent.chat("word " * 4000)
        result = await agent.chat("Still there?")
    (name, size) = model.sent[-1]
    assert name == "small"
    assert size < 24_000 < model.sent[1][1]
    told: Any = result.entry.body["route"]
    failures = [(one["route"], one["failure"]) for one in told["after"]]
    assert failures == [("default", "provider-unreachable"), ("tiny", "compose")]
