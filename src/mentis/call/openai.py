"""Any server that speaks Chat Completions over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from mentis.errors import ProviderRefused, ProviderUnreachable, RouteError
from mentis.net.client import open_client
from mentis.net.redact import redact
from mentis.net.targets import check_target, host_of, is_loopback
from mentis.ports.secrets import Secrets
from mentis.values.rendering import Rendering
from mentis.values.route import Route

if TYPE_CHECKING:
    import httpx2

_ERROR_BYTES = 64 * 1024  # as much of an error page as is worth reading
_DONE = "[DONE]"


class OpenAIProvider:
    """Streams where the server streams; a whole body comes through as one event."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._clients: dict[tuple[float, bool], httpx2.AsyncClient] = {}

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        import httpx2

        key = self._key(route)
        check_target(route.url, with_key=bool(key))
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        url = f"{route.url.rstrip('/')}/chat/completions"
        client = self._client(route)
        try:
            async with client.stream(
                "POST", url, content=rendering.body(), headers=headers
            ) as response:
                if response.status_code != 200:
                    raise await _refusal(response, route, key)
                yield _redacted(_events(response), key)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise _unreachable(error, route, key) from error

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _client(self, route: Route) -> httpx2.AsyncClient:
        seconds, outside = route.timeout_seconds, not is_loopback(host_of(route.url))
        if (seconds, outside) not in self._clients:
            client = open_client(read_seconds=seconds, through_proxy=outside)
            self._clients[seconds, outside] = client
        return self._clients[seconds, outside]

    def _key(self, route: Route) -> str:
        if not route.key_env:
            return ""
        # A newline at the end is what a file of secrets most often adds.
        key = (self._secrets.get(route.key_env) or "").strip()
        if key and key.isascii() and key.isprintable() and " " not in key:
            return key
        wrong = "holds characters that no key has" if key else "is not set"
        raise RouteError(
            f"route {route.name!r} takes its key from {route.key_env}, which {wrong}",
            hint=f"export {route.key_env}=...",
            route=route.name,
        )


async def _events(response: httpx2.Response) -> AsyncIterator[str]:
    import httpx2

    if "text/event-stream" not in response.headers.get("content-type", ""):
        yield (await response.aread()).decode("utf-8", "replace")
        return
    async for event in httpx2.EventSource(response):
        if event.data == _DONE:
            return
        if event.data:
            yield event.data


async def _redacted(events: AsyncIterator[str], key: str) -> AsyncIterator[str]:
    """A server may echo the key in what it says; it goes no further than here."""
    async for event in events:
        yield redact(event, [key])


async def _refusal(response: httpx2.Response, route: Route, key: str) -> ProviderRefused:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) >= _ERROR_BYTES:
            break
    said = redact(_error_text(body[:_ERROR_BYTES].decode("utf-8", "replace")), [key])
    return ProviderRefused(
        f"route {route.name!r}: the server answered {response.status_code}: {said}",
        hint=_HINTS.get(response.status_code, f"check the routes.{route.name} settings"),
        status=response.status_code,
        retry_after=response.headers.get("retry-after"),
        request_id=response.headers.get("x-request-id"),
    )


_HINTS = {
    401: "the key was not accepted: check the variable that key_env names",
    403: "the key may not use this model",
    404: "check url (it usually ends in /v1) and model",
    429: "the server is busy or the quota is used up: wait and try again",
}


def _error_text(body: str) -> str:
    """The message inside an error body, or its first words when it is no error object."""
    try:
        parsed: object = json.loads(body)
    except ValueError:
        parsed = None
    error = cast("dict[str, object]", parsed).get("error") if isinstance(parsed, dict) else None
    if isinstance(error, dict):
        error = cast("dict[str, object]", error).get("message")
    text = error if isinstance(error, str) else body
    return " ".join(text.split())[:300] or "(nothing)"


def _unreachable(error: Exception, route: Route, key: str) -> ProviderUnreachable:
    reason = redact(str(error), [key]) or type(error).__name__
    return ProviderUnreachable(
        f"route {route.name!r}: no answer from {route.url}: {reason}",
        hint="is the server running, and is the address right?",
        url=route.url,
    )
