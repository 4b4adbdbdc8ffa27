"""A turn in which the embedded model, which has no native tools, uses one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.act_handler import RecordingHandler
from mentis.values.reply import TextDelta
from mentis.values.tool import ToolDeclaration

WEATHER = ToolDeclaration(
    "get_weather",
    "Tells the weather of a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Rome", "Oslo"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


@pytest.mark.anyio
@pytest.mark.model
async def test_the_embedded_model_uses_a_tool_or_says_something_and_never_shows_json(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    create_home(home)
    handler = RecordingHandler(WEATHER, "Sunny.")
    environ = {
        "MENTIS_ROUTES__DEFAULT__THREADS": "1",
        "MENTIS_ROUTES__DEFAULT__MAX_TOKENS": "120",
        "MENTIS_ROUTES__DEFAULT__TEMPERATURE": "0",
    }
    told: list[str] = []
    async with Agent.open(home, parts=Parts(environ=environ, handlers=(handler,))) as agent:
        async with agent.stream("Use get_weather for Rome.") as answer:
            told += [delta.text async for delta in answer if isinstance(delta, TextDelta)]
        entries = [entry for entry in agent.entries() if entry.kind == "turn"]
    assert len(entries) == 1
    assert "{" not in "".join(told)
    assert handler.handled or told
    for action in [call.action for call in handler.handled]:
        assert (action.type, action.origin) == ("get_weather", "json")
        assert action.payload["city"] in ("Rome", "Oslo")
