"""The HTTP client every call goes through: bounded times, no redirects, no cookies kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0


def open_client(*, read_seconds: float) -> httpx2.AsyncClient:
    """A client with connection reuse. A redirect is an answer, never followed with a key."""
    import httpx2

    timeout = httpx2.Timeout(read_seconds, connect=CONNECT_SECONDS)
    return httpx2.AsyncClient(timeout=timeout, follow_redirects=False)
