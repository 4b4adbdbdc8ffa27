"""Calls that leaked into the text as the markup of a model's own template.

They are taken where at least one is of a tool that was offered: then the others were meant too, and
come to nothing like any call of what is not there. Markup of nothing that was offered stays text:
it may be what somebody talks about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from .expected import NOTHING_EXPECTED, Expectation
from .lenient import list_in, mark_doubled
from .shapes import WantedAction, recognise

# How a call begins and ends in the templates in use; what is between is JSON.
_TAGS = (
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<function_call>", "</function_call>"),
    ("<tool_use>", "</tool_use>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("<|tool_call_start|>", "<|tool_call_end|>"),
    ("<|tool_call_begin|>", "<|tool_call_end|>"),
)
_MARKED = re.compile(r"(?:\[TOOL_CALLS\]|<\|python_tag\|>)[ \t]*(?=[\[{])")
OPENINGS = (
    *[opening for opening, _ in _TAGS],
    "<function=",
    '<invoke name="',
    "<function_calls>",
    "<|python_tag|>",
    "[TOOL_CALLS]",
)
_FRAMES = re.compile(r"</?(?:function_calls|tool_calls)>")
_DECODER = json.JSONDecoder(object_pairs_hook=mark_doubled)


@dataclass(frozen=True, slots=True)
class Leak:
    """Calls, and the stretch of text they stood in."""

    start: int
    end: int
    wanted: tuple[WantedAction, ...]


def find_leaks(text: str, expected: Expectation) -> tuple[Leak, ...]:
    """All in their order, if one is of an offered tool; none overlaps another."""
    if "<" not in text and "[TOOL_CALLS]" not in text:
        return ()
    leaks: list[Leak] = []
    for leak in sorted(_all_leaks(text, expected), key=lambda leak: leak.start):
        if leak.wanted and (not leaks or leak.start >= leaks[-1].end):
            leaks.append(leak)
    offered = any(expected.offers(one.name) for leak in leaks for one in leak.wanted)
    return tuple(leaks) if offered else ()


def has_unread_leak(text: str, expected: Expectation) -> bool:
    """Whether markup of a call stands there, with the name of an offered tool, and is broken."""
    if not any(opening in text for opening, _ in _TAGS):
        return False
    wire = {own: sent for sent, own in expected.names.items()}
    return any(wire.get(tool.name, tool.name) in text for tool in expected.tools or ())


def without(text: str, leaks: tuple[Leak, ...]) -> str:
    """The text that is left when the calls are taken out of it."""
    kept, position = list[str](), 0
    for leak in leaks:
        kept.append(text[position : leak.start])
        position = leak.end
    return _FRAMES.sub("", "".join([*kept, text[position:]])).strip()


def _all_leaks(text: str, expected: Expectation) -> Iterator[Leak]:
    for opening, closing in _TAGS:
        for start, inside, end in _between(text, opening, closing):
            yield Leak(start, end, _calls(inside, expected))
    for start, inside, end in _between(text, "<function=", "</function>"):
        name, _, given = inside.partition(">")
        yield Leak(start, end, (WantedAction(name.strip(), given.strip()),))
    for start, inside, end in _between(text, '<invoke name="', "</invoke>"):
        name, _, body = inside.partition('">')
        yield Leak(start, end, (WantedAction(name, _parameters(body)),))
    for found in _MARKED.finditer(text):
        try:
            value, end = cast("tuple[object, int]", _DECODER.raw_decode(text, found.end()))
        except (ValueError, RecursionError):
            continue
        yield Leak(found.start(), end, tuple(_wanted(value, expected)))


def _between(text: str, opening: str, closing: str) -> Iterator[tuple[int, str, int]]:
    """Each stretch from an opening to the next closing; one look at the text in all."""
    start = text.find(opening)
    while start >= 0 and (stop := text.find(closing, start)) >= 0:
        end = stop + len(closing)
        yield start, text[start + len(opening) : stop], end
        start = text.find(opening, end)


def _calls(inside: str, expected: Expectation) -> tuple[WantedAction, ...]:
    """One call or a list of them; some templates put one on each line."""
    try:
        value: object = _DECODER.decode(inside)
    except (ValueError, RecursionError):
        return ()
    items = list_in(value) or [value]
    return tuple(one for item in items for one in _wanted(item, expected))


def _wanted(value: object, expected: Expectation) -> list[WantedAction]:
    """Also of what was not offered, where it has the shape of a call and nothing else."""
    return recognise(value, expected).wanted or recognise(value, NOTHING_EXPECTED).wanted


def _parameters(body: str) -> dict[str, object]:
    found = [inside for _, inside, _ in _between(body, '<parameter name="', "</parameter>")]
    pairs = [inside.partition('">') for inside in found]
    return mark_doubled([(name, _given(value)) for name, _, value in pairs])


def _given(text: str) -> object:
    """A parameter is written as JSON or as plain words."""
    try:
        return cast("object", _DECODER.decode(text))
    except (ValueError, RecursionError):
        return text
