"""The way into this surface. It loads the server, which is optional, only when it serves."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from mentis.errors import EngineMissing
from mentis.home.system import SystemClock
from mentis.recorder.recording import Recording
from mentis.stores.files.key_folder import config_folder
from mentis.web.loop import run_loop
from mentis.web.tokens import Tokens

if TYPE_CHECKING:
    from mentis.recorder.authority import LocalAuthority
    from mentis.web.guard import AccessRecord


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """What is chosen for one recorder. `secret` is asked of every request; with an `authority` it
    is a forward proxy, too. `on_access` hears of each request, never of what was said.
    """

    port: int
    secret: str = field(default="", repr=False)
    authority: LocalAuthority | None = None
    tell: Callable[[str], None] = field(default=lambda _text: None)
    on_access: Callable[[AccessRecord], None] | None = None


@contextmanager
def running_proxy(recording: Recording, options: ProxyOptions) -> Generator[str]:
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
    from .forward import Forward
    from .guard import ProxyAccess, ProxyParts
    from .relay import Relay
    from .server import ProxyServer

    limits, tell = recording.settings, options.tell
    relay = Relay(
        recording.targets,
        recording,
        clock=SystemClock(),
        body_bytes=limits.body_bytes,
        tell=tell,
        repairer=recording.repairer,
    )
    forward = None
    if options.authority is not None:
        forward = Forward(relay, options.authority, recording.targets, settings=limits, tell=tell)
    record = recording.record
    tokens = Tokens(config_folder(record.environ), record.home.path)
    access = ProxyAccess(options.secret, tokens.find)

    def tell_defect(error: BaseException) -> None:
        tell(f"a call failed here, which is a defect: {type(error).__name__}: {error}")

    parts = ProxyParts(limits, access, on_access=options.on_access, on_defect=tell_defect)
    server = ProxyServer(make_app(relay, parts, forward), limits)
    base = server.bind(limits.host, options.port)

    async def serve() -> None:
        try:
            await server.run()
        finally:
            await relay.aclose()

    thread = Thread(target=run_loop, args=(serve,), name="mentis-proxy", daemon=True)
    thread.start()
    try:
        yield base
    finally:
        server.stop()
        thread.join()
