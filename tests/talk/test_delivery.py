"""What came after its turn is told once, by a message at most, and nothing follows from that."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.one_step import one_step

from mentis.app.agent import Agent
from mentis.compose.compose import Composition
from mentis.errors import MentisError, ProviderRefused, UsageError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.act_handler import RecordingHandler
from mentis.ports.channel import RecordingChannel
from mentis.ports.clock import FixedClock
from mentis.tools.acts import open_acts
from mentis.values.action import Action, Outcome
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio
WEIGH = ToolDeclaration("weigh", "Weighs it.", {"type": "object"})
CALLED = {"id": "c", "function": {"name": "weigh", "arguments": "{}"}}
RESULT = "It weighs 81 kg and 400 g."
PRIVATE = "Robin is afraid of bees."


class Script:
    """Plays answers: words, a call (a dict), or an error."""

    def __init__(self, *answers: str | JsonObject | MentisError) -> None:
        self.answers = list(answers)
        self.sent: list[Rendering] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering)
        answer = self.answers.pop(0)
        if isinstance(answer, MentisError):
            raise answer
        yield _events(answer)


async def _events(answer: str | JsonObject) -> AsyncIterator[str]:
    said = {"content": answer} if isinstance(answer, str) else {"tool_calls": [answer]}
    end = "stop" if isinstance(answer, str) else "tool_calls"
    yield json.dumps({"choices": [{"delta": said, "finish_reason": end}]})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = one_step(create_home(tmp_path / "home"))
    with (path / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[acts]\nask = ["weigh"]\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\n')
        file.write('model = "m"\n[features]\ncortexEnabled = true\n')
    memory = path / "personas/ada/memory/memory.md"
    memory.parent.mkdir(parents=True, exist_ok=True)
    memory.write_text(f"# Memory\n\n- {PRIVATE}\n", encoding="utf-8")
    return path


def parts(script: Script, channel: RecordingChannel) -> Parts:
    return Parts(
        provider=script,
        clock=FixedClock(),
        handlers=(RecordingHandler(WEIGH, RESULT),),
        channels=(channel,),
    )


def opened(home: Path, script: Script, channel: RecordingChannel | None = None) -> Agent:
    return Agent.open(home, parts=parts(script, channel or RecordingChannel()))


def approve_all(home: Path) -> None:
    with open_acts(home, parts=parts(Script(), RecordingChannel())) as acts:
        for waiting in acts.pending()[0]:
            acts.approve(waiting.call.key, by="robin")


async def asked_and_approved(agent: Agent, home: Path) -> Outcome:
    """Somebody asks in the session `scales`, says yes later, and it is done then."""
    await agent.chat("Weigh it. My secret is 4711.", session="scales")
    approve_all(home)
    (outcome,) = await agent.deliverable_outcomes()
    return outcome


def facts(entry: Entry) -> dict[str, object]:
    return cast("dict[str, object]", entry.body["turn"])


def told_news(composed: Composition) -> str:
    spans = composed.request.runtime_ctx.spans
    return "".join(span.text for span in spans if "act.result" in span.text)


def offered(rendering: Rendering) -> list[str]:
    tools = cast("list[dict[str, dict[str, str]]]", rendering.payload.get("tools", []))
    return [tool["function"]["name"] for tool in tools]


async def test_a_delivery_is_offered_messages_only_and_shown_nothing_private(home: Path) -> None:
    script = Script(CALLED, "You weigh 81 kg.", "Yes.")
    async with opened(home, script) as agent:
        outcome = await asked_and_approved(agent, home)
        result = await agent.deliver(outcome)
        assert await agent.deliverable_outcomes() == ()
        await agent.chat("Thanks.", session="scales")
        kept = agent.history(session="scales")
        assert agent.verify().intact
    assert PRIVATE in str(script.sent[0].payload)
    delivery = script.sent[1]
    assert offered(delivery) == ["message_cli"]
    told = str(delivery.payload["messages"])
    assert "action_outputs" in told
    assert "81 kg" in told
    assert "4711" not in told
    assert PRIVATE not in told
    assert result.session == "scales"
    assert facts(result.entry)["mode"] == "delivery"
    assert facts(result.entry)["delivers"] == outcome.key
    assert result.entry.body["told"] == [outcome.key]
    assert "You weigh 81 kg." in [turn.text for turn in kept]
    # It was told: the next turn does not tell it again, but for what is in the talk itself.
    last = cast("list[dict[str, str]]", script.sent[2].payload["messages"])[-1]
    assert "act.result" not in last["content"]


async def test_a_message_that_a_delivery_sends_is_never_delivered_itself(home: Path) -> None:
    arguments = json.dumps({"text": RESULT, "interface_path": "cli/robin"})
    message = {"id": "m", "function": {"name": "message_cli", "arguments": arguments}}
    script, channel = Script(CALLED, message), RecordingChannel()
    async with opened(home, script, channel) as agent:
        outcome = await asked_and_approved(agent, home)
        result = await agent.deliver(outcome)
        (sent,) = result.outcomes
        assert sent.state == "waiting"  # what it says came from outside
        approve_all(home)
        assert await agent.deliverable_outcomes() == ()
        assert len(channel.sent) == 1
        done = replace(sent, state="done")
        with pytest.raises(UsageError, match="no delivery follows on a message"):
            await agent.deliver(done)
    assert len(script.sent) == 2


async def test_a_message_that_only_waits_has_told_nobody_and_a_no_brings_the_news_back(
    home: Path,
) -> None:
    arguments = json.dumps({"text": RESULT, "interface_path": "cli/robin"})
    message: JsonObject = {"id": "m", "function": {"name": "message_cli", "arguments": arguments}}
    async with opened(home, Script(CALLED, message, "81 kg.")) as agent:
        outcome = await asked_and_approved(agent, home)
        result = await agent.deliver(outcome)
        assert "told" not in result.entry.fields
        assert await agent.deliverable_outcomes() == ()  # one message is enough
        with pytest.raises(UsageError, match="waits for a yes"):
            await agent.deliver(outcome)
        with open_acts(home, parts=parts(Script(), RecordingChannel())) as acts:
            acts.deny(result.outcomes[0].key, by="robin")
        assert await agent.deliverable_outcomes() == (outcome,)
        again = await agent.deliver(outcome)
        assert again.entry.body["told"] == [outcome.key]


async def test_what_was_told_already_or_still_waits_is_not_delivered(home: Path) -> None:
    script = Script(CALLED, "81 kg.")
    async with opened(home, script) as agent:
        outcome = await asked_and_approved(agent, home)
        await agent.deliver(outcome)
        with pytest.raises(UsageError, match="told already"):
            await agent.deliver(outcome)
        with pytest.raises(UsageError, match="waits for a yes"):
            await agent.deliver(replace(outcome, key="other", state="waiting"))
        with pytest.raises(UsageError, match="no key"):
            await agent.deliver(Outcome(Action("weigh", {}), "done"))
    assert len(script.sent) == 2


async def test_a_delivery_that_fails_is_recorded_tried_again_and_then_left_to_the_next_turn(
    home: Path,
) -> None:
    refused = ProviderRefused("no")
    script = Script(CALLED, refused, refused, "I see.")
    async with opened(home, script) as agent:
        outcome = await asked_and_approved(agent, home)
        for _ in range(2):
            with pytest.raises(ProviderRefused):
                await agent.deliver(outcome)
        assert await agent.deliverable_outcomes() == ()
        with pytest.raises(UsageError, match="tried 2 times"):
            await agent.deliver(outcome)
        failed = [one for one in agent.entries() if one.kind == "turn"][-2:]
        await agent.chat("Well?", session="scales")
        assert agent.verify().intact
    assert [facts(one)["failure"] for one in failed] == ["provider-refused"] * 2
    last = cast("list[dict[str, str]]", script.sent[-1].payload["messages"])[-1]
    assert "act.result" in last["content"]


async def test_a_beat_sees_what_is_news_and_leaves_it_to_be_told(home: Path) -> None:
    script = Script(CALLED, "Heavy.")
    async with opened(home, script) as agent:
        outcome = await asked_and_approved(agent, home)
        await agent.beat("curiosity")
        assert await agent.deliverable_outcomes() == (outcome,)
    assert "81 kg" in str(script.sent[1].payload["messages"])


async def test_a_guest_and_another_talk_are_not_told_what_was_asked_for_elsewhere(
    home: Path,
) -> None:
    script = Script(CALLED, "Hello.", "Hi.", "Nothing.", "Hi again.", "81 kg.")
    async with opened(home, script) as agent:
        outcome = await asked_and_approved(agent, home)
        guest = Stimulus("Who are you?", trust=Trust.UNTRUSTED, author="Mal")
        for message in (guest, "Anything new?"):
            before = agent.compose(message, session="guests")
            result = await agent.chat(message, session="guests")
            assert (told_news(before), told_news(result.composed)) == ("", "")
            assert "told" not in result.entry.body
        assert RESULT not in str(script.sent[1:])
        assert RESULT not in (await agent.live(session="guests")).instructions
        assert await agent.deliverable_outcomes() == (outcome,)
        # Whoever asked is told, also where a guest speaks in that talk: it stands there anyway.
        result = await agent.chat(guest, session="scales")
        assert RESULT in told_news(result.composed)
        assert result.entry.body["told"] == [outcome.key]
        assert agent.verify().intact


async def test_what_can_no_longer_be_delivered_is_told_where_you_speak_and_to_no_guest(
    home: Path,
) -> None:
    refused = ProviderRefused("no")
    script = Script(CALLED, refused, refused, "Hello.", "Hello.", "I see.")
    async with opened(home, script) as agent:
        outcome = await asked_and_approved(agent, home)
        for _ in range(2):
            with pytest.raises(ProviderRefused):
                await agent.deliver(outcome)
        guest = Stimulus("Who are you?", trust=Trust.UNTRUSTED, author="Mal")
        assert told_news((await agent.chat(guest, session="guests")).composed) == ""
        assert told_news((await agent.start_conversation(session="new")).composed) == ""
        result = await agent.chat("Anything new?")
        assert RESULT in told_news(result.composed)
        assert result.entry.body["told"] == [outcome.key]
