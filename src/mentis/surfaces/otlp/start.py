"""The way into this surface. It loads the server, which is optional, only when it receives."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread

import anyio

from mentis.errors import EngineMissing
from mentis.home.system import SystemClock
from mentis.net.targets import is_loopback
from mentis.recorder.otlp import require_protobuf
from mentis.recorder.recording import Recording
from mentis.stores.files.key_folder import config_folder
from mentis.web.tokens import Scope, Tokens


@contextmanager
def running_receiver(recording: Recording, *, port: int) -> Generator[str]:
    """The address it listens on (`recorder.host`); it has drained when the block ends. On loopback
    everybody on this machine may send; elsewhere a token is needed.
    """
    require_protobuf()
    try:
        import_module("starlette")
        import_module("uvicorn")
    except ModuleNotFoundError as error:
        raise EngineMissing(
            f"the receiver needs the package {error.name}, which is not installed",
            hint="pip install 'mentis[serve]'",
        ) from error
    from mentis.web.application import AppState, Door, make_app
    from mentis.web.guard import GuardParts
    from mentis.web.server import WebServer

    from .receiver import TRACES, SpanReceiver, otlp_problem

    record, limits = recording.record, recording.settings
    chosen = {"host": limits.host, "port": port, "hosts": limits.hosts}
    web = record.settings.model.web.model_copy(update=chosen)
    scope: Scope | None = None if is_loopback(limits.host) else "chat"
    receiver = SpanReceiver(recording, SystemClock(), body_bytes=web.body_bytes)
    tokens = Tokens(config_folder(record.environ), record.home.path)
    guard = GuardParts(
        tokens.find, web, forms={TRACES: otlp_problem}, hosts_setting="recorder.hosts"
    )
    state = AppState()
    app = make_app([Door(TRACES, receiver, scope, ("POST",))], guard, state)
    server = WebServer(app, web, state)
    base = server.bind()
    thread = Thread(target=anyio.run, args=(server.run,), name="mentis-otlp", daemon=True)
    thread.start()
    try:
        yield base
    finally:
        server.stop()
        thread.join()
