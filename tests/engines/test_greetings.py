"""A greeting of the packaged model is short and does not loop: measured with the real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.engines.weights import find_weights
from mentis.home.create import create_home
from mentis.values.reply import Reply

pytestmark = [pytest.mark.anyio, pytest.mark.model, pytest.mark.slow]
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


async def replies(home: Path, route: str) -> list[Reply]:
    async with Agent.open(home, route=route) as agent:
        made = [
            await agent.chat(greeting, session=f"{route}-{index}")
            for index, greeting in enumerate(GREETINGS)
        ]
    return [one.reply for one in made]


def loops(text: str) -> bool:
    """Whether four words come in the same order twice."""
    words = re.findall(r"\w+", text.lower())
    runs = [tuple(words[start : start + 4]) for start in range(len(words) - 3)]
    return len(set(runs)) < len(runs)


async def test_ten_greetings_are_answered_shortly_and_without_a_loop(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    # The file by its path has the same defaults but for what the packaged model is tuned with.
    before = f'before = {{ model = "{find_weights("smollm2-135m").as_posix()}", seed = 7 }}'
    routes = f"[routes]\ndefault = {{ seed = 7 }}\n{before}\n"
    (home / "mentis.toml").write_text(toml.replace("[routes]\n", routes), encoding="utf-8")
    untuned, tuned = await replies(home, "before"), await replies(home, "default")
    figures = {
        name: ([len(reply.text.split()) for reply in made], sum(loops(one.text) for one in made))
        for name, made in (("before", untuned), ("after", tuned))
    }
    lengths, looping = figures["after"]
    assert [reply.stop for reply in tuned] == ["end"] * len(GREETINGS), figures
    assert looping == 0, figures
    assert max(lengths) <= 60, figures
    assert sum(lengths) / len(lengths) <= 25, figures
