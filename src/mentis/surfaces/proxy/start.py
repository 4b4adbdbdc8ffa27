"""The way into this surface. It loads the server, which is optional, only when it serves."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread

import anyio

from mentis.errors import EngineMissing
from mentis.home.system import SystemClock
from mentis.recorder.recording import Recording


@contextmanager
def running_proxy(
    recording: Recording, *, port: int, tell: Callable[[str], None]
) -> Generator[str]:
    """The address it listens on; it has drained when the block ends. Targets that are added to
    the recording meanwhile are known at once.
    """
    try:
        import_module("starlette")
        import_module("uvicorn")
    except ModuleNotFoundError as error:
        raise EngineMissing(
            f"the recorder needs the package {error.name}, which is not installed",
            hint="pip install 'mentis[serve]'",
        ) from error
    from .application import make_app
    from .relay import Relay
    from .server import ProxyServer

    limits = recording.settings
    relay = Relay(
        recording.targets,
        recording,
        clock=SystemClock(),
        body_bytes=limits.body_bytes,
        tell=tell,
        repairer=recording.repairer,
    )
    server = ProxyServer(make_app(relay, (limits.host, *limits.hosts)), limits)
    base = server.bind(limits.host, port)

    async def serve() -> None:
        try:
            await server.run()
        finally:
            await relay.aclose()

    thread = Thread(target=anyio.run, args=(serve,), name="mentis-proxy", daemon=True)
    thread.start()
    try:
        yield base
    finally:
        server.stop()
        thread.join()
