"""`web_fetch`: reads one page from a host the owner has named. What comes back is untrusted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urljoin

import anyio

from mentis.errors import BadInput, SettingsError
from mentis.net.client import open_client
from mentis.net.reach import Reach, WebAddress, addresses_of, aim_at
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.value import Value

from .arguments import Arguments
from .kind import BuiltIn, Kind
from .page import WebPage, read_page

if TYPE_CHECKING:
    import httpx2

MOST_SECONDS = 60.0
MOST_BODY = 512 * 1024
MOST_REDIRECTS = 5
WEB = Kind(
    "web_fetch",
    "agent",
    external_effects=True,  # an address can carry something out
    idempotent=True,
    on=False,
    timeout_seconds=MOST_SECONDS + 15,
    limits="only hosts of the list, https, GET and HEAD; 5 redirects, each within the list;"
    " 15 s (most 60), 64 KiB (most 512)",
)
_NOWHERE = Reach()
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
OpenClient: TypeAlias = "Callable[[float], httpx2.AsyncClient]"


@dataclass(frozen=True, slots=True)
class WebLimits(Value):
    """Without hosts in `reach` nothing can be fetched."""

    reach: Reach = _NOWHERE
    seconds: float = 15.0
    most_seconds: float = MOST_SECONDS
    body_bytes: int = 64 * 1024
    most_body_bytes: int = MOST_BODY

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= self.most_seconds <= MOST_SECONDS:
            raise SettingsError(f"fetching may take at most {MOST_SECONDS:g} seconds")
        if not 0 < self.body_bytes <= self.most_body_bytes <= MOST_BODY:
            raise SettingsError(f"of a page at most {MOST_BODY} bytes can be read")


@dataclass(frozen=True, slots=True)
class _Asked:
    url: str
    method: str
    seconds: float
    body_bytes: int


class WebFetch(BuiltIn):
    def __init__(
        self, words: ToolDeclaration, limits: WebLimits, *, open_client: OpenClient | None = None
    ) -> None:
        hosts = (*limits.reach.hosts, *limits.reach.private)
        super().__init__(replace(WEB.spec(words), where=", ".join(dict.fromkeys(hosts))))
        self._limits = limits
        self._open = open_client or _direct

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        import httpx2

        limits = self._limits
        asked = _Asked(
            url=given.text("url", most=2048),
            method=given.choice("method", ("GET", "HEAD"), "GET"),
            seconds=given.number("seconds", 0.001, limits.most_seconds, limits.seconds),
            body_bytes=given.whole("body_bytes", 1, limits.most_body_bytes, limits.body_bytes),
        )
        try:
            with anyio.fail_after(asked.seconds):
                async with self._open(asked.seconds) as client:
                    page = await self._fetch(client, asked)
        except (TimeoutError, httpx2.TimeoutException):
            reason = f"it was not all there within {asked.seconds:g} seconds"
            return self._failed(call, "timeout", reason)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = f"it cannot be reached: {error or type(error).__name__}"
            return self._failed(call, "unavailable", reason)
        return self._done(call, page.to_object(), Trust.UNTRUSTED, source=page.url)

    async def _fetch(self, client: httpx2.AsyncClient, asked: _Asked) -> WebPage:
        """Every step of a redirect is judged like the first one."""
        url, steps = asked.url, list[str]()
        while True:
            aim = aim_at(url, self._limits.reach)
            steps.append(aim.url)
            addresses = await addresses_of(aim, self._limits.reach)
            async with aclosing(await _sent(client, asked.method, aim, addresses)) as response:
                place = response.headers.get("location")
                if response.status_code not in _REDIRECTS or place is None:
                    return await read_page(response, tuple(steps), most=asked.body_bytes)
            if len(steps) > MOST_REDIRECTS:
                raise BadInput(f"{asked.url!r} leads on more than {MOST_REDIRECTS} times")
            url = _next(aim, place)


def _next(aim: WebAddress, place: str) -> str:
    try:
        return urljoin(aim.url, place)
    except ValueError as error:
        raise BadInput(f"{aim.url!r} leads on to what is no address: {error}") from error


async def _sent(
    client: httpx2.AsyncClient, method: str, aim: WebAddress, addresses: tuple[str, ...]
) -> httpx2.Response:
    """To an address that was judged; the certificate still has to be that of the host."""
    import httpx2

    headers = {"host": aim.authority, "user-agent": "mentis", "accept-encoding": "identity"}
    names = {"sni_hostname": aim.host}
    requests = [
        client.build_request(method, aim.at(address), headers=headers, extensions=names)
        for address in addresses
    ]
    for request in requests[:-1]:
        with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
            return await client.send(request, stream=True)
    return await client.send(requests[-1], stream=True)


def _direct(seconds: float) -> httpx2.AsyncClient:
    """Past any proxy: it would look the host up once more, and maybe elsewhere."""
    return open_client(read_seconds=seconds, through_proxy=False)
