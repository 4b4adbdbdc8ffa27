"""Answers that somebody waits for: they end when whoever asked has gone."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mentis.errors import MentisError

from .problems import WebProblem, problem_of

T = TypeVar("T")
Emit: TypeAlias = Callable[[bytes], None]
EVENTS = "text/event-stream; charset=utf-8"
LINES = "application/x-ndjson"


class ClientGone(Exception):
    """Nobody reads the answer any more."""


def sse(data: object, event: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    named = f"event: {event}\n" if event else ""
    return f"{named}data: {text}\n\n".encode()


async def while_there(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """What `work` comes to; ClientGone, with the work cancelled, once the client has left."""
    watching = asyncio.ensure_future(_left(request.receive))  # a group would cost as much as it all
    with anyio.CancelScope() as working:

        def end(_watching: asyncio.Future[None]) -> None:
            working.cancel()

        watching.add_done_callback(end)
        try:
            return await work()
        finally:
            watching.remove_done_callback(end)
            watching.cancel()
    watching.result()  # what was wrong with how it was sent
    raise ClientGone


class Streamed(Response):
    """Sends what `work` emits as it comes. What fails before the first piece is an error as any
    other; later, `fail` says it in a last piece. Whoever leaves cancels the work.
    """

    def __init__(
        self,
        work: Callable[[Emit], Awaitable[None]],
        *,
        fail: Callable[[WebProblem], bytes],
        media_type: str = EVENTS,
    ) -> None:
        super().__init__(media_type=media_type)
        self._work = work
        self._fail = fail
        del self.headers["content-length"]
        self.headers["x-accel-buffering"] = "no"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # ASGI
        pieces, waiting = anyio.create_memory_object_stream[bytes](math.inf)
        failures: list[MentisError] = []
        started = False

        def emit(piece: bytes) -> None:
            # Work that is just being cancelled may still have something to say, to nobody.
            with suppress(anyio.BrokenResourceError):
                pieces.send_nowait(piece)

        async def produce() -> None:
            with pieces:
                try:
                    await self._work(emit)
                except MentisError as error:
                    failures.append(error)

        async def pass_on() -> None:
            nonlocal started
            with waiting:
                async for piece in waiting:
                    if not started:
                        started = True
                        await self._start(send)
                    body = piece + _rest(waiting)
                    await send({"type": "http.response.body", "body": body, "more_body": True})

        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                await _left(receive)
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            tasks.start_soon(produce)
            await pass_on()
            if failures and not started:
                tasks.cancel_scope.cancel()
                raise failures[0]
            last = self._fail(problem_of(failures[0])) if failures else b""
            if not started:
                await self._start(send)
            await send({"type": "http.response.body", "body": last})
            tasks.cancel_scope.cancel()

    async def _start(self, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )


def _rest(waiting: MemoryObjectReceiveStream[bytes]) -> bytes:
    """What has come meanwhile, so that a slow reader costs fewer sends."""
    more: list[bytes] = []
    while True:
        try:
            more.append(waiting.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream):
            return b"".join(more)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
