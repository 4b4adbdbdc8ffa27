"""The application of a surface: its doors, the guard in front of them, and how it is doing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from mentis.errors import AccessDenied, RequestRefused

from .guard import AsgiApp, GuardParts, WebGuard
from .metrics import CONTENT_TYPE
from .streams import ClientGone
from .tokens import AccessToken, Scope

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
_GONE = 499


@dataclass(frozen=True, slots=True)
class Door:
    """One path and what its caller must be allowed; no scope means everybody."""

    path: str
    endpoint: Endpoint
    scope: Scope | None
    methods: tuple[str, ...] = ("GET",)


@dataclass(slots=True)
class AppState:
    """Whether it takes more requests; `ready` says why it does not, or nothing. `on_drain`: what
    ends streams that last as long as their clients.
    """

    draining: bool = False
    ready: Callable[[], str] = field(default=lambda: "")
    on_drain: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])


def make_app(doors: Sequence[Door], parts: GuardParts, state: AppState | None = None) -> AsgiApp:
    """These doors and those that every surface has: /healthz, /readyz and /metrics."""
    state = state or AppState()
    common = [
        Door("/healthz", _health, None),
        Door("/readyz", _readiness(state), None),
        Door("/metrics", _metrics(parts), "read"),
    ]
    paths: dict[str, list[Door]] = {}
    for door in (*common, *doors):
        paths.setdefault(door.path, []).append(door)
    routes = [Route(path, _Behind(same)) for path, same in paths.items()]
    app: AsgiApp = Router(routes, redirect_slashes=False, default=_nothing)
    if parts.settings.origins:
        app = CORSMiddleware(
            app,
            allow_origins=parts.settings.origins,
            allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=("*",),
            expose_headers=("x-request-id", "retry-after", "etag", "link", "mcp-session-id"),
        )
    return WebGuard(app, parts)


def token_of(request: Request) -> AccessToken:
    """Whose request it is, behind a door that has a scope."""
    token: AccessToken | None = request.state.token
    if token is None:
        raise _nobody()
    return token


class _Behind:
    """The doors of one path, for every method: what none of them is for is refused in our form."""

    def __init__(self, doors: Sequence[Door]) -> None:
        self._doors = doors

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        door = next((one for one in self._doors if method in one.methods), None)
        if door is None:
            refusal = _refusal(request.scope, 405)
            refusal.facts["allow"] = ", ".join(m for one in self._doors for m in one.methods)
            raise refusal
        request.state.door = door.path
        if door.scope is not None:
            _check_scope(token_of(request), door.scope)
        try:
            return await door.endpoint(request)
        except (ClientGone, ClientDisconnect):
            return Response(status_code=_GONE)  # nobody reads it; the log does


def _check_scope(token: AccessToken, needed: Scope) -> None:
    if not token.allows(needed):
        raise AccessDenied(
            f"token {token.name!r} has the scope {token.scope!r}, and this needs {needed!r}",
            hint=f"make one that has it: mentis tokens new NAME --scope {needed}",
            status=403,
        )


def _nobody() -> AccessDenied:
    return AccessDenied(
        "this needs a token, and none came",
        hint="make one with `mentis tokens new NAME`, and send it as the API key",
        status=401,
    )


async def _nothing(scope: AsgiScope, _receive: Receive, _send: Send) -> None:
    raise _refusal(scope, 404)


def _refusal(scope: AsgiScope, status: int) -> AccessDenied | RequestRefused:
    """Without a token nobody learns what there is."""
    if scope["state"].get("token") is None:
        return _nobody()
    what = "there is nothing at" if status == 404 else f"{scope['method']} is not for"
    return RequestRefused(
        f"{what} {scope['path']}", hint="docs/guides has the paths", status=status
    )


async def _health(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _readiness(state: AppState) -> Endpoint:
    async def readiness(_request: Request) -> Response:
        reason = "it is about to stop" if state.draining else state.ready()
        if reason:
            return JSONResponse({"status": "not ready", "reason": reason}, status_code=503)
        return JSONResponse({"status": "ready"})

    return readiness


def _metrics(parts: GuardParts) -> Endpoint:
    async def metrics(request: Request) -> Response:
        if token_of(request).person.trust != "owner":
            raise AccessDenied("figures are not for guests", hint="ask the owner", status=403)
        return PlainTextResponse(parts.metrics.text(), media_type=CONTENT_TYPE)

    return metrics
