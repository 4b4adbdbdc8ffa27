"""Many conversations at once: what turns of one agent cost while its model takes its time.

A model that takes 100 ms lets one session have fewer than ten turns a second. 64 sessions side by
side must reach twenty times that rate, each turn recorded as ever: so three turns of each may take
no longer than 9.6 turns one after the other. The loop is the one that servers run on.
"""

from __future__ import annotations

import atexit
import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.from_thread import start_blocking_portal

from mentis import Agent, Rendering, create_home
from mentis.values.route import Route
from mentis.web.loop import loop_options

from .harness import Pair, benchmark

SESSIONS, EACH, FEW, TIMES = 64, 3, 4, 20
SECONDS = 0.1
ROUTE = (
    '\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n[recall]\nembedder = "off"\n'
)


class SlowProvider:
    """A model that thinks for 100 ms, says one word and counts what it was told, about."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        del route
        yield self._play(len(rendering.body()) // 4)

    async def _play(self, tokens: int) -> AsyncIterator[str]:
        await anyio.sleep(SECONDS)
        yield json.dumps({"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]})
        usage = {"prompt_tokens": tokens, "completion_tokens": 1}
        yield json.dumps({"choices": [], "usage": usage})


@benchmark(
    "sessions/64 at once, 3 turns each",
    against=f"{FEW} turns of one session; the gate is 20 times its rate",
    gate=SESSIONS * EACH / (FEW * TIMES),
    rounds=9,
    clock="wall",
)
def many_sessions() -> Pair:
    folder = tempfile.TemporaryDirectory()
    home = create_home(Path(folder.name) / "home")
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(ROUTE)
    entered = start_blocking_portal(backend_options=loop_options())
    portal = entered.__enter__()
    agent = Agent.open(home, provider=SlowProvider())

    def close() -> None:
        portal.call(agent.aclose)
        entered.__exit__(None, None, None)
        folder.cleanup()

    atexit.register(close)

    async def talk(session: str, turns: int) -> None:
        for _ in range(turns):
            await agent.chat("Is it?", session=session)

    async def at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(SESSIONS):
                tasks.start_soon(talk, f"s{number}", EACH)

    return (lambda: portal.call(at_once)), (lambda: portal.call(talk, "alone", FEW))
