"""Every turn tells its end once, as its last piece, however it ended."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from mentis.app.agent import Agent
from mentis.errors import ComposeError, MentisError, ProviderUnreachable
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.act_handler import RecordingHandler
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, EndDelta, TextDelta, Usage
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration

pytestmark = pytest.mark.anyio

NOTE = ToolDeclaration(
    "note",
    "Keeps a note.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


class Rounds:
    """One list of events for each call; "wait" waits for ever, an error is raised."""

    def __init__(self, *rounds: Sequence[object]) -> None:
        self._rounds = list(rounds)

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        yield _play(self._rounds.pop(0))


async def _play(events: Sequence[object]) -> AsyncIterator[str]:
    for event in events:
        if isinstance(event, Exception):
            raise event
        if event == "wait":
            await anyio.sleep_forever()
        yield json.dumps(event)


def said(text: str) -> object:
    return {"choices": [{"delta": {"content": text}}]}


def called(arguments: str) -> list[object]:
    function = {"name": "note", "arguments": arguments}
    call = {"index": 0, "id": "a", "function": function}
    return [{"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}, USED]


USED: object = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
DONE: object = {"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]}


def open_agent(folder: Path, *rounds: Sequence[object], **environ: str) -> Agent:
    home = create_home(folder / "home")
    with (home / "mentis.toml").open("a") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
        file.write("\n[turn]\nmax_steps = 1\n")
    handlers = (RecordingHandler(NOTE, "kept"),)
    parts = Parts(provider=Rounds(*rounds), environ=environ, handlers=handlers)
    return Agent.open(home, parts=parts)


def only_end(heard: Sequence[Delta]) -> EndDelta:
    ends = [delta for delta in heard if isinstance(delta, EndDelta)]
    assert len(ends) == 1
    assert heard[-1] is ends[0]
    return ends[0]


async def test_a_whole_answer_ends_once_with_its_usage(tmp_path: Path) -> None:
    heard = list[Delta]()
    async with open_agent(tmp_path, [said("One."), DONE, USED]) as agent:
        result = await agent.chat("Hello", on_delta=heard.append)
    assert only_end(heard) == EndDelta("end", Usage(input=100, output=10))
    assert only_end(heard) == EndDelta(result.reply.stop, result.reply.usage)


async def test_a_corrected_answer_ends_once_with_the_usage_of_all_calls(tmp_path: Path) -> None:
    heard = list[Delta]()
    rounds = called('{"text": '), called('{"text": 5}'), called('{"text": "x"}')
    async with open_agent(tmp_path, *rounds) as agent:
        result = await agent.chat("Note x.", on_delta=heard.append)
    assert len(result.model_calls) == 3
    assert only_end(heard) == EndDelta("tool_use", Usage(input=300, output=30))


async def test_an_interrupted_answer_ends_once(tmp_path: Path) -> None:
    heard = list[Delta]()
    async with open_agent(tmp_path, [said("One"), "wait"]) as agent:

        def stop(delta: Delta) -> None:
            heard.append(delta)
            agent.interrupt()

        await agent.chat("Hello", on_delta=stop)
    assert only_end(heard) == EndDelta("interrupted")


async def test_an_answer_cancelled_from_outside_ends_once(tmp_path: Path) -> None:
    heard = list[Delta]()
    async with open_agent(tmp_path, [said("One"), "wait"]) as agent:
        with anyio.CancelScope() as scope:

            def cancel(delta: Delta) -> None:
                heard.append(delta)
                scope.cancel()

            await agent.chat("Hello", on_delta=cancel)
    assert only_end(heard) == EndDelta("interrupted")


@pytest.mark.parametrize(
    "events",
    [
        [ProviderUnreachable("gone")],
        [said("Half"), ProviderUnreachable("gone")],
        [said("Half"), {"error": {"message": "overloaded"}}],
        [],
    ],
)
async def test_an_answer_that_fails_ends_once_with_an_error(
    tmp_path: Path, events: list[object]
) -> None:
    heard = list[Delta]()
    async with open_agent(tmp_path, events) as agent:
        with pytest.raises(MentisError):
            await agent.chat("Hello", on_delta=heard.append)
    assert only_end(heard) == EndDelta("error")


async def test_a_turn_that_cannot_be_composed_ends_with_an_error_too(tmp_path: Path) -> None:
    heard = list[Delta]()
    small = {"MENTIS_ROUTES__DEFAULT__CONTEXT_TOKENS": "256"}
    async with open_agent(tmp_path, [], **small) as agent:
        with pytest.raises(ComposeError):
            await agent.chat("Hello", on_delta=heard.append)
    assert heard == [EndDelta("error")]


async def test_a_stream_ends_with_its_end(tmp_path: Path) -> None:
    agent = open_agent(tmp_path, [said("One."), DONE, USED])
    async with agent, agent.stream("Hello") as answer:
        pieces = [delta async for delta in answer]
    assert pieces == [TextDelta("One."), EndDelta("end", Usage(input=100, output=10))]
