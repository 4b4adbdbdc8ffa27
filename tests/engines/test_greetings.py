"""Greetings of the packaged model are short and end: measured with the real one."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.clock import FixedClock
from mentis.values.reply import Reply

pytestmark = [pytest.mark.anyio, pytest.mark.model, pytest.mark.slow]
HOURS = (8, 13, 22)
GREETINGS = (
    "Hello!",
    "Hi",
    "Good morning!",
    "Hey, how are you?",
    "Hello Ada!",
    "Hi there, nice to meet you.",
    "Good evening.",
    "How are you today?",
    "What's your name?",
    "Thank you!",
)


async def replies(home: Path) -> list[Reply]:
    """Morning, noon and night: the prompt tells the time, which changes the words."""
    made: list[Reply] = []
    for hour in HOURS:
        clock = FixedClock(datetime(2026, 11, 18, hour, tzinfo=UTC))
        async with Agent.open(home, parts=Parts(clock=clock)) as agent:
            for index, greeting in enumerate(GREETINGS):
                made.append((await agent.chat(greeting, session=f"at{hour}-{index}")).reply)
    return made


def loops(text: str) -> bool:
    """Whether four words come in the same order twice."""
    words = re.findall(r"\w+", text.lower())
    runs = [tuple(words[start : start + 4]) for start in range(len(words) - 3)]
    return len(set(runs)) < len(runs)


async def test_greetings_are_answered_shortly_and_hardly_one_loops(tmp_path: Path) -> None:
    made = await replies(create_home(tmp_path / "home"))
    told = [(len(one.text.split()), one.text) for one in made]
    lengths = sorted(words for words, _ in told)
    assert [one.stop for one in made] == ["end"] * len(made), told
    assert sum(loops(text) for _, text in told) <= 3, told  # untuned: five of thirty
    assert lengths[-1] <= 80, told
    assert sum(words > 60 for words in lengths) <= 2, told
    assert sum(lengths) / len(lengths) <= 25, told
