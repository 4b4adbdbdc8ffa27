"""Agents whose provider answers in the Anthropic format and reports a usage that a test chose."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from mentis import Agent, Parts, create_home
from mentis.app.agent import Tool
from mentis.testing import FixedClock
from mentis.values.rendering import Rendering
from mentis.values.reply import Usage
from mentis.values.route import Route

# A thousand tokens in cost a dollar, so that figures can be checked by hand.
ROUTE = """
[routes.{name}]
backend = "anthropic"
model = "{model}"
max_tokens = 100
facts = {{ {facts} }}
"""
PRICED = (
    "input_price = 1000, output_price = 5000, cache_read_price = 0.1, cache_write_price = 1.25,"
    " cache_long_write_price = 2"
)
Answer = str | tuple[str, dict[str, str]]


class Paid:
    """Says the answers in turn: words, or the call of a tool; each with its usage."""

    def __init__(self, *answers: tuple[Answer, Usage]) -> None:
        self.answers = list(answers)
        self.sent: list[bytes] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering.body())
        yield self._play(*self.answers.pop(0))

    async def _play(self, answer: Answer, usage: Usage) -> AsyncIterator[str]:
        told = {
            "input_tokens": usage.input - usage.cache_read - usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write,
        }
        yield json.dumps({"type": "message_start", "message": {"id": "m", "usage": told}})
        if isinstance(answer, str):
            block: object = {"type": "text", "text": ""}
            delta: object = {"type": "text_delta", "text": answer}
        else:
            block = {"type": "tool_use", "id": f"c{len(self.sent)}", "name": answer[0]}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(answer[1])}
        yield json.dumps({"type": "content_block_start", "index": 0, "content_block": block})
        yield json.dumps({"type": "content_block_delta", "index": 0, "delta": delta})
        yield json.dumps({"type": "content_block_stop", "index": 0})
        stop = "end_turn" if isinstance(answer, str) else "tool_use"
        used = {"output_tokens": usage.output}
        yield json.dumps({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": used})
        yield json.dumps({"type": "message_stop"})


def make_home(path: Path, *, facts: str = PRICED, more: str = "") -> Path:
    create_home(path)
    with (path / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(ROUTE.format(name="default", model="claude-sonnet-5-5", facts=facts))
        file.write(ROUTE.format(name="other", model="claude-other-1", facts=facts))
        file.write('[recall]\nembedder = "off"\n' + more)
    return path


def open_paid(
    home: Path,
    provider: Paid,
    *tools: Tool,
    clock: FixedClock | None = None,
    route: str = "default",
) -> Agent:
    return Agent.open(home, tools=tools, provider=provider, parts=Parts(clock=clock), route=route)


async def say_all(agent: Agent, words: Sequence[str], session: str = "main") -> None:
    for each in words:
        await agent.chat(each, session=session)
