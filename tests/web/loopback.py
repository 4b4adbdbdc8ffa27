"""A server on the loopback address, in a thread of its own, for clients that block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import anyio

from mentis.settings.web import WebSettings
from mentis.web.application import AppState
from mentis.web.guard import AsgiApp
from mentis.web.server import WebServer, run_until_told


@contextmanager
def listening(
    make: Callable[[], AsgiApp], settings: WebSettings, state: AppState | None = None
) -> Generator[tuple[str, Callable[[], None]]]:
    """The address of the application, and what tells the server to stop."""
    state = state or AppState()
    ready, loops, servers = threading.Event(), list[asyncio.AbstractEventLoop](), list[WebServer]()
    places: list[str] = []

    async def serve() -> None:
        server = WebServer(make(), settings, state)
        places.append(server.bind())
        servers.append(server)
        loops.append(asyncio.get_running_loop())
        ready.set()
        await run_until_told(server, print)

    thread = threading.Thread(target=anyio.run, args=(serve,))
    thread.start()
    ready.wait(30)

    def stop() -> None:
        loops[0].call_soon_threadsafe(servers[0].stop)

    try:
        yield places[0], stop
    finally:
        if thread.is_alive():
            stop()
            thread.join(60)
        assert not thread.is_alive()
