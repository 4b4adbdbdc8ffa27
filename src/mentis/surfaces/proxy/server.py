"""The server of the proxy: bound before it is announced, and ended from outside."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from mentis.errors import WorldError
from mentis.settings.recorder import RecorderSettings

# Seconds; longer than programs keep a connection, so that none is closed under a new call.
_KEEP_ALIVE = 75


class _Server(uvicorn.Server):
    """Signals are for whoever started it."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


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
        self._server = _Server(config)
        self._socket: socket.socket | None = None

    def bind(self, host: str, port: int) -> str:
        """Take the address and say what it is."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=1024)
        except (OSError, OverflowError) as error:
            raise WorldError(
                f"cannot listen on {host} port {port}: {error}",
                hint="choose another with --port, or recorder.port",
            ) from error
        taken = self._socket.getsockname()[1]
        return f"http://[{host}]:{taken}" if ":" in host else f"http://{host}:{taken}"

    async def run(self) -> None:
        if self._socket is not None:
            await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Said twice, it ends at once."""
        self._server.force_exit = self._server.should_exit
        self._server.should_exit = True
