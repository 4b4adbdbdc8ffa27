"""A turn through every room, on the scripted provider; the embedded model has its own tests."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import anyio
import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import (
    BadInput,
    HomeMissing,
    OutsideHome,
    ProviderRefused,
    ProviderUnreachable,
    ReplyError,
    RouteError,
    UsageError,
)
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.act_handler import RecordingHandler
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.provider import Provider
from mentis.record.record import open_record
from mentis.record.rotation import rotate
from mentis.record.verify_home import verify_home
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.digest import digest
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, EndDelta, TextDelta
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration

pytestmark = pytest.mark.anyio


class EventsProvider:
    """Plays events; then it waits for ever, breaks, or ends, as told."""

    def __init__(self, *events: object, then: Exception | str = "end") -> None:
        self._events = [json.dumps(event) for event in events]
        self._then = then

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        yield self._play()

    async def _play(self) -> AsyncIterator[str]:
        for event in self._events:
            yield event
        if isinstance(self._then, Exception):
            raise self._then
        if self._then == "wait":
            await anyio.sleep_forever()


def said(text: str) -> object:
    return {"choices": [{"delta": {"content": text}}]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def open_agent(home: Path, provider: Provider, **environ: str) -> Agent:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=1))
    parts = Parts(provider=provider, clock=clock, ids=CountingIds(), environ=environ)
    return Agent.open(home, parts=parts)


async def test_a_turn_leaves_an_answer_an_entry_and_a_history(home: Path) -> None:
    provider = ScriptedProvider(["Good morning!", "I am well."])
    async with open_agent(home, provider) as agent:
        first = await agent.chat("Hello!")
        second = await agent.chat("How are you?")
        assert (first.reply.text, second.reply.text) == ("Good morning!", "I am well.")
        assert [turn.text for turn in agent.history()] == [
            "Hello!",
            "Good morning!",
            "How are you?",
            "I am well.",
        ]
        assert all(turn.state == "complete" for turn in agent.history())
        assert agent.entries() == (first.entry, second.entry)
        assert second.entry.prev == first.entry.hash
        verdict = agent.verify()
    assert verdict.intact
    assert verdict.entries == 2
    assert agent.id == "home/ada"


async def test_the_entry_binds_the_digests_of_what_was_told_and_said(home: Path) -> None:
    async with open_agent(home, ScriptedProvider(["Yes."])) as agent:
        result = await agent.chat("Really?")
    digests = cast("dict[str, str]", result.entry.body["digests"])
    assert digests["payload"] == result.rendering.digest
    assert digests["library"] == result.composed.trace.library
    assert digests["answer"] == digest(b"Yes.")
    assert set(digests) == {
        "request", "payload", "library", "reply", "acts", "message", "answer"
    }  # fmt: skip


async def test_a_text_changed_in_the_conversation_is_found_by_verify(home: Path) -> None:
    async with open_agent(home, ScriptedProvider(["You owe me 10 euros.", "Yes."])) as agent:
        await agent.chat("How much?")
        await agent.chat("Sure?")
        with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
            connection.execute("UPDATE turns SET turn = replace(turn, '10 euros', '99 euros')")
        (finding,) = agent.verify().findings
    assert (finding.index, finding.column) == (0, "conversation")
    assert "answer" in finding.message


async def test_a_text_changed_in_the_conversation_is_found_also_after_a_rotation(
    home: Path,
) -> None:
    async with open_agent(home, ScriptedProvider(["You owe me 10 euros.", "Yes."])) as agent:
        await agent.chat("How much?")
        await agent.chat("Sure?")
    with open_record(home) as record:
        rotate(record, 1)
        assert record.verify().findings == ()
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        connection.execute("UPDATE turns SET turn = replace(turn, '10 euros', '99 euros')")
    with open_record(home) as record:
        (finding,) = record.verify().findings
    assert (finding.index, finding.column) == (0, "conversation")


async def test_the_same_inputs_leave_the_same_record_byte_for_byte(tmp_path: Path) -> None:
    hashes: list[str] = []
    for number in range(2):
        home = create_home(tmp_path / str(number) / "home")
        async with open_agent(home, ScriptedProvider(["Yes."])) as agent:
            hashes.append((await agent.chat("Really?")).entry.hash)
    assert hashes[0] == hashes[1]


async def test_what_is_composed_and_rendered_is_what_is_sent(home: Path) -> None:
    provider = ScriptedProvider(["Yes."])
    async with open_agent(home, provider) as agent:
        shown = agent.render("Really?")
        await agent.chat("Really?")
    (sent,) = provider.sent
    assert sent.payload["messages"] == shown.payload["messages"]
    assert b"Ada" in sent.body()


async def test_pieces_are_heard_as_they_come(home: Path) -> None:
    heard: list[Delta] = []
    async with open_agent(home, ScriptedProvider(["One two three"])) as agent:
        await agent.chat("Count.", on_delta=heard.append)
    assert [delta.text for delta in heard if isinstance(delta, TextDelta)] == [
        "One ",
        "two ",
        "three",
    ]


async def test_an_interrupted_answer_is_returned_kept_and_marked(home: Path) -> None:
    async with open_agent(home, EventsProvider(said("Once upon"), then="wait")) as agent:

        def stop_at_once(_: Delta) -> None:
            agent.interrupt()

        result = await agent.chat("Tell me a story.", on_delta=stop_at_once)
        assert (result.reply.text, result.reply.stop) == ("Once upon", "interrupted")
        history = agent.history()
        assert [(turn.text, turn.state) for turn in history] == [
            ("Tell me a story.", "complete"),
            ("Once upon", "interrupted"),
        ]
        assert result.entry.body["turn"] == {"session": "main", "number": 0, "stop": "interrupted"}
        assert agent.verify().intact


async def test_a_question_that_is_broken_off_before_the_first_word_is_unanswered(
    home: Path,
) -> None:
    class Silent(EventsProvider):
        async def _play(self) -> AsyncIterator[str]:
            agent.interrupt()
            async for event in super()._play():
                yield event

    async with open_agent(home, Silent(then="wait")) as agent:
        result = await agent.chat("Tell me a story.")
        assert (result.reply.text, result.reply.stop) == ("", "interrupted")
        assert [turn.state for turn in agent.history()] == ["failed"]
        assert agent.sessions()[0].unanswered == (0,)
        assert agent.verify().intact


async def test_cancelling_from_outside_keeps_the_part_too(home: Path) -> None:
    async with open_agent(home, EventsProvider(said("Once upon"), then="wait")) as agent:
        with anyio.CancelScope() as scope:
            await agent.chat("Tell me a story.", on_delta=lambda _: scope.cancel())
        assert scope.cancelled_caught
        assert [turn.state for turn in agent.history()] == ["complete", "interrupted"]
        assert agent.verify().entries == 1


async def test_leaving_a_stream_early_keeps_the_part(home: Path) -> None:
    async with open_agent(home, EventsProvider(said("Once "), said("upon"), then="wait")) as agent:
        async with agent.stream("Tell me a story.") as answer:
            async for delta in answer:
                assert delta == TextDelta("Once ")
                break
        assert answer.result is None
        assert agent.history()[1].state == "interrupted"
        assert len(agent.entries()) == 1


async def test_a_stream_read_to_its_end_has_a_result(home: Path) -> None:
    async with open_agent(home, ScriptedProvider(["One two"])) as agent:
        async with agent.stream("Count.") as answer:
            pieces = [delta async for delta in answer]
        assert pieces[:-1] == [TextDelta("One "), TextDelta("two")]
        assert isinstance(pieces[-1], EndDelta)
        assert answer.result is not None
        assert answer.result.reply.stop == "end"


async def test_a_failure_before_any_answer_is_recorded_and_raised(home: Path) -> None:
    failing = EventsProvider(then=ProviderUnreachable("nobody there"))
    async with open_agent(home, failing) as agent:
        with pytest.raises(ProviderUnreachable, match="nobody there"):
            await agent.chat("Hello?")
        assert [(turn.text, turn.state) for turn in agent.history()] == [("Hello?", "failed")]
        (entry,) = agent.entries()
        turn = entry.body["turn"]
        assert isinstance(turn, dict)
        assert (turn["stop"], turn["failure"]) == ("cut_off", "provider-unreachable")
        assert agent.verify().intact


async def test_a_stream_raises_the_failure_itself_not_a_group(home: Path) -> None:
    failing = EventsProvider(then=ProviderUnreachable("nobody there"))
    async with open_agent(home, failing) as agent:
        with pytest.raises(ProviderUnreachable, match="nobody there"):
            async with agent.stream("Hello?") as answer:
                assert [delta async for delta in answer] == [EndDelta("error")]


async def test_a_connection_that_breaks_in_the_middle_keeps_the_part(home: Path) -> None:
    failing = EventsProvider(said("Half"), then=ProviderUnreachable("gone"))
    async with open_agent(home, failing) as agent:
        with pytest.raises(ProviderUnreachable):
            await agent.chat("Hello?")
        assert [turn.state for turn in agent.history()] == ["complete", "interrupted"]


async def test_an_answer_the_server_cut_short_is_not_called_interrupted(home: Path) -> None:
    async with open_agent(home, EventsProvider(said("Half"))) as agent:
        result = await agent.chat("Hello?")
        assert result.reply.stop == "cut_off"
        assert agent.history()[1].state == "interrupted"


@pytest.mark.parametrize("events", [(), ("<html>Please log in</html>",)])
async def test_an_answer_with_nothing_in_it_is_an_error(
    home: Path, events: tuple[object, ...]
) -> None:
    async with open_agent(home, EventsProvider(*events)) as agent:
        with pytest.raises(ReplyError, match="no answer"):
            await agent.chat("Hello?")
        assert agent.history()[0].state == "failed"
        assert len(agent.entries()) == 1


@pytest.mark.parametrize(
    "event",
    [
        {"choices": [{"delta": {"content": "half \ud83d"}, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"content": "x"}}], "usage": {"prompt_tokens": 10**19}},
        {"choices": [{"delta": {"content": "x"}}], "model": "\ud800"},
    ],
)
async def test_nothing_the_model_sends_keeps_the_turn_out_of_the_record(
    home: Path, event: object
) -> None:
    async with open_agent(home, EventsProvider(event)) as agent:
        result = await agent.chat("Hello?")
        assert agent.entries() == (result.entry,)
        assert agent.verify().intact
        assert len(agent.history()) == 2


async def test_what_was_done_before_an_interruption_is_in_the_record(home: Path) -> None:
    class Slow(RecordingHandler):
        async def handle(self, call: ActCall) -> Outcome:
            agent.interrupt()
            await anyio.sleep_forever()
            raise AssertionError

    calls = [
        {"index": n, "id": name, "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(("pay", "slow"))
    ]
    acting = EventsProvider(
        {"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    )
    handlers = (
        RecordingHandler(ToolDeclaration("pay", "Pays.")),
        Slow(ToolDeclaration("slow", "Takes long.")),
    )
    parts = Parts(provider=acting, environ={}, handlers=handlers)
    async with Agent.open(home, parts=parts) as agent:
        result = await agent.chat("Pay, then wait.")
    assert [outcome.state for outcome in result.outcomes] == ["done", "unknown"]


async def test_what_the_callers_own_code_raises_comes_out_as_it_is(home: Path) -> None:
    async with open_agent(home, EventsProvider(said("One"), then="wait")) as agent:

        async def careless() -> None:
            async with agent.stream("Count.") as answer:
                async for _ in answer:
                    raise KeyError

        with pytest.raises(KeyError):
            await careless()
        assert len(agent.entries()) == 1


async def test_an_agent_that_is_closed_says_so(home: Path) -> None:
    agent = open_agent(home, ScriptedProvider(["One."]))
    await agent.aclose()
    with pytest.raises(UsageError, match="closed"):
        await agent.chat("Hello?")


async def test_an_error_inside_a_stream_is_a_refusal(home: Path) -> None:
    failing = EventsProvider(said("Half"), {"error": {"message": "overloaded"}})
    async with open_agent(home, failing) as agent:
        with pytest.raises(ProviderRefused, match="overloaded"):
            await agent.chat("Hello?")


async def test_an_answer_that_takes_too_long_is_ended(home: Path) -> None:
    environ = {"MENTIS_ROUTES__DEFAULT__TIMEOUT_SECONDS": "0.05"}
    async with open_agent(home, EventsProvider(said("Half"), then="wait"), **environ) as agent:
        with pytest.raises(ProviderUnreachable, match=r"within 0\.05 seconds"):
            await agent.chat("Hello?")
        assert agent.history()[1].state == "interrupted"


async def test_a_failed_turn_is_not_shown_to_the_model_again(home: Path) -> None:
    async with open_agent(home, EventsProvider(then=ProviderUnreachable("gone"))) as agent:
        with pytest.raises(ProviderUnreachable):
            await agent.chat("Lost words")
        composed = agent.compose("Again")
    assert composed.request.conversation_history == ()
    assert composed.trace.cuts


async def test_what_the_model_wants_done_is_done_or_answered_for(home: Path) -> None:
    calls = [
        {"index": 0, "id": "a", "function": {"name": "note", "arguments": '{"text": "x"}'}},
        {"index": 1, "id": "b", "function": {"name": "fly", "arguments": "{}"}},
    ]
    acting = EventsProvider(
        {"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    )
    note = RecordingHandler(ToolDeclaration("note", "Keeps a note."), "kept")
    once = {"MENTIS_CORRECTION__CALLS": "1", "MENTIS_TURN__MAX_STEPS": "1"}
    parts = Parts(provider=acting, environ=once, handlers=(note,))
    async with Agent.open(home, parts=parts) as agent:
        result = await agent.chat("Note it.")
        assert b'"type":{"const":"note"}' in agent.render("x").body()
    assert [outcome.state for outcome in result.outcomes] == ["done", "not_found"]
    assert [call.action.payload for call in note.handled] == [{"text": "x"}]


@pytest.mark.parametrize("text", ["", "  \n", "\ud800", "x" * 100_001])
async def test_a_message_that_is_none_is_refused_and_leaves_nothing(home: Path, text: str) -> None:
    async with open_agent(home, ScriptedProvider(["never"])) as agent:
        with pytest.raises(BadInput):
            await agent.chat(text)
        assert agent.history() == ()
        assert agent.entries() == ()


async def test_sessions_are_apart(home: Path) -> None:
    async with open_agent(home, ScriptedProvider(["One.", "Two."])) as agent:
        await agent.chat("First", session="work")
        await agent.chat("Second", session="play")
        assert [turn.text for turn in agent.history(session="work")] == ["First", "One."]
        with pytest.raises(OutsideHome):
            agent.history(session="../else")


async def test_two_processes_worth_of_agents_share_one_chain(home: Path) -> None:
    async with (
        open_agent(home, ScriptedProvider(["A."] * 5)) as one,
        open_agent(home, ScriptedProvider(["B."] * 5)) as two,
        anyio.create_task_group() as tasks,
    ):

        async def talk(agent: Agent, session: str) -> None:
            for _ in range(5):
                await agent.chat("Go on.", session=session)

        tasks.start_soon(talk, one, "one")
        tasks.start_soon(talk, two, "two")
    (verdict,) = verify_home(home)
    assert verdict.intact
    assert verdict.entries == 10


async def test_a_home_that_moves_keeps_its_chain(home: Path, tmp_path: Path) -> None:
    async with open_agent(home, ScriptedProvider(["One."])) as agent:
        await agent.chat("First")
    moved = tmp_path / "elsewhere"
    await anyio.Path(home).rename(moved)
    async with open_agent(moved, ScriptedProvider(["Two."])) as agent:
        await agent.chat("Second")
        assert len(agent.entries()) == 2


async def test_the_scripted_route_is_wired_from_settings(home: Path) -> None:
    script = '[routes.default]\nreplies = ["From the file."]\n'
    await anyio.Path(home / "mentis.toml").write_text(script)
    async with Agent.open(home, parts=Parts(environ={})) as agent:
        assert (await agent.chat("Hello")).reply.text == "From the file."
        with pytest.raises(RouteError, match="number 2"):
            await agent.chat("Again")


async def test_a_home_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(HomeMissing):
        Agent.open(tmp_path / "nowhere", parts=Parts(environ={}))
