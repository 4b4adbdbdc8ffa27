"""A server that is reached by streamable HTTP, through the SDK's transport and our HTTP policy."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self, cast

from mentis.net.client import open_client
from mentis.net.targets import check_target, host_of, is_loopback
from mentis.values.json import JsonObject

from .declared import McpServer
from .watch import KEY, MORE_THAN, Watch

if TYPE_CHECKING:
    from types import TracebackType

    import httpx2
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage


@asynccontextmanager
async def connect_http(
    server: McpServer, secret: str, watch: Watch
) -> AsyncGenerator[tuple[_Reading, _Writing]]:
    """The streams of the SDK to that address. RouteError if it may not be called."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    check_target(server.url, with_key=bool(secret))
    proxy = not is_loopback(host_of(server.url))
    async with open_client(read_seconds=server.times.connect, through_proxy=proxy) as client:
        # A stream of changes may be silent for ever; whatever is waited for has its own deadline.
        client.timeout = httpx2.Timeout(server.times.connect, read=None)
        if secret:
            bearer = server.header.lower() == "authorization"
            client.headers[server.header] = f"Bearer {secret}" if bearer else secret

        async def bound_stream(response: httpx2.Response) -> None:
            response.stream = _bounded(response, watch)

        client.event_hooks = {"response": [bound_stream]}
        transport = streamable_http_client(
            server.url, http_client=client, max_sse_event_size=server.caps.frame_bytes
        )
        async with transport as (read, write):
            yield _Reading(read, watch), _Writing(write, watch)


def unsent_keys(error: BaseException) -> Iterator[str]:
    """The keys of calls that cannot have reached the server, by what failed."""
    import httpx2

    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from unsent_keys(one)
    elif isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        body = json.loads(error.request.content or b"{}")
        meta = cast("JsonObject", body.get("params", {}).get("_meta", {}))
        yield str(meta.get(KEY, ""))


def _bounded(response: httpx2.Response, watch: Watch) -> httpx2.AsyncByteStream:
    import httpx2

    inner = cast("httpx2.AsyncByteStream", response.stream)
    stream = response.headers.get("content-type", "").startswith("text/event-stream")
    most = watch.server.caps.frame_bytes

    class BoundedStream(httpx2.AsyncByteStream):
        """Counts what comes. One body is one message; of a stream each event is bounded."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            total = 0
            async for chunk in inner:
                total += len(chunk)
                if not watch.weigh(len(chunk)):
                    raise httpx2.StreamError("too many bytes")
                if total > most and not stream:
                    raise httpx2.StreamError(f"{MORE_THAN} {most} bytes")
                yield chunk

        async def aclose(self) -> None:
            await inner.aclose()

    return BoundedStream()


class _Reading:
    """The SDK's stream of what came, past the watch."""

    def __init__(self, inner: object, watch: Watch) -> None:
        self._inner = cast("_Reading", inner)
        self._watch = watch

    async def receive(self) -> SessionMessage | Exception:
        import anyio

        while True:
            item = await self._inner.receive()
            if isinstance(item, Exception):
                if not self._watch.noise(str(item).encode()):
                    raise anyio.EndOfStream
                continue
            message = self._watch.came(item.message)
            if self._watch.over:
                raise anyio.EndOfStream
            if message is not None:
                item.message = message
                return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class _Writing:
    """The SDK's stream of what goes, past the watch."""

    def __init__(self, inner: object, watch: Watch) -> None:
        self._inner = cast("_Writing", inner)
        self._watch = watch

    async def send(self, item: SessionMessage, /) -> None:
        message: JSONRPCMessage = item.message
        self._watch.went(message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
