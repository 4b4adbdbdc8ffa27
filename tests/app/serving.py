"""A worker of its own process: `serving.py HOME wait` is at its answer until it is killed,
`serving.py HOME echo` says what it was told.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio

from mentis.app.worker import Worker
from mentis.call.scripted import ScriptedProvider
from mentis.home.parts import Parts
from mentis.values.rendering import Rendering
from mentis.values.route import Route


class Provider(ScriptedProvider):
    @asynccontextmanager
    async def open(self, rendering: Rendering, route: Route) -> AsyncGenerator[AsyncIterator[str]]:
        if sys.argv[2] == "wait":
            sys.stdout.write("at it\n")
            sys.stdout.flush()
            await anyio.sleep_forever()
        async with super().open(rendering, route) as events:
            yield events


async def main() -> None:
    worker = Worker(sys.argv[1], parts=Parts(provider=Provider(["Yes."] * 10_000)), at_once=4)
    await worker.run()


anyio.run(main)
