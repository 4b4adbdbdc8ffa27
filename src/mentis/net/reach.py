"""Which web addresses an agent may fetch from: named hosts, on the public network, and no others.

A host is looked up once and the address that was judged is the one that is called, so that a name
cannot mean one machine when it is checked and another when it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from socket import SOCK_STREAM
from urllib.parse import SplitResult, urlsplit

from mentis.errors import BadInput
from mentis.values.value import Value

from .carried import carried_address
from .targets import is_forbidden, written_address

MOST_CHARS = 2048
_PORTS = {"https": 443, "http": 80}
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
# Forms that carry another address, or were given up: nobody is there under them in public.
_NOT_PUBLIC = tuple(
    map(IPv6Network, ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "fec0::/10", "2001::/32"))
)


@dataclass(frozen=True, slots=True)
class Reach(Value):
    """`hosts` may be reached: `example.org`, `.example.org` (all below it), `example.org:8443`.

    Those of `private` may also be in the local network or on this machine; there, and only there,
    without encryption too. Link-local addresses are never reached.
    """

    hosts: tuple[str, ...] = ()
    private: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WebAddress(Value):
    """A web address taken apart; `target` is the path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def at(self, address: str) -> str:
        """The same address with the host as a number."""
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}:{self.port}{self.target}"


def aim_at(url: str, reach: Reach) -> WebAddress:
    """BadInput, with the reason, unless this may be fetched as far as its text tells."""
    parts = _split(url)
    host = (parts.hostname or "").removesuffix(".")
    if parts.scheme not in _PORTS or not host:
        raise _refused(url, "it is not an https address")
    if parts.username is not None or parts.password is not None:
        raise _refused(host, "it carries credentials")
    if not host.isascii():
        raise _refused(host, "the host is not written in ASCII")
    literal = written_address(host)
    if literal is not None and str(literal) != host:
        raise _refused(host, "the host is a number in disguise")
    if literal is None and not _NAME.fullmatch(host):
        raise _refused(host, "the host is no name that can be looked up")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    aim = WebAddress(parts.scheme, host, parts.port or _PORTS[parts.scheme], target)
    if not is_listed(aim, (*reach.hosts, *reach.private)):
        raise _refused(aim.authority, "it is not among the hosts that may be reached")
    if aim.scheme == "http" and not is_listed(aim, reach.private):
        raise _refused(aim.authority, "it would be reached without encryption")
    return aim


async def addresses_of(aim: WebAddress, reach: Reach) -> tuple[str, ...]:
    """Where the host is. BadInput if it has an address that may not be reached, OSError if none."""
    from anyio import getaddrinfo

    found = await getaddrinfo(aim.host, aim.port, type=SOCK_STREAM)
    addresses = dict.fromkeys(ip_address(place[0].partition("%")[0]) for *_, place in found)
    private = is_listed(aim, reach.private)
    for address in addresses:
        if not may_reach(address, private=private, plain=aim.scheme == "http"):
            raise _refused(aim.authority, f"{address} is not an address that may be reached")
    return tuple(map(str, addresses))


def may_reach(address: IPv4Address | IPv6Address, *, private: bool, plain: bool) -> bool:
    """`private`: the owner said that it may be here; `plain`: it would be without encryption."""
    if any(address in network for network in _NOT_PUBLIC) and not address.is_loopback:
        return False
    address = carried_address(address)
    if is_forbidden(address) or address.is_multicast or address.is_unspecified:
        return False
    if plain:
        return private and address.is_loopback
    return address.is_global or (private and address.is_private)


def _split(url: str) -> SplitResult:
    if len(url) > MOST_CHARS:
        raise _refused(url[:100], f"it has more than {MOST_CHARS} characters")
    if any(character <= " " or character in "\x7f\\" for character in url):
        raise _refused(url, "it holds a space, a backslash or a control character")
    try:
        parts = urlsplit(url)
        _ = parts.port  # an invalid port is found only when it is read
    except ValueError as error:
        raise _refused(url, str(error)) from error
    return parts


def is_listed(aim: WebAddress, entries: Iterable[str]) -> bool:
    """By host alone only on the usual port."""
    return any(_fits(aim, entry.casefold()) for entry in entries)


def _fits(aim: WebAddress, entry: str) -> bool:
    names = {aim.authority, f"{aim.authority.removesuffix(f':{aim.port}')}:{aim.port}"}
    return entry in names or (entry.startswith(".") and any(name.endswith(entry) for name in names))


def _refused(what: str, why: str) -> BadInput:
    return BadInput(
        f"{what!r} is not fetched: {why}",
        hint="the owner names the hosts that may be reached in the settings",
    )
