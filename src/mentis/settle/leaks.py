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
from .mending import mend_json
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
# A name, then its arguments as JSON: Mistral, DeepSeek, Kimi, and the channels of gpt-oss.
_DEEPSEEK, _SEP = r"<\uff5ctool\u2581call\u2581", r"<\uff5ctool\u2581sep\uff5c>"
_NAME = r"([\w.:/-]+?)"
_NAMED = re.compile(
    rf"\[TOOL_CALLS\]\s*{_NAME}\s*(?:\[CALL_ID\]\s*\w+\s*)?\[ARGS\]\s*(?={{)"
    rf"|{_DEEPSEEK}begin\uff5c>\s*(?:function{_SEP})?{_NAME}\s*(?:{_SEP}|```json)\s*(?={{)"
    rf"|<\|tool_call_begin\|>\s*(?:functions\.)?{_NAME}(?::\d+)?"
    r"\s*<\|tool_call_argument_begin\|>\s*(?={)"
    rf"|(?:<\|start\|>assistant)?<\|channel\|>(?:commentary|analysis)\s+to=(?:functions\.)?{_NAME}"
    r"\s*(?:<\|constrain\|>)?\s*(?:json)?\s*<\|message\|>\s*(?={)"
)
_NAMED_END = re.compile(rf"\s*(?:```\s*)?(?:{_DEEPSEEK}end\uff5c>|<\|tool_call_end\|>|<\|call\|>)?")
OPENINGS = (
    *[opening for opening, _ in _TAGS],
    "<function=",
    '<invoke name="',
    "<function_calls>",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "<\uff5ctool\u2581call",
    "<|tool_calls_section_begin|>",
    "<|channel|>",
    "<|start|>assistant",
)
_FRAMES = re.compile(
    r"</?(?:function_calls|tool_calls?)>|<\uff5ctool\u2581calls\u2581(?:begin|end)\uff5c>"
    r"|<\|tool_calls_section_(?:begin|end)\|>"
)
_DECODER = json.JSONDecoder(object_pairs_hook=mark_doubled)


@dataclass(frozen=True, slots=True)
class Leak:
    """Calls, and the stretch of text they stood in; `mended`: their JSON was broken."""

    start: int
    end: int
    wanted: tuple[WantedAction, ...]
    mended: bool = False


def find_leaks(text: str, expected: Expectation) -> tuple[Leak, ...]:
    """All in their order, if one is of an offered tool; none overlaps another."""
    if first_opening(text) < 0:
        return ()
    leaks: list[Leak] = []
    for leak in sorted(_all_leaks(text, expected), key=lambda leak: leak.start):
        if leak.wanted and (not leaks or leak.start >= leaks[-1].end):
            leaks.append(leak)
    offered = any(expected.offers(one.name) for leak in leaks for one in leak.wanted)
    return tuple(leaks) if offered else ()


def first_opening(text: str) -> int:
    """Where markup of a call may begin; -1 where none does."""
    if "<" not in text and "[TOOL_CALLS]" not in text:
        return -1
    return min((at for one in OPENINGS if (at := text.find(one)) >= 0), default=-1)


def has_unread_leak(text: str, expected: Expectation) -> bool:
    """Whether markup of a call stands there, with the name of an offered tool, and is broken."""
    if not any(opening in text for opening, _ in _TAGS):
        return False
    wire = {own: sent for sent, own in expected.names.items()}
    return any(wire.get(tool.name, tool.name) in text for tool in expected.tools or ())


def without(text: str, leaks: tuple[Leak, ...]) -> str:
    """The text that is left when the calls are taken out of it."""
    position = first_opening(text)  # what stands before it was told already
    kept = [text[:position]]
    for leak in leaks:
        kept.append(_FRAMES.sub("", text[position : leak.start]))
        position = leak.end
    return "".join([*kept, _FRAMES.sub("", text[position:])]).strip()


def _all_leaks(text: str, expected: Expectation) -> Iterator[Leak]:
    for opening, closing in _TAGS:
        for start, inside, end in _between(text, opening, closing):
            wanted, mended = _calls(inside, expected)
            yield Leak(start, end, wanted, mended=mended)
    for start, inside, end in _between(text, "<function=", "</function>"):
        name, _, given = inside.partition(">")
        told = _parameters(given, "<parameter=", ">") if "<parameter=" in given else given.strip()
        yield Leak(start, end, (WantedAction(name.strip(), told),))
    for start, inside, end in _between(text, '<invoke name="', "</invoke>"):
        name, _, body = inside.partition('">')
        yield Leak(start, end, (WantedAction(name, _parameters(body)),))
    for found in _MARKED.finditer(text):
        try:
            value, end = cast("tuple[object, int]", _DECODER.raw_decode(text, found.end()))
        except (ValueError, RecursionError):
            continue
        yield Leak(found.start(), end, tuple(_wanted(value, expected)))
    for found in _NAMED.finditer(text):
        name = next(group for group in found.groups() if group)
        try:
            value, end = cast("tuple[object, int]", _DECODER.raw_decode(text, found.end()))
        except (ValueError, RecursionError):
            continue
        closing = _NAMED_END.match(text, end)
        yield Leak(found.start(), closing.end() if closing else end, (WantedAction(name, value),))


def _between(text: str, opening: str, closing: str) -> Iterator[tuple[int, str, int]]:
    """Each stretch from an opening to the next closing; one look at the text in all."""
    start = text.find(opening)
    while start >= 0 and (stop := text.find(closing, start)) >= 0:
        end = stop + len(closing)
        yield start, text[start + len(opening) : stop], end
        start = text.find(opening, end)
    if start >= 0 and _is_json(text[start + len(opening) :]):
        # Some servers take the closing mark for the end of the answer, and leave it out.
        yield start, text[start + len(opening) :], len(text)


def _calls(inside: str, expected: Expectation) -> tuple[tuple[WantedAction, ...], bool]:
    """One call or a list of them, and whether they had to be mended."""
    value = _decoded(inside)
    mended = value is None
    if mended and inside.lstrip()[:1] in ("{", "["):
        value = mend_json(inside)
    items = list_in(value) or [value]
    wanted = [one for item in items for one in _wanted(item, expected)]
    return tuple(wanted) or _keyed(inside), mended and bool(wanted)


def _keyed(inside: str) -> tuple[WantedAction, ...]:
    """A name, then keys and values each between marks, as GLM writes it."""
    name, found, _ = inside.partition("<arg_key>")
    if not found:
        return ()
    keys = [one.strip() for _, one, _ in _between(inside, "<arg_key>", "</arg_key>")]
    values = [_given(one.strip()) for _, one, _ in _between(inside, "<arg_value>", "</arg_value>")]
    if len(keys) != len(values):
        return ()
    return (WantedAction(name.strip(), mark_doubled([*zip(keys, values, strict=True)])),)


def _is_json(text: str) -> bool:
    return _decoded(text) is not None


def _decoded(text: str) -> object:
    try:
        return cast("object", _DECODER.decode(text.strip()))
    except (ValueError, RecursionError):
        return None


def _wanted(value: object, expected: Expectation) -> list[WantedAction]:
    """Also of what was not offered, where it has the shape of a call and nothing else."""
    return recognise(value, expected).wanted or recognise(value, NOTHING_EXPECTED).wanted


def _parameters(
    body: str, opening: str = '<parameter name="', mark: str = '">'
) -> dict[str, object]:
    found = [inside for _, inside, _ in _between(body, opening, "</parameter>")]
    pairs = [inside.partition(mark) for inside in found]
    return mark_doubled([(name, _given(_bare_lines(value))) for name, _, value in pairs])


def _bare_lines(value: str) -> str:
    """Without the line ends that a template puts around a value."""
    return value.removeprefix("\n").removesuffix("\n")


def _given(text: str) -> object:
    """A parameter is written as JSON or as plain words."""
    try:
        return cast("object", _DECODER.decode(text))
    except (ValueError, RecursionError):
        return text
