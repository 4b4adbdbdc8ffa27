"""MCP over HTTP: the doors of a server, by persona. The SDK is loaded when a client first comes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mentis.errors import EngineMissing, RequestRefused
from mentis.home.parts import Parts
from mentis.settings.web import WebSettings
from mentis.stores.files.home import Home
from mentis.web.application import Door, token_of
from mentis.web.problems import WebProblem
from mentis.web.tokens import AccessToken

# Whether a session is one of whoever holds the token.
IsOwnSession: TypeAlias = Callable[[AccessToken, str], bool]
_METHODS = ("GET", "POST", "DELETE")
_INVALID_REQUEST, _INTERNAL_ERROR = -32600, -32603


@dataclass(frozen=True, slots=True)
class ServedPlace:
    """What an endpoint is opened with."""

    home: Home
    settings: WebSettings
    parts: Parts
    is_own: IsOwnSession


@dataclass(slots=True)
class McpDoors:
    """`/mcp` and `/mcp/PERSONA`. They answer while `running` is entered, in one event loop."""

    place: ServedPlace
    _tasks: TaskGroup | None = None
    _endpoints: dict[str, ASGIApp] = field(default_factory=dict[str, ASGIApp])
    _opening: anyio.Lock = field(default_factory=anyio.Lock)
    _streams: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    def doors(self) -> list[Door]:
        """For everybody who may read; what a tool needs beside is checked when it is called."""
        return [Door(path, self._answer, "read", _METHODS) for path in ("/mcp", "/mcp/{persona}")]

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    def drain(self) -> None:
        """End the streams on which nothing was asked: they would last as long as the client."""
        for stream in tuple(self._streams):
            stream.cancel()

    async def _answer(self, request: Request) -> Response:
        token = token_of(request)
        persona = await self._persona(request.path_params.get("persona"), token)
        return _Handed(
            partial(
                self._stream if request.method == "GET" else _hand, await self._endpoint(persona)
            )
        )

    async def _persona(self, named: str | None, token: AccessToken) -> str:
        known = await to_thread.run_sync(self.place.home.personas)
        allowed = [one for one in known if token.agent in ("", one)]
        if named is None and len(allowed) == 1:
            return allowed[0]
        if named in allowed:
            return named
        what = "several personas are here" if named is None else f"there is no persona {named!r}"
        paths = ", ".join(f"/mcp/{one}" for one in allowed)
        raise RequestRefused(what, hint=f"there are {paths}", status=404)

    async def _endpoint(self, persona: str) -> ASGIApp:
        async with self._opening:
            if persona not in self._endpoints:
                if self._tasks is None:
                    raise RequestRefused("it is not running yet", hint="try again", status=503)
                self._endpoints[persona] = await self._tasks.start(self._serve, persona)
        return self._endpoints[persona]

    async def _serve(self, persona: str, *, task_status: TaskStatus[ASGIApp]) -> None:
        """One persona's endpoint, from its first client on."""
        try:
            module: Any = await to_thread.run_sync(import_module, f"{__package__}.endpoint")
        except ModuleNotFoundError as error:
            raise EngineMissing(
                f"MCP needs the package mcp, which is not installed here ({error.name})",
                hint="pip install 'mentis[mcp]'",
            ) from error
        async with module.open_endpoint(self.place, persona) as endpoint:
            task_status.started(endpoint)
            await anyio.sleep_forever()

    async def _stream(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        begun = ended = False

        async def watched(message: Message) -> None:
            nonlocal begun, ended
            begun = True
            ended = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        with anyio.CancelScope() as stream:
            self._streams.add(stream)
            try:
                await app(scope, receive, watched)
            finally:
                self._streams.discard(stream)
        if stream.cancelled_caught and begun and not ended:
            with suppress(OSError):
                await send({"type": "http.response.body", "body": b""})


def mcp_problem(problem: WebProblem) -> tuple[str, bytes]:
    """An error in the form of the protocol, for what is refused before a message is read."""
    code = _INTERNAL_ERROR if problem.status >= 500 else _INVALID_REQUEST
    hint = f" (hint: {problem.hint})" if problem.hint else ""
    data = {"code": problem.code, "request_id": problem.request_id}
    error = {"code": code, "message": f"{problem.message}{hint}", "data": data}
    told = {"jsonrpc": "2.0", "id": None, "error": error}
    return "application/json", json.dumps(told, ensure_ascii=False).encode()


async def _hand(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


class _Handed(Response):
    """An answer that another application writes."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
