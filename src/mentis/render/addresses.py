"""Addresses of attachments: somebody else's machine fetches them, so they must not lead inside.

Nothing is looked up here. A name that is public and resolves to a private address, or redirects to
one, is for the one who fetches; what can be seen in the address itself is refused.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from mentis.errors import RenderError
from mentis.net.carried import carried_address

_INSIDE = ("localhost", ".localhost", ".local", ".internal", ".lan", ".home.arpa")


def check_address(url: str, what: str) -> None:
    """Refuse what is no public web address, or one that anybody on the way can change."""
    if not url.isprintable():
        raise _refused(what, "", "the address holds a character that no address can hold")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        _ = parts.port
    except ValueError as error:
        raise _refused(what, url, f"it is no address: {error}") from error
    scheme = url.partition(":")[0].lower()
    if scheme != "https":
        raise _refused(what, url, f"an address that begins with {scheme!r} is not sent")
    if not host:
        raise _refused(what, url, "it names no host")
    if parts.username is not None or parts.password is not None:
        raise _refused(what, parts.hostname or "", "a name or password stands in the address")
    if host.endswith(_INSIDE) or ("." not in host.strip("[]") and ":" not in host):
        raise _refused(what, url, f"{host!r} is a name inside a network")
    if _is_private(host):
        raise _refused(what, url, f"{host!r} is a private address")


def _is_private(host: str) -> bool:
    if all(part.isdigit() or part[:2] == "0x" for part in host.split(".")) and not _is_plain(host):
        return True  # 127.1 or 0x7f.0.0.1: a number written so that it does not look like one
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return not address.is_global or not carried_address(address).is_global


def _is_plain(host: str) -> bool:
    parts = host.split(".")
    return len(parts) == 4 and all(p.isdigit() and str(int(p)) == p for p in parts)


def _refused(what: str, url: str, reason: str) -> RenderError:
    return RenderError(
        f"{what}: {reason}",
        hint="give a public https address, or the bytes themselves",
        url=url.partition("?")[0],
    )
