"""What a whole turn costs beside its model: recorded, chained and synced, and put where it is kept.

The peer is an agent of pydantic-ai that is told the same history, answers by the same script and
keeps nothing. Here the history is in the store, and each turn says the last message anew, so that
what is told stays as long as it is.
"""

from __future__ import annotations

import atexit
import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import cache, partial
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from mentis import Agent, Stimulus, create_home, tool
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .harness import Pair, Run, benchmark

QUESTION = "What did we say about the garden on day {}, and what is still to be done there?"
ANSWER = "On day {} we said that the roses want water and that the gate has to be painted soon."
CITIES = ("Berlin", "Paris")


@tool
def temperature(city: str) -> str:
    """How warm it is in a city.

    Args:
        city: Its name.
    """
    return f"17 degrees in {city}"


class Script:
    """Says the same answers again and again; an answer is what a server would send of it."""

    def __init__(self, *answers: object) -> None:
        self._answers = cycle([json.dumps(answer) for answer in answers])

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        del rendering, route
        yield _said(next(self._answers))


async def _said(event: str) -> AsyncIterator[str]:
    yield event


@cache
def _portal() -> BlockingPortal:
    """One loop for both, in a thread of its own."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(start_blocking_portal())


def says(text: str) -> object:
    return {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}


def calls(number: int, city: str) -> object:
    function = {"name": "temperature", "arguments": json.dumps({"city": city})}
    call = {"index": 0, "id": f"call-{number}", "function": function}
    return {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}


LOOP = (*(calls(n, city) for n, city in enumerate(CITIES)), says(ANSWER.format(0)))


def ours(turns: int, *, tools: bool) -> Run:
    """One turn after so many; the last message of the history is the one that is said anew."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    home = create_home(Path(folder.name) / "home")
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
        file.write('context_tokens = 1000000\n[recall]\nembedder = "off"\n')
    portal = _portal()
    portal.call(_filled, home, turns)
    provider = Script(*LOOP) if tools else Script(says(ANSWER.format(0)))
    agent = Agent.open(home, tools=[temperature] if tools else [], provider=provider)
    message = Stimulus(QUESTION.format(turns), replaces=turns)
    steps = len(LOOP) if tools else 1

    async def turn() -> None:
        result = await agent.chat(message)
        if (len(result.steps), len(result.composed.request.conversation_history)) != (steps, turns):
            raise RuntimeError(f"the turn did not do what it should: {result.stop}")

    return partial(portal.call, turn)


async def _filled(home: Path, turns: int) -> None:
    async with Agent.open(home, provider=Script(says(ANSWER.format(0)))) as agent:
        for number in range(turns // 2 + 1):
            await agent.chat(QUESTION.format(number))


def theirs(turns: int, *, tools: bool) -> Run:
    ai: Any = import_module("pydantic_ai")
    messages: Any = import_module("pydantic_ai.messages")
    function: Any = import_module("pydantic_ai.models.function")
    history: list[Any] = []
    for number in range(turns // 2):
        asked = messages.UserPromptPart(QUESTION.format(number))
        said = messages.TextPart(ANSWER.format(number))
        history += [messages.ModelRequest([asked]), messages.ModelResponse([said])]
    parts = [messages.ToolCallPart("temperature", {"city": city}) for city in CITIES]
    answers = cycle([*(parts if tools else ()), messages.TextPart(ANSWER.format(0))])

    def answer(_messages: object, _info: object) -> object:
        return messages.ModelResponse([next(answers)])

    functions: list[Callable[[str], str]] = [temperature] if tools else []
    agent = ai.Agent(
        function.FunctionModel(answer),
        instructions="You are kind, brief and exact. You say what you know and what you do not.",
        tools=[ai.Tool(one, name="temperature") for one in functions],
    )
    portal = _portal()

    async def turn() -> None:
        await agent.run(QUESTION.format(turns), message_history=history)

    return partial(portal.call, turn)


def _compared(turns: int, *, tools: bool) -> Callable[[], Pair]:
    return lambda: (ours(turns, tools=tools), theirs(turns, tools=tools))


GATES = {10: None, 100: 1.5, 400: 1.0}
for _turns, _gate in GATES.items():
    for _tools in (False, True):
        _kind = "three steps" if _tools else "plain"
        benchmark(
            f"whole turn, {_kind}, {_turns} turns of history",
            against="pydantic-ai, which keeps nothing",
            gate=_gate,
        )(_compared(_turns, tools=_tools))
