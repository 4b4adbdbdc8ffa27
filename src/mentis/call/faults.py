"""Failures of a call as our errors; and which of them are worth another try."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import cast

from mentis.errors import MentisError, ProviderRefused, ProviderUnreachable
from mentis.net.redact import redact
from mentis.values.route import Route

from .answer import HttpAnswer

_ERROR_BYTES = 64 * 1024  # as much of an error page as is worth reading
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
# Words of codes and types by which servers say that it is the request's content they refuse.
_OF_CONTENT = (
    "blocklist",
    "content_filter",
    "content_policy",
    "flagged",
    "invalid_prompt",
    "moderation",
    "prohibited_content",
    "responsibleai",
    "safety",
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_HINTS = {
    401: "the key was not accepted: check the variable that key_env names",
    403: "the key may not use this model",
    404: "check url (it usually ends in /v1) and model",
    413: "the request is too large for this server: shorten it",
    429: "the server is busy or the quota is used up: wait and try again",
    529: "the provider has too much to do: wait and try again",
}


async def refusal(answer: HttpAnswer, route: Route, key: str) -> ProviderRefused:
    """The error of an answer that is no 200, told in the server's own words."""
    try:
        async for piece in answer.body:
            answer.heard += piece
            if len(answer.heard) >= _ERROR_BYTES:
                break
        else:
            answer.whole = True
    except ProviderUnreachable:
        pass  # the status says more than where its page breaks off
    body = bytes(answer.heard[:_ERROR_BYTES]).decode("utf-8", "replace")
    said = redact(error_text(body), [key])
    return ProviderRefused(
        f"route {route.name!r}: the server answered {answer.status}: {said}",
        hint=_hint(answer.status, route),
        status=answer.status,
        about="content" if is_of_content(body) else None,
        param=_param(body),
        retry_after=retry_after(answer.headers),
        request_id=answer.headers.get("x-request-id") or answer.headers.get("request-id"),
    )


def _param(body: str) -> str | None:
    """The member of the request that an error is about, where it names one."""
    held = _held(body)
    error = held.get("error", held)
    found = cast("Mapping[str, object]", error).get("param") if isinstance(error, Mapping) else None
    return found[:100] if isinstance(found, str) and found else None


def is_of_content(body: str) -> bool:
    """Whether an error says that what was sent is why: by its code or type, or by the reasons of a
    moderation. Its message says nothing for sure, as it may quote what was sent.
    """
    held = _held(body)
    error = held.get("error", held)
    if not isinstance(error, Mapping):
        return False
    fault = cast("Mapping[str, object]", error)
    inner, about = (_inside(fault, name) for name in ("innererror", "metadata"))
    told = (fault.get("code"), fault.get("type"), fault.get("status"), inner.get("code"))
    words = " ".join(str(one) for one in told).lower()
    return "flagged_input" in about or any(word in words for word in _OF_CONTENT)


def _inside(held: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = held.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


def unreachable(error: Exception, route: Route, key: str) -> ProviderUnreachable:
    import httpx2

    reason = redact(str(error), [key]) or type(error).__name__
    never_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL)
    return ProviderUnreachable(
        f"route {route.name!r}: no answer from {route.url}: {reason}",
        hint="is the server running, and is the address right?",
        url=route.url,
        sent=not isinstance(error, never_sent),
    )


def may_cost(error: BaseException) -> bool:
    """Whether a provider may charge for a call that failed so before it said anything.

    What was refused with a status is not charged, nor what never left; a silence may be.
    """
    if isinstance(error, ProviderRefused):
        return error.facts.get("status") is None
    return isinstance(error, ProviderUnreachable) and error.facts.get("sent") is not False


def too_late(route: Route) -> ProviderUnreachable:
    return ProviderUnreachable(
        f"route {route.name!r}: no complete answer within {route.timeout_seconds:g} seconds",
        hint=f"raise routes.{route.name}.timeout_seconds, or ask for less",
    )


def is_passing(error: BaseException) -> bool:
    """Whether the same call may well succeed a little later."""
    if isinstance(error, ProviderRefused):
        return error.facts.get("status") in _PASSING
    return isinstance(error, ProviderUnreachable)


def wait_asked_for(error: MentisError, now: datetime) -> float | None:
    """The seconds a server asked us to wait; it says so in seconds or as a date."""
    asked = error.facts.get("retry_after")
    if not isinstance(asked, str):
        return None
    try:
        return max(0.0, float(asked))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(asked) - now).total_seconds())
    except (TypeError, ValueError):
        return None


def retry_after(headers: Mapping[str, str]) -> str | None:
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.isascii() and milliseconds.isdigit():
        return str(int(milliseconds) / 1000)
    return headers.get("retry-after")


def _hint(status: int, route: Route) -> str:
    if 300 <= status < 400:
        return f"redirects are not followed: write the final address in routes.{route.name}.url"
    return _HINTS.get(status, f"check the routes.{route.name} settings")


def error_text(body: str) -> str:
    """The message inside an error body, or its first words when it is no error object."""
    held = _held(body)
    error = held.get("error", held.get("message", held.get("detail")))
    if isinstance(error, list) and error:  # one for each field that was wrong; the first will do
        error = cast("list[object]", error)[0]
    if isinstance(error, dict):
        fault = cast("dict[str, object]", error)
        error = fault.get("message", fault.get("msg"))
    text = error if isinstance(error, str) else _page(body)
    return " ".join(text.split())[:300] or "(nothing)"


def _held(body: str) -> dict[str, object]:
    """The object that has the error in it, or is it."""
    try:
        parsed: object = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, list) and parsed:  # Gemini wraps its error in a list
        parsed = cast("list[object]", parsed)[0]
    held = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    if isinstance(held.get("response"), dict):  # a Responses stream wraps it in the response
        held = cast("dict[str, object]", held["response"])
    return held


def _page(body: str) -> str:
    """An HTML page is told by its title: the rest of it is for a browser."""
    title = _TITLE.search(body)
    return f"an HTML page, {title[1].strip()!r}" if title else body
