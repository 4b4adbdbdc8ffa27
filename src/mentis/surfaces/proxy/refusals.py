"""Refusals of our own, before anything is passed on: problem JSON (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus

from starlette.types import Send

from mentis.errors import MentisError


async def refuse(send: Send, status: int, error: MentisError) -> None:
    """`error.message` is there as well, where programs look for the words of a provider."""
    told = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": error.message,
        "hint": error.hint,
        "code": error.code,
        "error": {"type": error.code, "message": f"mentis record: {error.message}; {error.hint}"},
    }
    body = json.dumps(told).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
