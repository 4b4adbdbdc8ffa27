"""A provider that plays one list of events for each call, written as chat servers write them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio

from mentis.values.rendering import Rendering
from mentis.values.route import Route

USED: object = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


class Rounds:
    """One answer for each call, or the error that it raises; and what it was sent."""

    def __init__(self, *rounds: Sequence[object] | Exception) -> None:
        self._rounds = list(rounds)
        self.sent: list[dict[str, Any]] = []
        self.renderings: list[Rendering] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.renderings.append(rendering)
        self.sent.append(json.loads(rendering.body()))
        answer = self._rounds.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield _play(answer)

    def messages(self, number: int) -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", self.sent[number]["messages"])


async def _play(events: Sequence[object]) -> AsyncIterator[str]:
    for event in events:
        if event == "wait":
            await anyio.sleep_forever()
        yield json.dumps(event)


def says(text: str, used: object = USED) -> list[object]:
    return [{"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}, used]


def calls(
    *asked: tuple[str, str, dict[str, str]], text: str = "", used: object = USED
) -> list[object]:
    listed = [
        {"index": n, "id": call, "function": {"name": name, "arguments": json.dumps(given)}}
        for n, (call, name, given) in enumerate(asked)
    ]
    delta = {"content": text, "tool_calls": listed}
    return [{"choices": [{"delta": delta, "finish_reason": "tool_calls"}]}, used]
