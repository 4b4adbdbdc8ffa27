"""An HTTP answer, live or recorded: its bytes counted, its events taken out one by one."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from anyio import move_on_after

from mentis.errors import ProviderRefused, ProviderUnreachable
from mentis.values.route import Route

from .dialects import Dialect

MAX_BYTES = 8_000_000
_STREAM = {"content-type": "text/event-stream"}
_TAIL_SECONDS = 0.2  # for the empty last chunk, without which a connection is not used again


@dataclass(slots=True)
class HttpAnswer:
    """`heard` keeps the bytes as they came, if somebody wants to keep them."""

    status: int
    headers: dict[str, str]
    body: AsyncIterator[bytes]
    heard: bytearray = field(default_factory=bytearray)
    whole: bool = False

    @property
    def streamed(self) -> bool:
        return "text/event-stream" in self.headers.get("content-type", "")


async def limit_bytes(
    answer: HttpAnswer, route: Route, *, limit: int, keep: bool
) -> AsyncIterator[bytes]:
    """The bytes, as many as are allowed; one more is an error that says so."""
    total = 0
    async for piece in _never_silent(answer.body, route):
        total += len(piece)
        if total > limit:
            raise ProviderRefused(
                f"route {route.name!r}: the answer is longer than {limit} bytes",
                hint="ask for less, or raise limits.answer_bytes",
                limit=limit,
            )
        if keep:
            answer.heard += piece
        yield piece
    answer.whole = True


async def _never_silent(body: AsyncIterator[bytes], route: Route) -> AsyncIterator[bytes]:
    """The pieces; a pause that is too long ends them. The first may take its time."""
    piece = await anext(body, None)
    while piece is not None:
        yield piece
        with move_on_after(route.idle_seconds or math.inf) as pause:
            piece = await anext(body, None)
        if pause.cancelled_caught:
            raise ProviderUnreachable(
                f"route {route.name!r}: nothing more came for {route.idle_seconds:g} seconds",
                hint=f"raise routes.{route.name}.idle_seconds if the server is that slow",
            )


async def events_in(
    answer: HttpAnswer,
    dialect: Dialect,
    route: Route,
    *,
    limit: int = MAX_BYTES,
    keep: bool = False,
) -> AsyncIterator[str]:
    """One JSON text per event; nothing after the one that ends the stream, be it a bare mark."""
    import httpx2

    pieces = limit_bytes(answer, route, limit=limit, keep=keep)
    if not answer.streamed:
        yield b"".join([piece async for piece in pieces]).decode("utf-8", "replace")
        return
    # The parser wants a response; this one is made of our counted bytes, live or recorded.
    asked = httpx2.Request("POST", "http://answer.invalid")
    response = httpx2.Response(200, headers=_STREAM, content=pieces, request=asked)
    source = httpx2.EventSource(response, limit)
    async for event in source:
        if not event.data:
            continue
        yield event.data
        if event.data == dialect.done or event.event in dialect.ends:
            await _rest(pieces, answer)
            return


async def _rest(pieces: AsyncIterator[bytes], answer: HttpAnswer) -> None:
    """Read what is left of the connection's answer, so that the next call can use it."""
    with move_on_after(_TAIL_SECONDS):
        async for _ in pieces:
            pass
    answer.whole = True  # its own end marker said so
