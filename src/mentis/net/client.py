"""The HTTP client every call goes through: bounded times, no redirects, no cookies kept."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mentis.errors import RouteError

from .targets import is_forbidden, written_address

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0


def quiet_addresses() -> None:
    """The library logs every address it calls; what comes after a question mark may be a key."""
    logger = logging.getLogger("httpx2")
    if _without_query not in logger.filters:
        logger.addFilter(_without_query)


def _without_query(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(
            f"{str(one).partition('?')[0]}?..." if "?" in str(one) else one for one in record.args
        )
    return True


async def check_peer(event: str, told: Mapping[str, Any]) -> None:
    """Called by the transport: whoever a connection leads to is judged by the address that it has,
    before anything is sent there. A name cannot mean one machine when it is checked, and another
    when it is called.
    """
    if refusal := _refusal(event, told):
        await told["return_value"].aclose()
        raise refusal


def check_blocking_peer(event: str, told: Mapping[str, Any]) -> None:
    """The same where no loop runs."""
    if refusal := _refusal(event, told):
        told["return_value"].close()
        raise refusal


def _refusal(event: str, told: Mapping[str, Any]) -> RouteError | None:
    if event != "connection.connect_tcp.complete":
        return None
    place = told["return_value"].get_extra_info("server_addr")
    address = written_address(str(place[0])) if place else None
    if address is None or not is_forbidden(address):
        return None
    return RouteError(
        f"the name that was called leads to {address}, a link-local address or one where a"
        " cloud keeps keys: nothing was sent",
        hint="look up what the name of this host resolves to",
        address=str(address),
    )


def _watch_blocking(request: httpx2.Request) -> None:
    request.extensions = {**request.extensions, "trace": check_blocking_peer}


async def _watch(request: httpx2.Request) -> None:
    request.extensions = {**request.extensions, "trace": check_peer}


def open_client(
    *, read_seconds: float, through_proxy: bool, connections: int | None = 100
) -> httpx2.AsyncClient:
    """A client with connection reuse. A redirect is an answer, never followed with a key.

    `through_proxy` allows the proxy the environment names; this machine needs none to reach itself.
    The certificates that it names (SSL_CERT_FILE) count everywhere.
    So many `connections` at once, or as many as it takes.
    """
    import httpx2

    quiet_addresses()
    timeout = httpx2.Timeout(read_seconds, connect=CONNECT_SECONDS)
    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=20)
    with _usable_proxy():
        return httpx2.AsyncClient(
            verify=httpx2.create_ssl_context(),
            timeout=timeout,
            limits=limits,
            follow_redirects=False,
            trust_env=through_proxy,
            event_hooks={"request": [_watch]},
        )


def open_blocking_client(*, seconds: float, through_proxy: bool) -> httpx2.Client:
    """The same for a single call where no loop runs: `seconds` to connect, and for each answer."""
    import httpx2

    quiet_addresses()
    with _usable_proxy():
        return httpx2.Client(
            verify=httpx2.create_ssl_context(),
            timeout=httpx2.Timeout(seconds),
            follow_redirects=False,
            trust_env=through_proxy,
            event_hooks={"request": [_watch_blocking]},
        )


@contextmanager
def _usable_proxy() -> Generator[None]:
    try:
        yield
    except (ValueError, ImportError) as error:
        raise RouteError(
            f"the proxy in the environment cannot be used: {error}",
            hint="correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or unset them",
        ) from error
