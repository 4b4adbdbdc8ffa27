"""Refusals of our own, before anything is passed on: problem JSON (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus

from mentis.errors import MentisError, RouteError
from mentis.web.guard import Send
from mentis.web.problems import PROBLEM_TYPE, problem_of

_FORBIDDEN, _NO_PROXY_KEY = 403, 407


async def refuse(send: Send, error: MentisError, status: int | None = None) -> None:
    """`error.message` is there as well, where programs look for the words of a provider."""
    problem = problem_of(error)
    status = status or (_FORBIDDEN if isinstance(error, RouteError) else problem.status)
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
        (b"content-type", PROBLEM_TYPE.encode()),
        (b"content-length", b"%d" % len(body)),
    ]
    if problem.retry_after:
        headers.append((b"retry-after", b"%d" % problem.retry_after))
    if status == _NO_PROXY_KEY:
        headers.append((b"proxy-authenticate", b'Basic realm="mentis record"'))
    if status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
