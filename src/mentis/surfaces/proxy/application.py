"""The application: the guard, how the proxy itself is doing, and the relay behind it."""

from __future__ import annotations

from mentis.errors import RequestRefused
from mentis.web.guard import AsgiApp, Receive, ScopeDict, Send
from mentis.web.metrics import CONTENT_TYPE

from .forward import Forward
from .guard import ProxyGuard, ProxyParts, asks_as_proxy
from .relay import Relay


def make_app(relay: Relay, parts: ProxyParts, forward: Forward | None = None) -> AsgiApp:
    """`/TARGET/...` is passed on; with `forward`, what programs ask of a proxy is, too."""

    async def app(scope: ScopeDict, receive: Receive, send: Send) -> None:
        state, path = scope["state"], scope["raw_path"]
        if "target" in state:
            await relay(scope, receive, send)
        elif asks_as_proxy(scope):
            state["door"] = "forward"
            if forward is None:
                raise RequestRefused(
                    "this recorder is no forward proxy", hint="start it with --forward", status=405
                )
            await forward(scope, receive, send)
        elif path == b"/healthz":
            state["door"] = "/healthz"
            await _answer(send, b"application/json", b'{"status":"ok"}')
        elif path == b"/metrics":
            state["door"] = "/metrics"
            await _answer(send, CONTENT_TYPE.encode(), parts.metrics.text().encode())
        else:
            await relay(scope, receive, send)

    return ProxyGuard(app, parts)


async def _answer(send: Send, media: bytes, body: bytes) -> None:
    headers = [(b"content-type", media), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
