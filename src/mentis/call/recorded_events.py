"""Events of an answer that was recorded: server-sent, lines of JSON, or one body."""

from __future__ import annotations

import json
from collections.abc import Iterator

_SSE = ("data:", "event:", "id:", "retry:", ":")
_DONE = "[DONE]"


def events_of(text: str, wire: str) -> Iterator[str]:
    """What kind of recording it is shows in how its lines begin; a text is what it is."""
    if wire == "text":
        return iter([text] if text.strip() else [])
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and all(line.startswith(_SSE) for line in lines[:3]):
        return _sse_events(text, wire)
    if len(lines) < 2 or _is_json(text):
        return iter([text] if text.strip() else [])
    return iter(lines if lines[0].lstrip().startswith("{") and _is_json(lines[0]) else [text])


def _sse_events(text: str, wire: str) -> Iterator[str]:
    for data in _plain_data(text) if "\r" not in text else _any_data(text):
        # Only in these two formats it is a mark of the end.
        if data and (data != _DONE or wire.startswith("openai")):
            yield data


def _plain_data(text: str) -> Iterator[str]:
    """Where lines end in one way only, as they nearly always do."""
    for event in text.split("\n\n"):
        if event.startswith("data: ") and "\n" not in event:
            yield event[6:]
            continue
        lines = event.split("\n")
        yield "\n".join(one[5:].removeprefix(" ") for one in lines if one.startswith("data:"))


def _any_data(text: str) -> Iterator[str]:
    import httpx2

    whole = httpx2.Response(
        200,
        headers={"content-type": "text/event-stream"},
        text=f"{text}\n\n",  # a recording that was cut short still says what it says
        request=httpx2.Request("POST", "http://recorded.invalid"),
    )
    for event in httpx2.EventSource(whole, None):
        yield event.data


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
