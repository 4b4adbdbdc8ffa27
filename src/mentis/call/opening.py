"""The beginning of a streamed answer: nothing said yet, and perhaps an error instead.

A server that is overloaded may say so inside a 200. As long as nothing was said, that is the same
as an answer with that status: it may be tried again. What an error means otherwise, `settle` says.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import cast

from mentis.errors import ProviderRefused
from mentis.net.redact import redact
from mentis.values.route import Route

from .answer import HttpAnswer
from .faults import error_text, retry_after

# The status each of them would have been told with; others are not worth another try.
_STATUS = {
    "overloaded_error": 529,
    "overloaded": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "server_error": 500,
    "api_error": 500,
    "internal": 500,
    "unavailable": 503,
    "timeout_error": 504,
    "deadline_exceeded": 504,
}
_QUIET_TYPES = frozenset(
    {
        "ping",
        "message_start",
        "response.created",
        "response.queued",
        "response.in_progress",
    }
)
_SAYING = ("content", "tool_calls", "function_call", "refusal", "reasoning", "reasoning_content")
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


async def read_opening(
    answer: HttpAnswer, events: AsyncIterator[str], route: Route, *, key: str
) -> AsyncIterator[str]:
    """The same events, the quiet ones at the beginning read; or the error that came instead."""
    early: list[str] = []
    async for event in events:
        early.append(event)
        found = _object(event)
        if (fault := _fault(found)) is not None:
            _raise_if_passing(fault, event, answer, route, key=key)
        if not _quiet(found):
            break
    return _again(early, events)


async def _again(early: list[str], events: AsyncIterator[str]) -> AsyncIterator[str]:
    for event in early:
        yield event
    async for event in events:
        yield event


def _raise_if_passing(
    fault: Mapping[str, object], event: str, answer: HttpAnswer, route: Route, *, key: str
) -> None:
    status = _status(fault)
    if status is None:
        return
    said = redact(error_text(event), [key])
    raise ProviderRefused(
        f"route {route.name!r}: the server broke off before it said anything: {said}",
        hint="the server is busy: wait and try again",
        status=status,
        retry_after=retry_after(answer.headers) or _delay(fault),
        request_id=answer.headers.get("x-request-id") or answer.headers.get("request-id"),
    )


def _fault(event: Mapping[str, object]) -> Mapping[str, object] | None:
    """The error object inside an event, wherever its format keeps it."""
    for holder in (event, _inside(event, "response")):
        if isinstance(holder.get("error"), Mapping):
            return _inside(holder, "error")
    return event if event.get("type") == "error" else None


def _status(fault: Mapping[str, object]) -> int | None:
    told = [fault.get(name) for name in ("type", "code", "status")]
    for word in told:
        if isinstance(word, int) and word in (408, 429, 500, 502, 503, 504, 529):
            return word
        if isinstance(word, str) and word.lower() in _STATUS:
            return _STATUS[word.lower()]
    return None


def _delay(fault: Mapping[str, object]) -> str | None:
    """Gemini says in a detail how long to wait: `"retryDelay": "3s"`."""
    details = fault.get("details")
    for detail in cast("list[object]", details) if isinstance(details, list) else []:
        if not isinstance(detail, Mapping):
            continue
        told = _DELAY.fullmatch(str(cast("Mapping[str, object]", detail).get("retryDelay", "")))
        if told:
            return told[1]
    return None


def _quiet(event: Mapping[str, object]) -> bool:
    """Whether nothing was said yet: no word, no call, no end."""
    if event.get("type") in _QUIET_TYPES:
        return True
    choices = event.get("choices")
    if not isinstance(choices, list) or not choices:
        return False
    first = cast("list[object]", choices)[0]
    if not isinstance(first, Mapping):
        return False
    choice = cast("Mapping[str, object]", first)
    delta = _inside(choice, "delta")
    ended = choice.get("finish_reason") or "delta" not in choice
    return not ended and not any(delta.get(name) for name in _SAYING)


def _inside(holder: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = holder.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


def _object(event: str) -> Mapping[str, object]:
    try:
        found: object = json.loads(event)
    except (ValueError, RecursionError):
        return {}
    if isinstance(found, list) and found:  # Gemini wraps its error in a list
        found = cast("list[object]", found)[0]
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
