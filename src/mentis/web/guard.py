"""The guard in front of every request, whatever it is for.

In this order: its name (a request id), whether it may come at all (host, origin, size, how many at
once), whose it is (token, rate), then the application, with what it reads and how long it takes
inside the limits. Errors leave in the form of the path's protocol; one line of log and the figures
are written of each, and nothing of what was said.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit

import anyio

from mentis.errors import AccessDenied, MentisError, RequestRefused
from mentis.settings.web import WebSettings
from mentis.values.value import Value

from .browsers import COOKIE_PATHS, FILE_PATHS, check_same_origin, read_cookie
from .metrics import Metrics
from .problems import ProblemForm, problem_json, problem_of
from .rates import RequestRate
from .tokens import AccessToken

ScopeDict: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[ScopeDict, Receive, Send], Awaitable[None]]
FindToken: TypeAlias = Callable[[str], AccessToken | None]

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")  # that figures name
_PORT = re.compile(r":\d+$")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ANYWHERE = ("0.0.0.0", "::", "")  # noqa: S104  # compared with, not bound to


@dataclass(frozen=True, slots=True)
class AccessRecord(Value):
    """One request in the access log: who, where to, how it ended. Never what was said."""

    time: float
    request_id: str
    method: str
    path: str
    status: int
    seconds: float
    received: int
    sent: int
    client: str = ""
    token: str = ""
    person: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class GuardParts:
    """What the guard works with. `forms`: how errors are written, by the beginning of a path; the
    longest that fits counts. `hosts_setting` is where the names of the server are chosen.
    `find_browser`: the token that a browser's cookie stands for.
    """

    find_token: FindToken
    settings: WebSettings = field(default_factory=WebSettings)
    forms: Mapping[str, ProblemForm] = field(default_factory=dict[str, ProblemForm])
    metrics: Metrics = field(default_factory=Metrics)
    on_access: Callable[[AccessRecord], None] | None = None
    on_defect: Callable[[BaseException], None] | None = None
    monotonic: Callable[[], float] = time.monotonic
    hosts_setting: str = "web.hosts"
    find_browser: FindToken | None = None


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """How much and for how long a body may come, and the settings that say so."""

    most_bytes: int
    seconds: float
    bytes_setting: str = "web.body_bytes"
    seconds_setting: str = "web.body_seconds"

    def too_large(self) -> RequestRefused:
        return RequestRefused(
            f"the body has more than {self.most_bytes} bytes",
            hint=f"send less, or raise {self.bytes_setting}",
            status=413,
        )

    def too_slow(self) -> RequestRefused:
        return RequestRefused(
            f"the body did not arrive in {self.seconds:g} seconds",
            hint=f"send it faster, or raise {self.seconds_setting}",
            status=408,
        )


@dataclass(slots=True)
class GuardedRequest:
    """One request and how far its answer has come."""

    request_id: str
    began: float
    token: AccessToken | None = None
    status: int = 0
    received: int = 0
    sent: int = 0
    code: str = ""


class WebGuard:
    def __init__(self, app: AsgiApp, parts: GuardParts) -> None:
        self._app = app
        self._parts = parts
        chosen = parts.settings
        self._tokens = RequestRate(chosen.requests_per_minute, chosen.burst, parts.monotonic)
        failures = chosen.failures_per_minute
        self._failures = RequestRate(failures, failures, parts.monotonic)
        self._limits = BodyLimits(chosen.body_bytes, chosen.body_seconds)
        self._hosts = host_names(chosen.hosts, chosen.host)
        self._here = 0

    async def __call__(self, scope: ScopeDict, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = request_headers(scope)
        given = headers.get("x-request-id", "")
        fresh = given if _REQUEST_ID.fullmatch(given) else f"req_{secrets.token_hex(12)}"
        exchange = GuardedRequest(fresh, self._parts.monotonic())
        scope.setdefault("state", {}).update(request_id=fresh, token=None)
        self._here += 1
        try:
            await self._answer(scope, headers, exchange, receive, send)
        finally:
            self._here -= 1
            self._note(scope, exchange)

    async def _answer(  # noqa: PLR0917  # the three of ASGI, and what was read of them
        self,
        scope: ScopeDict,
        headers: Mapping[str, str],
        exchange: GuardedRequest,
        receive: Receive,
        send: Send,
    ) -> None:
        telling = _sender(exchange, send)
        try:
            self._check_head(scope, headers)
            exchange.token = scope["state"]["token"] = self._authenticate(scope, headers)
            reading = read_within(exchange, receive, self._limits)
            with anyio.fail_after(self._parts.settings.answer_seconds):
                await self._app(scope, reading, telling)
        except Exception as error:  # noqa: BLE001  # the boundary of the surface: it is told and recorded
            await self._refuse(scope, exchange, telling, only_error(error))

    # Whether it may come

    def _check_head(self, scope: ScopeDict, headers: Mapping[str, str]) -> None:
        chosen = self._parts.settings
        if self._here > chosen.at_once:
            raise RequestRefused(
                f"{chosen.at_once} requests are being answered already",
                hint="try again in a moment, or raise web.at_once",
                status=503,
                retry_after=1,
            )
        check_host(scope, headers, self._hosts, setting=self._parts.hosts_setting)
        check_origin(headers, chosen.origins)
        check_head(scope, chosen.header_bytes)
        check_length(headers, self._limits)

    def _authenticate(self, scope: ScopeDict, headers: Mapping[str, str]) -> AccessToken | None:
        """Whose request it is; None where no token came. A wrong one is an error everywhere."""
        secret = _secret(headers)
        if not secret:
            return self._browser(scope, headers)
        token = self._parts.find_token(secret)  # a look at one file takes less than another thread
        if token is None:
            if wait := self._failures.take(client_of(scope)):
                raise RequestRefused(
                    "too many wrong tokens came from this address",
                    hint="wait, and check the token: mentis tokens list",
                    status=429,
                    retry_after=wait,
                )
            raise AccessDenied(
                "this token is not known here",
                hint="make one: mentis tokens new NAME",
                status=401,
            )
        self._count(token)
        return token

    def _browser(self, scope: ScopeDict, headers: Mapping[str, str]) -> AccessToken | None:
        """Whose browser it is, where a cookie counts; one that is not known is nobody's."""
        find, path = self._parts.find_browser, scope["path"]
        if find is None or not path.startswith(COOKIE_PATHS) or path.startswith(FILE_PATHS):
            return None
        cookie = read_cookie(headers)
        token = find(cookie) if cookie else None
        if token is not None:
            check_same_origin(scope["method"], headers)
            self._count(token)
        return token

    def _count(self, token: AccessToken) -> None:
        if wait := self._tokens.take(token.name):
            raise RequestRefused(
                f"token {token.name!r} has used up its requests for now",
                hint="wait, or raise web.requests_per_minute",
                status=429,
                retry_after=wait,
            )

    # While it is read and answered

    async def _refuse(
        self, scope: ScopeDict, exchange: GuardedRequest, send: Send, error: BaseException
    ) -> None:
        problem = problem_of(_as_told(error, self._parts.settings))
        problem = replace(problem, request_id=exchange.request_id)
        exchange.code = problem.code
        if problem.status >= 500 and not isinstance(error, MentisError | TimeoutError):
            tell = self._parts.on_defect
            if tell is not None:
                tell(error)
        if exchange.status:
            return  # what has begun cannot become something else
        media, body = form_for(self._parts.forms, scope["path"])(problem)
        headers = [(b"content-type", media.encode()), (b"content-length", str(len(body)).encode())]
        if problem.retry_after:
            headers.append((b"retry-after", str(problem.retry_after).encode()))
        if isinstance(allowed := problem.facts.get("allow"), str):
            headers.append((b"allow", allowed.encode()))
        if problem.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if problem.status in (408, 413):
            headers.append((b"connection", b"close"))  # the rest of the body is not read
        await send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    # Afterwards

    def _note(self, scope: ScopeDict, exchange: GuardedRequest) -> None:
        parts = self._parts
        seconds = parts.monotonic() - exchange.began
        door = str(scope["state"].get("door", "other"))
        count_request(parts.metrics, scope, exchange, seconds=seconds, door=door, here=self._here)
        if parts.on_access is not None:
            parts.on_access(access_record(scope, exchange, seconds))


def form_for(forms: Mapping[str, ProblemForm], path: str) -> ProblemForm:
    """How errors are written on a path."""
    fitting = [beginning for beginning in forms if path.startswith(beginning)]
    return forms[max(fitting, key=len)] if fitting else problem_json


def read_within(exchange: GuardedRequest, receive: Receive, limits: BodyLimits) -> Receive:
    """The body inside its limits of size and time; afterwards whether the client is there."""
    until, whole = anyio.current_time() + limits.seconds, False

    async def read() -> Message:
        nonlocal whole
        if whole:
            return await receive()
        try:
            with anyio.fail_after(max(0.0, until - anyio.current_time())):
                message = await receive()
        except TimeoutError as error:
            raise limits.too_slow() from error
        exchange.received += len(message.get("body", b""))
        if exchange.received > limits.most_bytes:
            raise limits.too_large()
        whole = message["type"] == "http.disconnect" or not message.get("more_body")
        return message

    return read


def count_request(
    metrics: Metrics,
    scope: ScopeDict,
    exchange: GuardedRequest,
    *,
    seconds: float,
    door: str,
    here: int,
) -> None:
    """The figures of one request that has ended; `here` are being answered still."""
    metrics.count(
        "mentis_http_requests_total",
        "Requests, by how they ended.",
        method=scope["method"] if scope["method"] in _METHODS else "other",
        path=door,
        status=str(exchange.status or 499),
    )
    metrics.seconds(
        "mentis_http_request_seconds",
        "How long requests took, streams to their end.",
        seconds,
        path=door,
    )
    metrics.gauge("mentis_http_requests_here", "Requests that are being answered.", here)


def access_record(scope: ScopeDict, exchange: GuardedRequest, seconds: float) -> AccessRecord:
    token = exchange.token
    return AccessRecord(
        time.time(),
        exchange.request_id,
        str(scope["method"]),
        str(scope["path"]),
        exchange.status or 499,
        round(seconds, 6),
        exchange.received,
        exchange.sent,
        client_of(scope),
        token.name if token else "",
        token.person.id if token else "",
        exchange.code,
    )


def request_headers(scope: ScopeDict) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def check_host(
    scope: ScopeDict,
    headers: Mapping[str, str],
    hosts: Collection[str],
    *,
    setting: str = "web.hosts",
) -> None:
    """A page of another name that leads here by its own DNS finds nothing."""
    named = [value for name, value in scope["headers"] if name == b"host"]
    host = headers.get("host", "").lower()
    name = host.rpartition(":")[0] if _PORT.search(host) else host
    if len(named) != 1 or name not in hosts:
        raise RequestRefused(
            f"requests to {host or 'no host'!r} are not answered here",
            hint=f"add the name to {setting} if it is this server's",
            status=421,
        )


def host_names(hosts: Iterable[str], bound: str) -> frozenset[str]:
    """What a server is called in requests: as was chosen, where it listens, and on this machine."""
    return frozenset((*_LOCAL, *map(str.lower, hosts), bound_name(bound)))


def bound_name(host: str) -> str:
    """What a server that listens there is called in requests."""
    if host in _ANYWHERE:
        return "localhost"
    try:
        return f"[{host}]" if ip_address(host).version == 6 else host
    except ValueError:
        return host.lower()


def check_head(scope: ScopeDict, most: int) -> None:
    """The server stops reading a head that does not end; one that came at once is counted here."""
    size = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if size > most:
        raise RequestRefused(
            f"the headers have {size} bytes, and {most} are allowed",
            hint="send fewer headers, or shorter ones",
            status=431,
        )


def check_length(headers: Mapping[str, str], limits: BodyLimits) -> None:
    """A body that says itself that it is too large is not waited for."""
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > limits.most_bytes:
        raise limits.too_large()


def check_origin(headers: Mapping[str, str], origins: Collection[str]) -> None:
    """A browser says which page calls; programs say nothing."""
    origin = headers.get("origin")
    if origin is None or origin in origins:
        return
    if _host_of(origin) == headers.get("host", "").lower() != "":
        return
    raise RequestRefused(
        f"pages of {origin!r} may not call here",
        hint="add it to web.origins if they may",
        status=403,
    )


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # a broken address is of nobody
        return ""


def _secret(headers: Mapping[str, str]) -> str:
    """As clients of all protocols send it."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and value.strip():
        return value.strip()
    return headers.get("x-api-key", "").strip()


def client_of(scope: ScopeDict) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _as_told(error: BaseException, chosen: WebSettings) -> BaseException:
    if not isinstance(error, TimeoutError):
        return error
    return RequestRefused(
        f"there was no whole answer in {chosen.answer_seconds:g} seconds",
        hint="ask for less, or raise web.answer_seconds",
        status=504,
    )


def only_error(error: BaseException) -> BaseException:
    """What a task group wrapped, where it is one error."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return only_error(group.exceptions[0]) if len(group.exceptions) == 1 else group


def _sender(exchange: GuardedRequest, send: Send) -> Send:
    async def tell(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            known = {name.lower() for name, _ in message.get("headers", ())}
            added = [
                (b"x-request-id", exchange.request_id.encode()),
                (b"x-content-type-options", b"nosniff"),
            ]
            added += [] if b"cache-control" in known else [(b"cache-control", b"no-store")]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        elif message["type"] == "http.response.body":
            exchange.sent += len(message.get("body", b""))
        await send(message)

    return tell
