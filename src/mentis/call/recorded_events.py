"""Events of an answer that was recorded: server-sent, lines of JSON, or one body."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

_SSE = ("data:", "event:", "id:", "retry:", ":")
_DONE = "[DONE]"


def events_of(text: str, wire: str) -> Iterator[str]:
    """What kind of recording it is shows in how its lines begin; a text is what it is."""
    if wire == "text":
        return iter([text] if text.strip() else [])
    first = [*islice(_lines(text), 3)]
    if first and all(line.startswith(_SSE) for line in first):
        return _sse_events(text, wire)
    lines = [*_lines(text)]
    if len(lines) < 2 or _is_json(text):
        return iter([text] if text.strip() else [])
    return iter(lines if lines[0].lstrip().startswith("{") and _is_json(lines[0]) else [text])


def _lines(text: str) -> Iterator[str]:
    """Those that say something."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) % (len(text) + 1)
        if (line := text[begin:end]).strip():
            yield line
        begin = end + 1


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
