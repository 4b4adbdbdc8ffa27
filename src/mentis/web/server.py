"""The server: listens, answers, and ends what it has begun before it stops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any, ClassVar

import anyio
import uvicorn
from anyio.abc import TaskStatus
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mentis.errors import UsageError, WorldError
from mentis.settings.web import WebSettings
from mentis.system.signals import ending_signals

from .application import AppState
from .guard import AsgiApp

_LAST_SECONDS = 10
_KEEP_ALIVE = 30  # seconds; clients keep connections for the next question


class QuietServer(uvicorn.Server):
    """Signals are ours: the library would raise them again after it has drained."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def listen(host: str, port: int, *, setting: str) -> tuple[socket.socket, str]:
    """Take an address, and say what it is; `setting` is the one to choose another port with."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        raise WorldError(
            f"cannot listen on {host} port {port}: {error}",
            hint=f"choose another with --port, or {setting}",
        ) from error
    # Named as TCP it is one for the event loop, too, which then sends each piece at once: else the
    # second piece of every answer waits 40 ms for the first to be acknowledged.
    bound = socket.socket(bound.family, bound.type, socket.IPPROTO_TCP, fileno=bound.detach())
    taken = bound.getsockname()[1]
    return bound, f"http://[{host}]:{taken}" if ":" in host else f"http://{host}:{taken}"


class WebServer:
    """Serves one application on one address, until it is told to stop."""

    def __init__(self, app: AsgiApp, settings: WebSettings, state: AppState) -> None:
        self._state = state
        self._settings = settings
        self._socket: socket.socket | None = None
        self._server = QuietServer(
            uvicorn.Config(
                app,
                http=_web_protocol(settings),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=settings.drain_seconds,
            )
        )

    def bind(self) -> str:
        """Take the address, and say what it is. It blocks."""
        host, port = self._settings.host, self._settings.port
        self._socket, address = listen(host, port, setting="web.port")
        return address

    async def run(self) -> None:
        """Answer until `stop`; then take nothing new and let what was begun come to its end."""
        if self._socket is None:
            raise UsageError("nothing is bound yet", hint="call bind() first")
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            with anyio.CancelScope(shield=True):
                await self._close(self._socket)

    async def _close(self, bound: socket.socket) -> None:
        """Also when it is cancelled. What has to be cut off still says so in the record."""
        for listening in getattr(self._server, "servers", ()):
            listening.close()
        bound.close()
        left = {*self._server.server_state.tasks}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_LAST_SECONDS)

    def stop(self) -> None:
        """Drain; said twice, end at once."""
        if self._state.draining:
            self._server.force_exit = True
        self._state.draining = True
        self._server.should_exit = True
        for end in self._state.on_drain:
            end()


async def run_until_told(server: WebServer, say: Callable[[str], None]) -> None:
    """Until SIGTERM or Ctrl-C. Signals reach the main thread alone: elsewhere, until `stop`."""
    if current_thread() is not main_thread():
        await server.run()
        return

    async def obey(*, task_status: TaskStatus[None]) -> None:
        with ending_signals() as signals:
            task_status.started()
            async for number in signals:
                say(f"{number.name}: it ends after what is being answered; once more, at once")
                server.stop()

    async with anyio.create_task_group() as tasks:
        await tasks.start(obey)
        await server.run()
        tasks.cancel_scope.cancel()


class PatientProtocol(asyncio.Protocol):
    """Mixed into one that reads HTTP: a connection whose next request does not begin in time is
    closed.
    """

    seconds: ClassVar[float]
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    cycle: Any  # of the request that is being answered; None before the first
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  # as the library has it
        super().connection_made(transport)
        self._patience = self.loop.call_later(self.seconds, self._lose_patience)

    def data_received(self, data: bytes) -> None:
        if self._patience is None and self._is_idle:
            self._patience = self.loop.call_later(self.seconds, self._lose_patience)
        super().data_received(data)
        if not self._is_idle:
            self.stay_patient()

    def connection_lost(self, exc: Exception | None) -> None:
        self.stay_patient()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        """No request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def stay_patient(self) -> None:
        """Wait for as long as it takes."""
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        self._patience = None
        if self._is_idle and not self.transport.is_closing():
            self.transport.close()


class _WebProtocol(PatientProtocol, HttpToolsProtocol):
    """A head that does not end is refused: the parser itself would go on collecting."""

    most_bytes: ClassVar[int]
    _in_head = False
    _head = 0

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._head = self._head + len(data) if self._in_head else 0
        if self._head > self.most_bytes and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()


def _web_protocol(settings: WebSettings) -> type[asyncio.Protocol]:
    limits = {"seconds": settings.header_seconds, "most_bytes": settings.header_bytes}
    return type("WebProtocol", (_WebProtocol,), limits)
