"""One persona behind HTTP, by the official SDK: sessions where a client's version of the protocol
has them, none where it has not.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import cast

from anyio import to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken as Credential
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from mentis.errors import Defect
from mentis.status.statuses import open_statuses
from mentis.web.application import token_of
from mentis.web.tokens import AccessToken

from .answers import Answers, Monitor
from .block_prompts import BlockPrompts
from .conversations import open_guard
from .http import ServedPlace
from .rights import ClientRights
from .server import make_server

_NO_MONITOR = "pending drafts are not consumed over HTTP: `mentis status watch` does it"


@asynccontextmanager
async def open_endpoint(place: ServedPlace, persona: str) -> AsyncGenerator[ASGIApp]:
    """Answers until the block ends; then its sessions are over."""
    path, parts = place.home.path, place.parts
    guard = await to_thread.run_sync(open_guard, path, parts)
    statuses = await to_thread.run_sync(open_statuses, path, persona, parts)
    try:
        answers = Answers(
            statuses,
            monitor=Monitor(reason=_NO_MONITOR),
            guard=guard,
            prompts=BlockPrompts(path, persona, parts),
        )

        def rights_of(request: object) -> ClientRights:
            return _rights(place, request)

        manager = StreamableHTTPSessionManager(
            make_server(answers, version("mentis"), rights_of),
            # Host and origin were checked before, by the guard of every door.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            session_idle_timeout=place.settings.mcp_idle_seconds,
            max_request_body_size=place.settings.body_bytes,
            max_sessions=place.settings.mcp_sessions,
        )

        async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
            scope["user"] = _credential(scope["state"]["token"])
            await manager.handle_request(scope, receive, send)

        async with manager.run():
            yield endpoint
    finally:
        statuses.close()


def _credential(token: AccessToken) -> AuthenticatedUser:
    """Whose session it is, as the SDK wants it: the token that began one is the one to go on."""
    return AuthenticatedUser(
        Credential(token="", client_id=token.digest, scopes=[token.scope], subject=token.person.id)
    )


def _rights(place: ServedPlace, request: object) -> ClientRights:
    if not isinstance(request, Request):
        raise Defect("a message came without its request", hint="please report it")
    token = token_of(cast("Request", request))
    return ClientRights(
        owner=token.person.trust == "owner" and not token.session,  # it is for that one alone
        writes=token.allows("chat"),
        sees=lambda session: place.is_own(token, session),
    )
