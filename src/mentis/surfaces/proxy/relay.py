"""The relay: one call passed on to its target and its answer passed back, byte for byte.

Bodies go both ways as they come, packed or not. Headers are kept but for those that belong to one
connection (RFC 9110, 7.6.1). A redirect is an answer like any other and is never followed.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

import anyio
import anyio.to_thread

from mentis.errors import MentisError, RequestRefused, RouteError
from mentis.net.client import open_client
from mentis.net.targets import check_target, host_of, is_loopback
from mentis.ports.clock import Clock
from mentis.recorder.call_copy import BodyCopy, CallCopy, CallEnd, CallTap, Headers
from mentis.recorder.repair import Repairer
from mentis.recorder.socket_copy import SocketCopy
from mentis.recorder.targets import CallTarget, find_target
from mentis.recorder.wires import error_body
from mentis.web.guard import Message, Receive, ScopeDict, Send

from .lines import ProgramLine, SwitchedLine, join_lines

if TYPE_CHECKING:
    import httpx2

_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# The name of the host is the target's; that the body is wanted was said to the program already.
_OURS = frozenset({b"host", b"expect"})
_KEYS = frozenset({b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"cookie"})
_BAD_GATEWAY, _SWITCHED = 502, 101
Tell: TypeAlias = Callable[[str], None]


class _Left(Exception):
    """The program has gone."""


@dataclass(slots=True)
class _Inbox:
    """What the program sends: its body, and then that it has left."""

    receive: Receive
    copy: BodyCopy
    over: anyio.Event = field(default_factory=anyio.Event)
    switched: bool = False

    async def body(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise _Left
            piece: bytes = message.get("body", b"")
            more = message.get("more_body", False)
            if piece:
                self.copy.take(piece)
                yield piece
        self.over.set()

    async def left(self) -> None:
        await self.over.wait()
        while (await self.receive())["type"] != "http.disconnect":
            pass


@dataclass(slots=True)
class _Outbox:
    """`whole` before the last message goes: once it has gone, the server says that it is over in
    the same words as that the program has left.
    """

    send: Send
    begun: bool = False
    whole: bool = False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        await self.send(message)


@dataclass(slots=True)
class _Exchange:
    """One call and both of its ends. `line` is that of a program which asks for a WebSocket."""

    call: CallCopy
    aim: CallAim
    inbox: _Inbox
    out: _Outbox
    line: ProgramLine | None = None


@dataclass(frozen=True, slots=True)
class CallAim:
    """Where a call goes: `path` is as it was sent. `address` is called instead of the origin, where
    the host was looked up already; what is not `recorded` leaves no copy.
    """

    target: CallTarget
    path: str
    recorded: bool = True
    address: str = ""


class Relay:
    """An ASGI application for `/TARGET/...`. `targets` are all that can be reached through it, but
    for what a forward proxy aims at itself.
    """

    def __init__(
        self,
        targets: Mapping[str, CallTarget],
        tap: CallTap,
        *,
        clock: Clock,
        body_bytes: int,
        tell: Tell,
        repairer: Repairer | None = None,
    ) -> None:
        self._repairer = repairer
        self._targets = targets
        self._tap = tap
        self._clock = clock
        self._limit = body_bytes
        self._tell = tell
        self._clients: dict[bool, httpx2.AsyncClient] = {}

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    async def __call__(self, scope: ScopeDict, receive: Receive, send: Send) -> None:
        await self.carry(self._aim(scope), scope, receive, send)

    async def carry(self, aim: CallAim, scope: ScopeDict, receive: Receive, send: Send) -> None:
        """Pass one call on. RouteError where its target must not be called so."""
        headers: Headers = scope["headers"]
        scope["state"]["door"] = aim.target.name
        if aim.recorded:
            check_target(f"{aim.target.origin}/", with_key=any(n in _KEYS for n, _ in headers))
        copies = BodyCopy(self._limit), BodyCopy(self._limit)
        now, began = self._clock.now(), self._clock.monotonic()
        call = CallCopy(aim.target, scope["method"], aim.path, headers, now, began, *copies)
        exchange = _Exchange(call, aim, _Inbox(receive, call.request), _Outbox(send))
        exchange.line = scope["state"].get("line")
        try:
            with self._tap.busy() if aim.recorded else nullcontext():
                await self._pass_on(exchange)
        finally:
            call.ended = self._clock.monotonic()
            if aim.recorded:
                self._offer(call)

    def _aim(self, scope: ScopeDict) -> CallAim:
        """The target that the first step of the path names, and the rest of it as it was sent;
        inside a connection to a target, that one.
        """
        query: bytes = scope["query_string"]
        asked = b"?" + query if query else b""
        target: CallTarget | None = scope["state"].get("target")
        if target is not None:
            return CallAim(target, (scope["raw_path"] + asked).decode("latin-1"))
        _, name, *rest = scope["raw_path"].split(b"/", 2)
        try:
            target = find_target(name.decode("ascii", "replace"), self._targets)
        except RouteError as error:
            raise RequestRefused(error.message, hint=error.hint, status=404) from error
        return CallAim(target, (b"/" + b"".join(rest) + asked).decode("latin-1"))

    async def _pass_on(self, exchange: _Exchange) -> None:
        """To the end, or until the program leaves: then the call to the target ends, too."""
        import httpx2

        call, inbox, out = exchange.call, exchange.inbox, exchange.out
        gone = False
        refusal: MentisError | None = None
        try:
            async with anyio.create_task_group() as tasks:

                async def watch() -> None:
                    nonlocal gone
                    await inbox.left()
                    if not inbox.switched:
                        gone = True
                        tasks.cancel_scope.cancel()

                tasks.start_soon(watch)
                try:
                    await self._exchange(exchange)
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    await self._fail(call, error, out)
                except RequestRefused as error:
                    refusal = error
                except (_Left, OSError):
                    gone = True
                tasks.cancel_scope.cancel()
        except BaseException:
            call.end = "broken"
            raise
        if refusal is not None:
            call.end, call.reason = "broken", refusal.message
            raise refusal
        if gone and not out.whole:
            call.end = call.end_where_left()

    async def _exchange(self, exchange: _Exchange) -> None:
        call, inbox, out = exchange.call, exchange.inbox, exchange.out
        body = inbox.body() if self._repairer is None else await self._repaired(call, inbox)
        request = _request(exchange, body)
        client = self._client(call.target)
        if not _has_body(call.headers):
            inbox.over.set()
        response = await client.send(request, stream=True)
        inbox.over.set()
        client.cookies.clear()  # a cookie is the program's own business
        call.status, call.answer_headers = response.status_code, response.headers.raw
        try:
            if call.status == _SWITCHED and exchange.line is not None:
                inbox.switched = True
                await self._join(exchange, exchange.line, response)
                return
            headers = _kept(call.answer_headers, frozenset())
            await out({"type": "http.response.start", "status": call.status, "headers": headers})
            # A long answer has thousands of pieces: nothing stands around them that need not.
            take, send = call.answer.take, out.send
            async for piece in cast("AsyncIterator[bytes]", response.stream):
                if call.first_byte is None:
                    call.first_byte = self._clock.monotonic()
                take(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            out.whole = True
            await out({"type": "http.response.body", "body": b""})
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def _repaired(self, call: CallCopy, inbox: _Inbox) -> AsyncIterator[bytes]:
        """The body, all of it, with what wastes a cache repaired; as it came where that fails."""
        whole = b"".join([piece async for piece in inbox.body()])
        made = None
        try:
            if self._repairer is not None and call.request.whole:
                made = await anyio.to_thread.run_sync(self._repairer.repair, call, whole)
        except Exception as error:  # noqa: BLE001  # no repair is worth a call
            self._tell(f"a call was not repaired: {type(error).__name__}: {error}")
        if made is not None:
            call.replace_request(*made)
        return _one_piece(whole if made is None else made[0])

    async def _join(
        self, exchange: _Exchange, line: ProgramLine, response: httpx2.Response
    ) -> None:
        """A WebSocket: from here on its bytes go by as they are, and a copy of them is read."""
        offer = self._offer if exchange.aim.recorded else _forget
        copy = SocketCopy(exchange.call, self._clock, offer, self._limit)
        headers = response.headers.raw
        await exchange.out(
            {
                "type": "http.response.start",
                "status": _SWITCHED,
                "headers": headers,
                "switch": True,
            }
        )
        upstream = SwitchedLine(response.extensions["network_stream"])
        side = "broken"
        line.is_busy = copy.is_busy

        def received(data: bytes) -> None:
            copy.received(data)
            line.close_idle()

        try:
            side = await join_lines(line, upstream, sent=copy.sent, received=received)
        finally:
            copy.close("left" if side == "program" else "broken")

    async def _fail(self, call: CallCopy, error: Exception, out: _Outbox) -> None:
        """What the program would have met without us, as near as HTTP can say it: an answer that
        breaks off breaks off, and one that never began is an error in the program's own format.
        """
        end: CallEnd = "broken" if out.begun else "unreachable"
        call.end, call.reason = end, f"{type(error).__name__}: {error}"
        if not out.begun:
            text = f"{call.target.origin} could not be reached: {call.reason}"
            await _answer(out, _BAD_GATEWAY, error_body(call.path, _BAD_GATEWAY, text))

    def _offer(self, call: CallCopy) -> None:
        try:
            self._tap.offer(call)
        except Exception as error:  # noqa: BLE001  # whatever it is, the call has been answered
            self._tell(f"a call was not recorded: {type(error).__name__}: {error}")

    def _client(self, target: CallTarget) -> httpx2.AsyncClient:
        """How long an answer may take is for the program to say, so there is no limit here."""
        outside = not is_loopback(host_of(target.origin))
        if outside not in self._clients:
            self._clients[outside] = open_client(
                read_seconds=math.inf, through_proxy=outside, connections=None
            )
        return self._clients[outside]


def _forget(_call: CallCopy) -> None:
    """What is only passed through leaves no copy."""


def _request(exchange: _Exchange, body: AsyncIterator[bytes]) -> httpx2.Request:
    import httpx2

    call, address = exchange.call, exchange.aim.address
    path = call.path.encode("latin-1")
    headers = _kept(call.headers, _OURS - {b"host"} if address else _OURS)
    if call.repairs:
        length = b"%d" % call.request.length
        headers = [(n, length if n.lower() == b"content-length" else v) for n, v in headers]
    if exchange.line is not None:
        headers += [one for one in call.headers if one[0].lower() in (b"connection", b"upgrade")]
    content = body if _has_body(call.headers) else None
    request = httpx2.Request(
        call.method, httpx2.URL(address or call.target.origin), headers=headers, content=content
    )
    request.extensions["target"] = path  # as it was sent: nothing in it is written anew
    return request


async def _one_piece(body: bytes) -> AsyncIterator[bytes]:
    if body:
        yield body


def _has_body(headers: Headers) -> bool:
    return bool(_value(headers, b"transfer-encoding")) or _value(
        headers, b"content-length"
    ) not in (
        b"",
        b"0",
    )


def _kept(headers: Headers, more: frozenset[bytes]) -> list[tuple[bytes, bytes]]:
    """Without those that are about one connection, which it may name itself."""
    named = {name.strip().lower() for name in _value(headers, b"connection").split(b",")}
    dropped = _HOP | more | named
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def _value(headers: Headers, wanted: bytes) -> bytes:
    return b",".join(value for name, value in headers if name.lower() == wanted)


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
