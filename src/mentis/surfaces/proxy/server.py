"""The server of the proxy: bound before it is announced, and ended from outside."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, ClassVar, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mentis.settings.recorder import RecorderSettings
from mentis.web.guard import AsgiApp
from mentis.web.server import PatientProtocol, QuietServer, listen

from .lines import ProgramLine

# Seconds; longer than programs keep a connection, so that none is closed under a new call.
_KEEP_ALIVE = 75
_CHUNKED = b"\r\ntransfer-encoding: chunked\r\n"


class ProxyServer:
    """Serves until `stop`; then what was begun may come to its end, for `drain_seconds`."""

    def __init__(self, app: AsgiApp, settings: RecorderSettings) -> None:
        limits = {"seconds": settings.header_seconds, "most_bytes": settings.header_bytes}
        # No header is added to an answer.
        config = uvicorn.Config(
            app,
            http=type("OwnProxyProtocol", (ProxyProtocol,), limits),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=max(1, round(settings.drain_seconds)),
        )
        self._server = QuietServer(config)
        self._socket: socket.socket | None = None

    def bind(self, host: str, port: int) -> str:
        """Take the address and say what it is."""
        self._socket, address = listen(host, port, setting="recorder.port")
        return address

    async def run(self) -> None:
        if self._socket is not None:
            await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Said twice, it ends at once."""
        self._server.force_exit = self._server.should_exit
        self._server.should_exit = True


class ProxyProtocol(PatientProtocol, H11Protocol):
    """HTTP, until a request asks for something else: a tunnel (CONNECT) or a WebSocket. Then its
    connection is a line, and the application decides what goes over it.
    """

    most_bytes: ClassVar[int]

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  # as the library has it
        self.conn = PieceConnection(h11.SERVER, self.most_bytes)
        super().connection_made(transport)

    def _should_upgrade(self) -> bool:
        return self.scope["method"] == "CONNECT" or self._get_upgrade() == b"websocket"

    def handle_websocket_upgrade(self, event: Any) -> None:  # noqa: ANN401, ARG002  # as the library has it
        self.connections.discard(self)
        self.stay_patient()
        line = ProgramLine(self.transport, self.conn.trailing_data[0], self._again)
        self.connections.add(line)  # pyright: ignore[reportArgumentType]  # it is only told to shut down
        app = cast("AsgiApp", self.app)  # pyright: ignore[reportUnknownMemberType]  # it is ours
        task = self.loop.create_task(line.run(app, {**self.scope}))

        def ended(task: asyncio.Task[None]) -> None:
            self.tasks.discard(task)
            self.connections.discard(line)  # pyright: ignore[reportArgumentType]  # as above

        task.add_done_callback(ended)
        self.tasks.add(task)

    def _again(self, state: dict[str, Any]) -> ProxyProtocol:
        """For the requests inside a tunnel that ends here."""
        return type(self)(self.config, self.server_state, state)


class PieceConnection(h11.Connection):
    """HTTP/1.1 as the library speaks it, but a piece of a chunked answer is only framed: a long
    answer has thousands, and none of them changes what may come next.
    """

    _chunked = False

    def send(self, event: Any) -> Any:  # noqa: ANN401  # one of six, each with an answer of its own
        if type(event) is h11.Data and self._chunked and self.our_state is h11.SEND_BODY:
            data = event.data
            return b"%x\r\n%b\r\n" % (len(data), data) if data else b""
        written = super().send(event)
        if type(event) is h11.Response:
            self._chunked = _CHUNKED in (written or b"").lower()
        return written
