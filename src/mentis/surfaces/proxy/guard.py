"""The guard of the proxy: who may call, how much and how long, and one line of log for each.

It shares the rules of every HTTP surface (`web.guard`) and differs where a program must not notice
it: its own key is for its target and never read here, and nothing is added to what is passed on.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from anyio import to_thread

from mentis.errors import AccessDenied, MentisError, RequestRefused
from mentis.settings.recorder import RecorderSettings
from mentis.web.guard import (
    AccessRecord,
    AsgiApp,
    BodyLimits,
    FindToken,
    GuardedRequest,
    Message,
    Receive,
    ScopeDict,
    Send,
    access_record,
    check_head,
    check_host,
    check_length,
    check_origin,
    client_of,
    count_request,
    host_names,
    only_error,
    read_within,
    request_headers,
)
from mentis.web.metrics import Metrics
from mentis.web.rates import RequestRate

from .refusals import refuse

# Where the secret stands in a path: /t/SECRET/TARGET/...
SECRET_STEP = "t"  # noqa: S105  # the name of the place, not the secret
_OPEN = (b"/healthz",)


@dataclass(frozen=True, slots=True)
class ProxyAccess:
    """Who may call: whoever knows `secret`, or has a token of the owner's that `find_token` knows.
    Without a secret everybody who reaches the port.
    """

    secret: str = field(default="", repr=False)
    find_token: FindToken | None = None

    async def allows(self, given: str) -> bool:
        if hmac.compare_digest(given.encode(), self.secret.encode()):
            return True
        if not given or self.find_token is None:
            return False
        token = await to_thread.run_sync(self.find_token, given)
        return token is not None and token.person.trust == "owner" and token.allows("chat")


@dataclass(frozen=True, slots=True)
class ProxyParts:
    """What the guard works with."""

    settings: RecorderSettings
    access: ProxyAccess = field(default_factory=ProxyAccess)
    metrics: Metrics = field(default_factory=Metrics)
    on_access: Callable[[AccessRecord], None] | None = None
    on_defect: Callable[[BaseException], None] | None = None
    monotonic: Callable[[], float] = time.monotonic


class ProxyGuard:
    """An ASGI application in front of another. Below it `state` has no secret any more."""

    def __init__(self, app: AsgiApp, parts: ProxyParts) -> None:
        self._app = app
        self._parts = parts
        chosen = parts.settings
        self._limits = BodyLimits(
            chosen.request_bytes,
            chosen.body_seconds,
            "recorder.request_bytes",
            "recorder.body_seconds",
        )
        failures = chosen.failures_per_minute
        self._failures = RequestRate(failures, failures, parts.monotonic)
        self._hosts = host_names(chosen.hosts, chosen.host)
        self._here = 0

    async def __call__(self, scope: ScopeDict, receive: Receive, send: Send) -> None:
        exchange = GuardedRequest("", self._parts.monotonic())
        given, shown = self._split(scope)
        self._here += 1
        try:
            await self._answer(shown, given, exchange, receive, send)
        finally:
            self._here -= 1
            self._note(shown, exchange)

    async def _answer(  # noqa: PLR0917  # the three of ASGI, and what was read of them
        self,
        scope: ScopeDict,
        given: str,
        exchange: GuardedRequest,
        receive: Receive,
        send: Send,
    ) -> None:
        watched = _watched(exchange, send)
        try:
            headers = request_headers(scope)
            self._check_head(scope, headers)
            await self._check_secret(scope, headers, given)
            await self._app(scope, read_within(exchange, receive, self._limits), watched)
        except Exception as caught:
            error = only_error(caught)
            if not isinstance(error, MentisError):
                if self._parts.on_defect is not None and not isinstance(error, OSError):
                    self._parts.on_defect(error)
                raise
            exchange.code = error.code
            if not exchange.status:
                await refuse(watched, error)
                return
            raise  # what has begun cannot become something else: it breaks off

    def _split(self, scope: ScopeDict) -> tuple[str, ScopeDict]:
        """The secret in the path, and the request without it: as it is logged and passed on."""
        shown = {**scope, "state": {**scope["state"]}}
        _, *steps = scope["raw_path"].split(b"/", 3)
        inside = "target" in scope["state"]
        if inside or not self._parts.access.secret or steps[:1] != [SECRET_STEP.encode()]:
            return "", shown
        given = b"".join(steps[1:2]).decode("latin-1")
        raw = b"/" + b"".join(steps[2:])
        path = "/" + "".join(scope["path"].split("/", 3)[3:])
        return given, {**shown, "raw_path": raw, "path": path}

    def _check_head(self, scope: ScopeDict, headers: Mapping[str, str]) -> None:
        chosen = self._parts.settings
        if self._here > chosen.at_once:
            raise RequestRefused(
                f"{chosen.at_once} requests are being answered already",
                hint="try again in a moment, or raise recorder.at_once",
                status=503,
                retry_after=1,
            )
        if not asks_as_proxy(scope):
            check_host(scope, headers, self._hosts, setting="recorder.hosts")
            _check_page(headers)
        check_head(scope, chosen.header_bytes)
        check_length(headers, self._limits)

    async def _check_secret(self, scope: ScopeDict, headers: Mapping[str, str], given: str) -> None:
        access, forward = self._parts.access, asks_as_proxy(scope)
        if not access.secret or "target" in scope["state"] or scope["raw_path"] in _OPEN:
            return
        if await access.allows(_proxy_secret(headers) if forward else given):
            return
        if wait := self._failures.take(client_of(scope)):
            raise RequestRefused(
                "too many wrong secrets came from this address",
                hint="wait, and take the address that `mentis record` printed",
                status=429,
                retry_after=wait,
            )
        place = "as credentials of the proxy" if forward else "in the path"
        raise AccessDenied(
            f"the secret of this recorder is missing or wrong: it stands {place}",
            hint="take the address that `mentis record` printed",
            status=407 if forward else 401,
        )

    def _note(self, scope: ScopeDict, exchange: GuardedRequest) -> None:
        parts, seconds = self._parts, self._parts.monotonic() - exchange.began
        door = str(scope["state"].get("door", "other"))
        count_request(parts.metrics, scope, exchange, seconds=seconds, door=door, here=self._here)
        if parts.on_access is not None:
            parts.on_access(access_record(scope, exchange, seconds))


def asks_as_proxy(scope: ScopeDict) -> bool:
    """Whether it names its server by address, as programs ask a forward proxy: no web page can
    make a browser do so here.
    """
    inside = "target" in scope["state"]
    return inside or scope["method"] == "CONNECT" or scope["raw_path"].startswith(b"http://")


def _check_page(headers: Mapping[str, str]) -> None:
    """Programs name no page, or one that is no web site; `null` is a page in a frame."""
    origin = headers.get("origin", "null-of-a-program")
    web = origin == "null" or origin.startswith(("http://", "https://"))
    if web:
        check_origin(headers, ())
    if headers.get("sec-fetch-site") == "cross-site":
        raise RequestRefused(
            "a web page of another site may not call here",
            hint="call it from a program on this machine",
            status=403,
        )


def _proxy_secret(headers: Mapping[str, str]) -> str:
    """The password of `Proxy-Authorization: Basic`; the user's name says nothing."""
    kind, _, value = headers.get("proxy-authorization", "").partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _watched(exchange: GuardedRequest, send: Send) -> Send:
    # It hands on what is to be awaited: a long answer has thousands of pieces.
    def tell(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
        elif message["type"] == "http.response.body":
            exchange.sent += len(message.get("body", b""))
        return send(message)

    return tell
