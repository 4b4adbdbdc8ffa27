"""What is told of a long conversation moves in steps, everywhere a prompt of it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.compose.history import LEFT_BEHIND
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.screener import ListedScreener
from mentis.values.value import Value

pytestmark = pytest.mark.anyio
ROUTE = """
[routes.default]
backend = "scripted"
model = "none"
[recall]
embedder = "off"
[conversations]
history_tokens = 400
"""
TURNS = 40


def opened(home: Path) -> Agent:
    parts = Parts(
        provider=ScriptedProvider([f"Answer {n}." for n in range(TURNS + 10)]),
        screener=ListedScreener({}),
        secret=b"s" * 32,
    )
    return Agent.open(home, parts=parts)


def told(made: Value) -> tuple[str, ...]:
    return tuple(turn.text for turn in made.request.conversation_history)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType, reportUnknownArgumentType]  # a composition


async def test_a_long_talk_begins_as_before_in_most_turns_wherever_it_is_composed(
    tmp_path: Path,
) -> None:
    home = create_home(tmp_path / "home")
    with (home / "mentis.toml").open("a") as file:
        file.write(ROUTE)
    async with opened(home) as agent:
        previews, results = list[tuple[str, ...]](), list[tuple[str, ...]]()
        last = None
        for number in range(TURNS):
            question = f"Question {number}: " + "what grows in the shade? " * (number % 3)
            previews.append(told(agent.compose(question)))
            last = await agent.chat(question)
            results.append(told(last.composed))
        assert last is not None
        assert previews == results
        moves = [
            number
            for number in range(1, TURNS)
            if results[number][: len(results[number - 1])] != results[number - 1]
        ]
        assert 1 <= len(moves) <= TURNS // 4
        cuts = last.composed.trace.cuts
        assert all(cut.reason.startswith(LEFT_BEHIND) for cut in cuts)
        together = int(cuts[0].what.removeprefix("turns 1 to "))
        assert together + len(cuts[1:]) + len(results[-1]) == 2 * (TURNS - 1)
        again = await agent.regenerate()
        assert told(again.composed) == results[-1]
        await agent.branch(2 * TURNS - 1, session="main", to="other")
        assert told(agent.compose("And?", session="other"))[: len(results[-1])] == results[-1]
    toml = (home / "mentis.toml").read_text()
    (home / "mentis.toml").write_text(toml.replace("history_tokens = 400", "history_tokens = 0"))
    async with opened(home) as agent:
        replayed = agent.replay(last.entry.index)
        assert replayed.identical
        assert replayed.rendering.body() == last.rendering.body()
        assert len(told(agent.compose("And?"))) == 2 * TURNS
