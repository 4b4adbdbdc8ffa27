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
    """Plays one reply after the other and keeps what it was sent in `sent`.

    Without replies of its own it plays those of the route it is opened with.
    """

    def __init__(self, replies: Sequence[str] | None = None) -> None:
        self._replies = replies
        self._played: dict[str, int] = {}
        self.sent: list[Rendering] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        """Play the next reply; RouteError where there is none left."""
        replies = route.replies if self._replies is None else self._replies
        number = self._played.get(route.name, 0)
        if number >= len(replies):
            raise RouteError(
                f"the script of route {route.name!r} has {len(replies)} replies, "
                f"and number {number + 1} was asked for",
                hint=f"add replies to routes.{route.name}.replies",
            )
        self._played[route.name] = number + 1
        self.sent.append(rendering)
        yield _events(replies[number])


async def _events(reply: str) -> AsyncIterator[str]:
    for word in _WORDS.findall(reply) or [reply]:
        yield json.dumps({"choices": [{"delta": {"content": word}}]}, ensure_ascii=False)
    yield json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]})
