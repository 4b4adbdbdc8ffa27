"""Agents that use agents: what is told, recorded, trusted and paid for, and where it ends."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from mentis import Agent, Entry, Parts, Stimulus, Trust, create_home
from mentis.app.agent import Tool
from mentis.surfaces.cli.main import cli
from mentis.tools.acts import open_acts
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, TextDelta
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
USED: object = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


class Script:
    """Says the answers one after the other; a tuple is a call. It keeps what it was sent."""

    def __init__(self, *answers: str | tuple[str, dict[str, str]]) -> None:
        self._answers = list(answers)
        self.sent: list[dict[str, Any]] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(json.loads(rendering.body()))
        yield self._play(self._answers.pop(0))

    async def _play(self, answer: str | tuple[str, dict[str, str]]) -> AsyncIterator[str]:
        if isinstance(answer, str):
            delta: object = {"content": answer}
        else:
            function = {"name": answer[0], "arguments": json.dumps(answer[1])}
            call = {"index": 0, "id": f"c{len(self.sent)}", "function": function}
            delta = {"tool_calls": [call]}
        yield json.dumps({"choices": [{"delta": delta, "finish_reason": "stop"}]})
        yield json.dumps(USED)

    def last(self, number: int) -> str:
        return json.dumps(self.sent[number]["messages"][-1], ensure_ascii=False)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Agent]:
    def open_agent(name: str, provider: Script, *tools: Tool, **settings: str) -> Agent:
        home = tmp_path / name
        if not home.exists():
            create_home(home)
            with (home / "mentis.toml").open("a", encoding="utf-8") as file:
                file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
                file.write('max_tokens = 1000\n[recall]\nembedder = "off"\n')
        chosen = {f"MENTIS_{key.upper()}": value for key, value in settings.items()}
        parts = Parts(environ={**os.environ, **chosen})
        return Agent.open(home, tools=tools, provider=provider, parts=parts)

    return open_agent


def told(entry: Entry, field: str) -> dict[str, Any]:
    return cast("dict[str, Any]", entry.body[field])


def expert(agent: Agent, name: str = "ask_expert") -> Tool:
    return agent.as_tool(name=name, description="Asks somebody who knows about gardens.")


ASK = ("ask_expert", {"message": "When do roses bloom?"})


async def test_an_agent_is_asked_in_one_turn_and_the_entries_name_each_other(
    opened: Callable[..., Agent], tmp_path: Path
) -> None:
    outer_model, inner_model = Script(ASK, "In June, I was told."), Script("In June.")
    async with (
        opened("inner", inner_model) as inner,
        opened("outer", outer_model, expert(inner)) as outer,
    ):
        result = await outer.chat("When do my roses bloom?")
        (asked,) = inner.entries()
        assert (outer.verify().findings, inner.verify().findings) == ((), ())
        (session,) = [one.name for one in inner.sessions()]
    assert (result.text, result.stop) == ("In June, I was told.", "answer")
    assert "When do roses bloom?" in inner_model.last(0)
    assert "In June." in outer_model.last(1)
    (outcome,) = result.outcomes
    assert told(asked, "turn")["caller"] == {
        "agent": "outer/ada",
        "session": "main",
        "act": outcome.key,
        "depth": 1,
    }
    assert session == f"act-{outcome.key.lower()}"
    assert outcome.turn is not None
    assert (outcome.turn.agent, outcome.turn.entry) == ("inner/ada", asked.index)
    assert outcome.turn.hash == asked.hash
    (inner_result,) = result.inner
    assert (inner_result.text, inner_result.entry) == ("In June.", asked)
    with open_acts(tmp_path / "outer") as acts:
        (story,) = acts.log()
    assert story.turn == outcome.turn
    shown = {
        name: CliRunner().invoke(cli, [*words, "--home", str(tmp_path / name)])
        for name, words in {
            "outer": ["sessions", "show", "main"],
            "inner": ["sessions", "show", session],
        }.items()
    }
    asks = f"act {outcome.key} asked inner/ada, session {session}, entry 0"
    assert asks in " ".join(shown["outer"].output.split())
    is_asked = f"turn 0 was asked for by outer/ada, session main, act {outcome.key}"
    assert is_asked in " ".join(shown["inner"].output.split())
    async with Agent.open(tmp_path / "inner") as inner, Agent.open(tmp_path / "outer") as outer:
        steps = "the turn has 2 steps; this is step 2"
        assert outer.replay(result.entry.index, step=2).notes == (steps, asks)
        assert inner.replay(asked.index).notes == (is_asked,)


async def test_what_is_asked_after_untrusted_text_is_a_guests_message(
    opened: Callable[..., Agent],
) -> None:
    outer_model = Script(ASK, "June.", ASK, "June.")
    async with (
        opened("inner", Script("June.", "June.")) as inner,
        opened("outer", outer_model, expert(inner)) as outer,
    ):
        await outer.chat("When?")
        guest = Stimulus("When?", author="guest", trust=Trust.UNTRUSTED)
        await outer.chat(guest, session="guests")
        trusts = [
            turn.lineage
            for session in inner.sessions()
            for turn in inner.history(session=session.name)
            if turn.role == "user"
        ]
    assert trusts == [Trust.SELF, Trust.UNTRUSTED]


async def test_agents_that_ask_each_other_in_a_circle_come_to_an_end(
    opened: Callable[..., Agent],
) -> None:
    left_model = Script(ASK, ASK, "Left.", "Left.")
    right_model = Script(ASK, "Right.", "Right.")
    async with opened("right", right_model) as right, opened("left", left_model) as left:
        left.acts.add(cast("Any", expert(right)))
        right.acts.add(cast("Any", expert(left)))
        result = await left.chat("When?")
        entries = [*left.entries(), *right.entries()]
        states = [
            told(entry, "act")["state"]
            for entry in entries
            if entry.kind == "act" and told(entry, "act")["stage"] == "outcome"
        ]
    assert result.text == "Left."
    assert states == ["done", "done", "done"]
    assert [one.text for one in result.inner] == ["Right."]
    assert [one.text for one in result.inner[0].inner] == ["Left."]


async def test_beyond_its_depth_an_agent_is_refused_and_the_model_is_told_so(
    opened: Callable[..., Agent],
) -> None:
    left_model, right_model = Script(ASK, "Left."), Script(ASK, "Right, alone.")
    async with (
        opened("right", right_model, turn__depth="3") as right,
        opened("left", left_model, turn__depth="1") as left,
    ):
        left.acts.add(cast("Any", expert(right)))
        right.acts.add(cast("Any", expert(left)))
        result = await left.chat("When?")
        assert len(left.entries()) == 3
    (inner,) = result.inner
    (refused,) = inner.outcomes
    assert refused.state == "refused"
    assert "agents ask agents at most 1 deep here (turn.depth)" in refused.reason
    assert "at most 1 deep" in right_model.last(1)
    assert inner.text == "Right, alone."


async def test_an_agent_that_is_asked_uses_the_budget_of_the_turn_that_asks(
    opened: Callable[..., Agent],
) -> None:
    """There is room for the first call, and after it for none that may come to 3000 tokens."""
    outer_model = Script(ASK, "I could not ask.", ASK, "June.")
    async with (
        opened("inner", Script("June.")) as inner,
        opened("outer", outer_model, expert(inner)) as outer,
    ):
        wide = await outer.chat("When?", session="wide")
        assert [one.state for one in wide.outcomes] == ["done"]
        prompt = wide.composed.trace.tokens["total"].tokens
    tight = {"budgets__turn_tokens": str(prompt + 1100)}
    async with (
        opened("inner", Script("June."), routes__default__max_tokens="3000") as inner,
        opened("outer", Script(ASK, "I could not ask."), expert(inner), **tight) as outer,
    ):
        result = await outer.chat("When?", session="tight")
        assert told(inner.entries()[-1], "turn")["failure"] == "budget-reached"
    (outcome,) = result.outcomes
    assert (outcome.state, result.inner) == ("refused", ())
    assert "in the turn of the agent that asks" in outcome.reason


async def test_what_an_inner_turn_used_is_no_longer_left_for_the_outer_one(
    opened: Callable[..., Agent],
) -> None:
    """Without the inner turn there would be room for the second step."""
    async with (
        opened("inner", Script("June.")) as inner,
        opened("outer", Script(ASK, "June."), expert(inner)) as outer,
    ):
        wide = await outer.chat("When?", session="wide")
        second = wide.model_calls[1].composed.trace.tokens["total"].tokens
    limit = {"budgets__turn_tokens": str(110 + second + 1000 + 50)}
    inner_model = Script("June.")
    async with (
        opened("inner", inner_model, routes__default__max_tokens="50") as inner,
        opened("outer", Script(ASK, "June."), expert(inner), **limit) as outer,
    ):
        result = await outer.chat("When?", session="tight")
    assert [one.state for one in result.outcomes] == ["done"]
    assert (result.stop, len(result.steps)) == ("budget", 1)


async def test_a_handoff_lets_the_other_agent_answer_the_person(
    opened: Callable[..., Agent],
) -> None:
    outer_model = Script(("to_gardener", {}), "Not reached.")
    pieces: list[Delta] = []
    inner_model = Script("I am the gardener.", "Still here.")
    async with opened("inner", inner_model) as inner:
        handoff = inner.as_handoff(name="to_gardener", description="For questions about gardens.")
        async with opened("outer", outer_model, handoff) as outer:
            result = await outer.chat("My roses?", session="ann", on_delta=pieces.append)
            (entry,) = inner.entries()
            said = [(turn.text, turn.lineage) for turn in inner.history(session="ann")]
            later = await inner.chat("And now?", session="ann")
            assert (outer.verify().findings, inner.verify().findings) == ((), ())
    assert (result.text, result.stop) == ("I am the gardener.", "handoff")
    assert [one.text for one in pieces if isinstance(one, TextDelta)] == ["I am the gardener."]
    assert said == [("My roses?", Trust.OWNER), ("I am the gardener.", Trust.SELF)]
    assert told(entry, "turn")["caller"]["act"] == result.outcomes[0].key
    assert later.text == "Still here."


async def test_an_agent_that_cannot_answer_is_an_outcome_of_the_act(
    opened: Callable[..., Agent],
) -> None:
    outer_model = Script(ASK, "Nobody knows.")
    async with (
        opened("inner", Script("June."), budgets__agent_tokens="5") as inner,
        opened("outer", outer_model, expert(inner)) as outer,
    ):
        result = await outer.chat("When?")
    assert result.text == "Nobody knows."
    (outcome,) = result.outcomes
    assert (outcome.state, outcome.turn) == ("refused", None)
    assert "budgets.agent_tokens" in outcome.reason
