"""Any model server over HTTP. What differs between them stands in `dialects`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from mentis.errors import RouteError
from mentis.net.client import open_client
from mentis.net.redact import redact
from mentis.net.targets import check_target, host_of, is_loopback
from mentis.ports.secrets import Secrets
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .answer import MAX_BYTES, HttpAnswer, events_in
from .dialects import DIALECTS, Dialect
from .faults import refusal, unreachable
from .opening import read_opening
from .recorder import Recorder
from .unpacking import PACKINGS, unpack

if TYPE_CHECKING:
    import httpx2

# The key that a route sends, "" for none. It raises where there is none, or it may not go there.
KeyOf: TypeAlias = Callable[[Route], str]


class HttpProvider:
    """Streams where the server streams; a whole body comes through as one event."""

    def __init__(
        self, key_of: KeyOf, *, max_bytes: int = MAX_BYTES, recorder: Recorder | None = None
    ) -> None:
        self._key_of = key_of
        self._max_bytes = max_bytes
        self._recorder = recorder
        self._clients: dict[tuple[float, bool], httpx2.AsyncClient] = {}

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        import httpx2

        check_target(route.url, with_key=bool(route.key_env))
        dialect, key = DIALECTS[route.backend], self._key_of(route)
        try:
            async with self._send(dialect, route, rendering, key=key) as answer:
                if answer.status != 200:
                    raise await refusal(answer, route, key)
                keep = self._recorder is not None
                events = events_in(answer, dialect, route, limit=self._max_bytes, keep=keep)
                yield _redacted(await read_opening(answer, events, route, key=key), key)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreachable(error, route, key) from error

    @asynccontextmanager
    async def _send(
        self, dialect: Dialect, route: Route, rendering: Rendering, *, key: str
    ) -> AsyncGenerator[HttpAnswer, None]:
        """The answer from its first byte on; leaving lets go of the connection and records."""
        headers, body = dialect.headers_for(route, key), rendering.body()
        url = dialect.address(route, rendering.wire)
        client = self._client(route)
        async with client.stream("POST", url, content=body, headers=headers) as response:
            # A cookie is nothing a model needs, and it would tie calls together.
            client.cookies.clear()
            packing = response.headers.get("content-encoding", "").strip().lower()
            pieces = (
                unpack(response.aiter_raw(), route)
                if packing in PACKINGS
                else response.aiter_bytes()
            )
            answer = HttpAnswer(response.status_code, dict(response.headers), pieces)
            try:
                yield answer
            finally:
                if self._recorder is not None:
                    await self._recorder.keep(route, body, answer, secrets=[key])

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _client(self, route: Route) -> httpx2.AsyncClient:
        seconds, outside = route.timeout_seconds, not is_loopback(host_of(route.url))
        if (seconds, outside) not in self._clients:
            client = open_client(read_seconds=seconds, through_proxy=outside)
            self._clients[seconds, outside] = client
        return self._clients[seconds, outside]


def key_of(route: Route, secrets: Secrets) -> str:
    """The key a route needs, or nothing if it needs none."""
    if not route.key_env:
        return ""
    # A newline at the end is what a file of secrets most often adds.
    key = (secrets.get(route.key_env) or "").strip()
    if key and key.isascii() and key.isprintable() and " " not in key:
        return key
    wrong = "holds characters that no key has" if key else "is not set"
    raise RouteError(
        f"route {route.name!r} takes its key from {route.key_env}, which {wrong}",
        hint=f"export {route.key_env}=...",
        route=route.name,
    )


async def _redacted(events: AsyncIterator[str], key: str) -> AsyncIterator[str]:
    """A server may echo the key in what it says; it goes no further than here."""
    async for event in events:
        yield redact(event, [key])
