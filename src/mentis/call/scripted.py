"""A provider that plays prepared answers: the shipped double, and a route for dry runs."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from mentis.errors import RouteError
from mentis.values.rendering import Rendering
from mentis.values.route import Route

_WORDS = re.compile(r"\s*\S+\s*")


class ScriptedProvider:
    """Plays one reply after the other and keeps what it was sent in `sent`."""

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies = replies
        self.sent: list[Rendering] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        number = len(self.sent)
        if number >= len(self._replies):
            raise RouteError(
                f"the script of route {route.name!r} has {len(self._replies)} replies, "
                f"and number {number + 1} was asked for",
                hint=f"add replies to routes.{route.name}.replies",
            )
        self.sent.append(rendering)
        yield _events(self._replies[number])


async def _events(reply: str) -> AsyncIterator[str]:
    for word in _WORDS.findall(reply) or [reply]:
        yield json.dumps({"choices": [{"delta": {"content": word}}]}, ensure_ascii=False)
    yield json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]})
