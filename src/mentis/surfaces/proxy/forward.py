"""The forward proxy: programs that pin their address are told to go through it.

CONNECT to a target ends here, under a certificate of the local authority, and the requests inside
are relayed and recorded as any other. Every other host is passed through unread and unrecorded, so
that the rest of what a program does goes on, or refused: link-local addresses always, those of the
local network and odd ports unless the owner named them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from ssl import SSLError
from typing import TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio
from anyio import to_thread
from anyio.abc import ByteStream

from mentis.errors import BadInput, RequestRefused, RouteError, WorldError
from mentis.net.client import CONNECT_SECONDS
from mentis.net.reach import Reach, WebAddress, addresses_of, is_listed, may_reach
from mentis.net.targets import check_target, host_of, origin_of, written_address
from mentis.recorder.authority import LocalAuthority
from mentis.recorder.targets import CallTarget
from mentis.settings.recorder import RecorderSettings
from mentis.web.guard import Receive, ScopeDict, Send

from .lines import ProgramLine, TunnelLine, join_lines
from .relay import CallAim, Relay

Tell: TypeAlias = Callable[[str], None]
_USUAL_PORTS = (443, 80)
_MOST_HEAD = 65_536
_MOST_TOLD = 100
_PLACE = re.compile(r"[^/@\s]+:[0-9]{1,5}")
_NOT_PUBLIC = "it is not on the public network"


class Forward:
    """An ASGI application for CONNECT, and for requests that name their server by its address."""

    def __init__(
        self,
        relay: Relay,
        authority: LocalAuthority,
        targets: Mapping[str, CallTarget],
        *,
        settings: RecorderSettings,
        tell: Tell,
    ) -> None:
        self._relay = relay
        self._authority = authority
        self._targets = targets
        self._settings = settings
        self._tell = tell
        self._told: set[str] = set()

    async def __call__(self, scope: ScopeDict, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] == "CONNECT":
                await self._connect(scope, send)
            else:
                await self._plain(scope, receive, send)
        except RouteError as error:
            self._tell_once(f"{error.message}; {error.hint}")
            raise

    async def _connect(self, scope: ScopeDict, send: Send) -> None:
        line: ProgramLine = scope["state"]["line"]
        place = scope["raw_path"].decode("latin-1")
        if not _PLACE.fullmatch(place) or scope["query_string"]:
            raise RequestRefused(
                f"{place!r} is no place to connect to", hint="write HOST:PORT", status=400
            )
        origin = _origin(f"https://{place}")
        target = self._target(origin)
        if target is None:
            await self._tunnel(origin, line, send)
            return
        if line.has_early:
            raise RequestRefused(
                "more came before CONNECT was answered", hint="wait for the answer", status=400
            )
        context = await to_thread.run_sync(self._authority.context, host_of(origin))
        await send(_switched())
        try:
            await line.encrypt(context, {"target": target}, self._settings.header_seconds)
        except (SSLError, OSError) as error:
            self._tell_once(
                f"a program broke off its connection to {host_of(origin)}, and what it asks there"
                f" is not recorded ({error}); does it trust {self._authority.file}?"
            )

    async def _tunnel(self, origin: str, line: ProgramLine, send: Send) -> None:
        async with await self._reach(self._judge(origin)) as stream:
            await send(_switched())
            await join_lines(line, TunnelLine(stream), sent=_forget, received=_forget)

    async def _plain(self, scope: ScopeDict, receive: Receive, send: Send) -> None:
        """A request without encryption, with the whole address in its first line."""
        query: bytes = scope["query_string"]
        url = (scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1")
        origin = _origin(url)
        path = url.partition("://")[2].partition("/")[2]
        target = self._target(origin)
        if target is not None:
            await self._relay.carry(CallAim(target, f"/{path}"), scope, receive, send)
            return
        place = self._judge(origin)
        address = (await self._addresses(place))[0]
        host = f"[{address}]" if ":" in address else address
        aim = CallAim(
            CallTarget("elsewhere", origin),
            f"/{path}",
            recorded=False,
            address=f"http://{host}:{place.port}",
        )
        await self._relay.carry(aim, scope, receive, send)

    def _target(self, origin: str) -> CallTarget | None:
        return next((one for one in self._targets.values() if one.origin == origin), None)

    def _judge(self, origin: str) -> WebAddress:
        """RouteError where the settings say that this host, which is no target, is not for us."""
        split = urlsplit(origin)
        aim = WebAddress("https", split.hostname or "", split.port or 443, "/")
        if is_listed(aim, self._settings.tunnel_hosts):
            return aim
        if self._settings.tunnels == "none":
            raise _refusal(aim, "it is no target")
        if aim.port not in _USUAL_PORTS:
            raise _refusal(aim, f"port {aim.port} is neither 443 nor 80")
        literal = written_address(aim.host)
        if literal is not None and not may_reach(literal, private=False, plain=False):
            raise _refusal(aim, _NOT_PUBLIC)
        return aim

    async def _addresses(self, aim: WebAddress) -> tuple[str, ...]:
        """Where it is. It is looked up once, and what was judged is what is called."""
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                return await addresses_of(aim, Reach(private=self._settings.tunnel_hosts))
        except BadInput as error:
            raise _refusal(aim, _NOT_PUBLIC) from error
        except (OSError, TimeoutError) as error:
            raise _unreachable(aim, error) from error

    async def _reach(self, aim: WebAddress) -> ByteStream:
        proxy = _proxy_for(aim)
        if proxy is not None:
            return await _through(proxy, aim)  # names are looked up there
        failure: Exception | None = None
        for address in await self._addresses(aim):
            try:
                with anyio.fail_after(CONNECT_SECONDS):
                    return await anyio.connect_tcp(address, aim.port)
            except (OSError, TimeoutError) as error:
                failure = error
        raise _unreachable(aim, failure)

    def _tell_once(self, text: str) -> None:
        if text not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(text)
            self._tell(text)


def _origin(url: str) -> str:
    """RouteError for an address that somebody might read as that of another host."""
    check_target(url, with_key=False)
    return origin_of(url)


def _switched() -> dict[str, object]:
    return {"type": "http.response.start", "status": 200, "headers": [], "switch": True}


def _forget(_data: bytes) -> None:
    """What is passed through is nobody's business."""


def _refusal(aim: WebAddress, why: str) -> RouteError:
    return RouteError(
        f"{aim.authority} is not passed through: {why}",
        hint="name it in recorder.tunnel_hosts, or, to have it recorded, in recorder.targets",
        host=aim.host,
    )


def _unreachable(aim: WebAddress, error: Exception | None) -> RequestRefused:
    return RequestRefused(
        f"{aim.authority} could not be reached: {type(error).__name__}: {error}",
        hint="check the name and the network",
        status=502,
    )


def _proxy_for(aim: WebAddress) -> SplitResult | None:
    """The proxy that the environment of the recorder names for this host, if it has one."""
    known = getproxies()
    url = known.get("https") or known.get("all")
    if not url or proxy_bypass(aim.authority):
        return None
    split = urlsplit(url if "://" in url else f"http://{url}")
    return split if split.scheme == "http" and split.hostname else None


async def _through(proxy: SplitResult, aim: WebAddress) -> ByteStream:
    """A tunnel through the next proxy."""
    where = f"{aim.host if ':' not in aim.host else f'[{aim.host}]'}:{aim.port}"
    head = f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n"
    if proxy.username:
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        head += f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
    answer = b""
    try:
        with anyio.fail_after(CONNECT_SECONDS):
            stream = await anyio.connect_tcp(proxy.hostname or "", proxy.port or 80)
            await stream.send(f"{head}\r\n".encode())
            while not answer.endswith(b"\r\n\r\n") and len(answer) < _MOST_HEAD:
                answer += await stream.receive(1)  # not one byte of what comes after
    except (OSError, TimeoutError, anyio.EndOfStream, anyio.BrokenResourceError) as error:
        raise _unreachable(aim, error) from error
    if answer.split(b" ", 2)[1:2] != [b"200"]:
        await stream.aclose()
        raise _unreachable(aim, WorldError(f"the proxy said {answer[:100]!r}", hint=""))
    return stream
