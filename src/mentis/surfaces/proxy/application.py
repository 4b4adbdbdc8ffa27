"""The application: who may come in, and the relay behind it."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mentis.errors import UsageError
from mentis.net.targets import is_loopback

from .refusals import refuse
from .relay import Relay


def make_app(relay: Relay, hosts: Collection[str] = ()) -> ASGIApp:
    """`/TARGET/...` is passed on. `hosts` are names of this server, beside those of loopback."""
    app = Starlette(routes=[Route("/healthz", _health), Route("/{target}/{path:path}", relay)])
    return HostGuard(app, hosts)


class HostGuard:
    """Keeps web pages out: whoever browses must not have their browser call models here, nor
    write into the record, under a name that leads to this machine (DNS rebinding) or under none.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        origin = headers.get("origin", "")
        if not self._own(host):
            why = f"the host {host!r} is none of this server's"
        elif headers.get("sec-fetch-site") == "cross-site" or not self._may(origin):
            why = "a web page of another site asks"
        else:
            await self._app(scope, receive, send)
            return
        await refuse(send, 403, UsageError(why, hint="call it from a program on this machine"))

    def _own(self, host: str) -> bool:
        return is_loopback(host) or host in self._hosts

    def _may(self, origin: str) -> bool:
        """Programs name none, or one that is no web site; `null` is a page in a frame."""
        if not origin.startswith(("http://", "https://")):
            return origin != "null"
        return self._own(urlsplit(origin).hostname or "")


async def _health(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})
