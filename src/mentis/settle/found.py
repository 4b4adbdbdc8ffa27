"""Finds the JSON in a text: bare, fenced, or with words around it. It never mends any."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, cast

from mentis.values.value import Value

from .arguments import where
from .lenient import mark_doubled

# Where a value may begin is tried so often; a text full of brackets is no reason to hang.
MOST_STARTS = 200
_FENCE = re.compile(r"```[ \t]*(?:(?:json|JSON)[ \t]*)?\r?\n(.*?)(?:\r?\n[ \t]*)?```", re.DOTALL)
_START = re.compile(r"[{\[]")
_NOISE = re.compile(
    r"^[ \t]*(?:Traceback \(most recent|File \"[^\"\n]*\", line \d|at [\w.$<>]+\(|0x[0-9a-fA-F]+\b)"
    r".*(?:\n|$)",
    re.MULTILINE,
)
_STRICT = json.JSONDecoder(object_pairs_hook=mark_doubled)
# Control characters inside texts are let through.
_LOOSE = json.JSONDecoder(object_pairs_hook=mark_doubled, strict=False)

Cleaning = Literal["", "control-characters", "noise-lines"]


@dataclass(frozen=True, slots=True)
class FoundJson(Value):
    """A value in a text, what stood around it, and what had to be done to read it.

    `gave_up`: so many brackets stand in the text that not all were tried as the beginning.
    """

    value: object
    before: str = ""
    after: str = ""
    cleaning: Cleaning = ""
    gave_up: bool = False


@dataclass(frozen=True, slots=True)
class Missing(Value):
    """No value. `hint` is where reading stopped, when the text meant to be JSON."""

    hint: str = ""
    gave_up: bool = False


def find_json(text: str) -> FoundJson | Missing:
    """The whole text wins, then a fence, then the value with the least around it."""
    for cleaning, cleaned, decoder in _variants(text):
        found = _find(cleaned, decoder)
        if found is not None:
            return replace(found, cleaning=cleaning)
    return Missing(_hint(text), gave_up=_has_more(text))


def _variants(text: str) -> Iterator[tuple[Cleaning, str, json.JSONDecoder]]:
    yield "", text, _STRICT
    yield "control-characters", text, _LOOSE
    quiet = _NOISE.sub("", text)
    if quiet != text:
        yield "noise-lines", quiet, _LOOSE


def _find(text: str, decoder: json.JSONDecoder) -> FoundJson | None:
    if (whole := _decode(text.strip(), decoder)) is not None:
        return FoundJson(whole)
    for fence in _FENCE.finditer(text):
        if (inside := _decode(fence[1].strip(), decoder)) is not None:
            return FoundJson(inside, text[: fence.start()].strip(), text[fence.end() :].strip())
    return _longest(text, decoder)


def _decode(text: str, decoder: json.JSONDecoder) -> object:
    """None also for an empty object or list: they say nothing."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value: object = decoder.decode(text)
    except (ValueError, RecursionError):
        return None
    return value or None


def _longest(text: str, decoder: json.JSONDecoder) -> FoundJson | None:
    best: tuple[int, int, object] | None = None
    position = 0
    for _ in range(MOST_STARTS):
        start = _START.search(text, position)
        if start is None:
            break
        position = start.end()
        try:
            value, end = cast("tuple[object, int]", decoder.raw_decode(text, start.start()))
        except (ValueError, RecursionError):
            continue
        position = end
        if value and (best is None or end - start.start() > best[1] - best[0]):
            best = start.start(), end, value
    if best is None:
        return None
    before, after = text[: best[0]].strip(), text[best[1] :].strip()
    return FoundJson(best[2], before, after, gave_up=_START.search(text, position) is not None)


def _has_more(text: str) -> bool:
    """Whether there are more places where a value may begin than are tried."""
    return sum(1 for _ in islice(_START.finditer(text), MOST_STARTS + 1)) > MOST_STARTS


def _hint(text: str) -> str:
    meant = _FENCE.search(text)
    inside = (meant[1] if meant else text).strip()
    if inside[:1] not in ("{", "[") or inside in ("{}", "[]"):
        return ""
    try:
        json.loads(inside)
    except json.JSONDecodeError as error:
        return where(error)
    except (ValueError, RecursionError) as error:
        return str(error)
    return ""
