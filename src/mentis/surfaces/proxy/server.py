"""The server of the proxy: bound before it is announced, and ended from outside."""

from __future__ import annotations

import socket

import uvicorn
from starlette.types import ASGIApp

from mentis.settings.recorder import RecorderSettings
from mentis.web.server import QuietServer, listen

# Seconds; longer than programs keep a connection, so that none is closed under a new call.
_KEEP_ALIVE = 75


class ProxyServer:
    """Serves until `stop`; then what was begun may come to its end, for `drain_seconds`."""

    def __init__(self, app: ASGIApp, settings: RecorderSettings) -> None:
        # No header is added to an answer, and no WebSocket taken: the relay says why.
        config = uvicorn.Config(
            app,
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
            h11_max_incomplete_event_size=settings.header_bytes,
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
