"""Which addresses Mentis may talk to, and with what."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from mentis.errors import RouteError


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
    if _link_local(host):
        raise RouteError(
            f"{host} is a link-local address, which a model is never served from",
            hint="use a loopback, private or public address",
            host=host,
        )
    if with_key and parts.scheme == "http" and not is_loopback(host):
        raise RouteError(
            f"the key for {host} would travel unencrypted",
            hint="use https, or leave key_env out",
            host=host,
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # an invalid port is found only when it is read
    except ValueError as error:
        raise RouteError(f"{url!r} is not an address: {error}", url=url) from error
    return parts


def _link_local(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_link_local
    except ValueError:
        return False
