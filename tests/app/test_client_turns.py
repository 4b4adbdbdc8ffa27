"""What a program brings to one turn: tools of its own, words that it says were said, questions
beside the conversation.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from tests.rounds import BERLIN, Rounds, asking_home, calls, opened, says

from mentis import ToolDeclaration, Trust, Turn
from mentis.errors import BadInput
from mentis.talk.side_call import SideCall
from mentis.values.part import TextPart, ToolCallPart, ToolResultPart

pytestmark = pytest.mark.anyio
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = ToolDeclaration("Read", "Reads a file.", PATH)
README = ("r", "Read", {"path": "README.md"})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return asking_home(tmp_path / "home")


def offered(sent: dict[str, Any]) -> list[str]:
    return [one["function"]["name"] for one in sent["tools"]]


async def test_tools_of_one_turn_are_offered_and_left_to_the_caller(home: Path) -> None:
    provider = Rounds(calls(README), says("It says hello."), says("Bye."))
    async with opened(home, provider) as agent:
        asked = await agent.chat("What does it say?", tools=[READ])
        assert (asked.stop, [call.type for call in asked.calls]) == ("calls", ["Read"])
        answer = await agent.chat(results={"r": "hello"}, tools=[READ])
        await agent.chat("Thanks.")
        assert agent.verify().intact
    assert answer.text == "It says hello."
    assert [name for sent in provider.sent for name in offered(sent)].count("Read") == 2
    assert "Read" not in offered(provider.sent[2])
    assert "hello" in json.dumps(provider.messages(1)[-1])


async def test_a_tool_of_the_caller_stands_in_the_place_of_one_of_the_same_name(
    home: Path,
) -> None:
    provider = Rounds(calls(BERLIN))
    own = ToolDeclaration("temperature", "How warm it is.", {"type": "object", "properties": {}})
    async with opened(home, provider) as agent:
        result = await agent.chat("How warm is it?", tools=[own])
        with pytest.raises(BadInput, match="two acts"):
            await agent.chat("Again?", tools=[own, own])
    assert result.stop == "calls"
    assert offered(provider.sent[0]).count("temperature") == 1


async def test_many_tools_of_the_caller_are_all_declared(home: Path) -> None:
    provider = Rounds(says("I see them."))
    many = [ToolDeclaration(f"Tool{n}", "Does something.") for n in range(30)]
    async with opened(home, provider) as agent:
        await agent.chat("What can you do?", tools=many)
    assert {tool.name for tool in many} <= {*offered(provider.sent[0])}


async def test_a_tool_of_the_caller_may_be_described_at_length(home: Path) -> None:
    provider = Rounds(says("I see."))
    async with opened(home, provider) as agent:
        await agent.chat("Hello.", tools=[ToolDeclaration("Long", "word " * 5000)])
        with pytest.raises(BadInput, match="description"):
            await agent.chat("Hello.", tools=[ToolDeclaration("Long", "word " * 50_000)])
    assert "Long" in offered(provider.sent[0])


async def test_adopted_turns_are_told_and_nobody_vouches_for_them(home: Path) -> None:
    provider = Rounds(says("Going on."))
    said = [
        Turn("user", (TextPart("We talked of pears."),), author="client"),
        Turn("assistant", (TextPart("Yes, of pears."),), Trust.SELF),
    ]
    async with opened(home, provider) as agent:
        entry = await agent.adopt(said, session="s")
        await agent.chat("Go on.", session="s")
        history, verdict = agent.history(session="s"), agent.verify()
    assert cast("dict[str, object]", entry.body["turn"])["inner"] == "adopted"
    assert entry.source == "client"
    assert [turn.lineage for turn in history[:2]] == [Trust.UNTRUSTED, Trust.UNTRUSTED]
    assert "of pears" in json.dumps(provider.messages(0)[:-1])
    assert (verdict.intact, verdict.findings) == (True, ())


async def test_adopted_turns_can_stand_in_the_place_of_what_was_said(home: Path) -> None:
    provider = Rounds(says("One."), says("Two."))
    async with opened(home, provider) as agent:
        await agent.chat("First.", session="s")
        other = Turn("assistant", (TextPart("Something else."),), replaces=1)
        await agent.adopt([other], session="s")
        await agent.chat("Second.", session="s")
        assert agent.verify().intact
    told = json.dumps(provider.messages(1))
    assert "Something else." in told
    assert "One." not in told


async def test_calls_and_results_that_are_adopted_can_be_gone_on_with(home: Path) -> None:
    provider = Rounds(says("It says hello."))
    said = [
        Turn("user", (TextPart("What does it say?"),)),
        Turn("assistant", (ToolCallPart("q", "Read", {"path": "a"}),)),
        Turn("user", (ToolResultPart("q", "Read", "nothing"),)),
        Turn("assistant", (ToolCallPart("r", "Read", {"path": "b"}),)),
    ]
    async with opened(home, provider) as agent:
        await agent.adopt(said, session="s")
        answer = await agent.chat(results={"r": "hello"}, session="s", tools=[READ])
        assert agent.verify().intact
    assert answer.text == "It says hello."
    told = [one["role"] for one in provider.messages(0)]
    assert told[-4:] == ["assistant", "tool", "assistant", "tool"]


async def test_a_side_call_is_recorded_by_its_kind_and_is_no_part_of_the_conversation(
    home: Path,
) -> None:
    provider = Rounds(says("Hello."), says("Pears"))
    async with opened(home, provider) as agent:
        await agent.chat("Hi.", session="s")
        asked = await agent.answer_side_call(
            SideCall("side_title", "Give it a title.", "Titles are short."), session="s"
        )
        assert len(agent.history(session="s")) == 2
        assert agent.verify().intact
    assert asked.reply.text == "Pears"
    assert cast("dict[str, object]", asked.entry.body["turn"])["inner"] == "side_title"
    assert [one["content"] for one in provider.messages(1)] == [
        "Titles are short.",
        "Give it a title.",
    ]
