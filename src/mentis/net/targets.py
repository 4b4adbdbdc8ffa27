"""Which addresses Mentis may talk to, and with what."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from socket import inet_aton
from urllib.parse import SplitResult, urlsplit

from mentis.errors import RouteError

from .carried import carried_address

# Where clouds tell a machine its own keys: never a model, a tool or a page.
_METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal"}
)
_METADATA = frozenset(map(ip_address, ("fd00:ec2::254", "100.100.100.200", "168.63.129.16")))
_PORTS = {"https": 443, "http": 80}
# Every reader of an address takes this for the same host.
_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::([0-9]{0,5}))?")


def check_target(url: str, *, with_key: bool) -> None:
    """Raise RouteError unless this address may be called, and with a key if there is one."""
    parts = _split(url)
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host:
        raise RouteError(
            f"{url!r} is not an http or https address",
            hint="write it as https://host/v1 or http://127.0.0.1:PORT/v1",
            url=url,
        )
    if parts.username or parts.password:
        raise RouteError(
            f"the address of host {host!r} carries credentials",
            hint="name the variable that holds the key in key_env instead",
            host=host,
        )
    if is_forbidden_host(host):
        raise RouteError(
            f"{host} is a link-local address, or where a cloud keeps keys: nothing is called there",
            hint="use a loopback, private or public address",
            host=host,
        )
    if with_key and parts.scheme == "http" and not is_loopback(host):
        raise RouteError(
            f"the key for {host} would travel unencrypted",
            hint="use https, or leave key_env out",
            host=host,
        )


def origin_of(url: str) -> str:
    """Scheme, host and port in the one way they are compared: what a key is trusted to go to.

    RouteError for an address that somebody might read as that of another host.
    """
    parts = _split(url)
    plain = _AUTHORITY.fullmatch(parts.netloc)
    odd = any(character <= " " or character in "\x7f\\" for character in url)
    if plain is None or odd or parts.scheme not in _PORTS:
        raise RouteError(
            f"the host {parts.hostname!r} is not written in a way that a key can be trusted to",
            hint="write it in ASCII and with nothing before it: https://host/v1; a host with other"
            " letters as it is looked up: https://xn--...",
            host=parts.hostname,
        )
    host, port = plain.groups()
    return f"{parts.scheme}://{host.lower()}:{int(port or _PORTS[parts.scheme])}"


def host_of(url: str) -> str:
    return _split(url).hostname or ""


def is_loopback(host: str) -> bool:
    address = written_address(host)
    return host == "localhost" if address is None else address.is_loopback


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # an invalid port is found only when it is read
    except ValueError as error:
        raise RouteError(f"{url!r} is not an address: {error}", url=url) from error
    return parts


def is_forbidden_host(host: str) -> bool:
    """Whether nothing may be called there, as far as the name or the number tells."""
    address = written_address(host)
    if address is None:
        return host.rstrip(".").lower() in _METADATA_NAMES
    return is_forbidden(address)


def is_forbidden(address: IPv4Address | IPv6Address) -> bool:
    """Link-local, or where a cloud keeps keys, in whatever form it is written."""
    carried = carried_address(address)
    return carried.is_link_local or carried in _METADATA


def written_address(host: str) -> IPv4Address | IPv6Address | None:
    """The address a host is written as, in any of the ways the system would understand."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return _old_style(host)
    return getattr(address, "ipv4_mapped", None) or address


def _old_style(host: str) -> IPv4Address | None:
    """Decimal, octal, hexadecimal and shortened forms: 2852039166 is 169.254.169.254."""
    try:
        return IPv4Address(inet_aton(host.rstrip(".")))
    except (OSError, UnicodeEncodeError):
        return None
