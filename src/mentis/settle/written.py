"""Calls written as JSON among the words of a model that has calls of its own.

Here an answer in JSON is an answer: only what says by its keys that it is a call, of a tool that
was offered, is one. What cannot be one is told as soon as its first key is known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from .arguments import where
from .expected import Expectation
from .held import Nesting
from .leaks import OPENINGS, first_opening
from .lenient import DoubledKeys, mark_doubled, object_in
from .mending import mend_json
from .shapes import ENVELOPES, NAME_KEYS, PAYLOAD_KEYS, WantedAction, names_offered, recognise

_DECODER = json.JSONDecoder(object_pairs_hook=mark_doubled)
_LOOK = re.compile(r"[{\[<`]")
_FENCE = re.compile(r"```[ \t]*(?:json|tool_call)?[ \t]*\r?\n\s*(?=\S)", re.IGNORECASE)
_FENCE_UNSURE = re.compile(
    r"`{1,2}\Z|```[ \t]*(?:j(?:s(?:on?)?)?|t[a-z_]{0,8})?[ \t]*(?:\r?\Z|\r?\n\s*\Z)", re.IGNORECASE
)
_FENCE_END = re.compile(r"\s*```")
_JSON = re.compile(r'\{\s*"|\[\s*\{\s*"')
_JSON_UNSURE = re.compile(r"(?:\{|\[\s*\{?)\s*\Z")
_FIRST = re.compile(r'[\[{\s]*"((?:[^"\\]|\\.)*)"\s*(:\s*(?:"((?:[^"\\]|\\.)*)")?)?')
_ID_KEYS = ("id", "call_id", "tool_call_id")
_SPOKEN = ("text", "message", "reply", "response")
_KEYS = frozenset((*ENVELOPES, *NAME_KEYS, *PAYLOAD_KEYS, *_ID_KEYS, *_SPOKEN))
_MOST_CALLS = 200
_LONGEST = max(map(len, OPENINGS))
_Holding: TypeAlias = Literal["", "json", "skip", "all"]


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """The stretch of a text that is a call, what is wanted, and the words that stood in it.

    `mended` and `broken` say what was wrong with its JSON; broken, nothing can be wanted of it.
    """

    start: int
    end: int
    wanted: tuple[WantedAction, ...] = ()
    said: tuple[str, ...] = ()
    mended: bool = False
    broken: str = ""


def find_written(
    text: str, expected: Expectation, *, whole: bool = True
) -> tuple[WrittenCall, ...]:
    """All calls in their order. Not `whole`: the answer was cut off."""
    return tuple(_written(text, expected, whole=whole))


def _written(text: str, expected: Expectation, *, whole: bool) -> Iterator[WrittenCall]:
    place, tried = 0, 0
    while (start := _JSON.search(text, place)) is not None:
        closed = Nesting().close(text[start.start() :])
        end = len(text) if closed < 0 else start.start() + closed
        place = end
        stretch = text[start.start() : end]
        if not may_be_call(stretch, expected):
            continue
        tried += 1
        if tried > _MOST_CALLS:
            return
        found = _read(stretch, expected, whole=whole)
        if found is not None:
            first, last = _with_fence(text, start.start(), end)
            place = last
            yield WrittenCall(
                first, last, found.wanted, found.said, mended=found.mended, broken=found.broken
            )


def _read(stretch: str, expected: Expectation, *, whole: bool) -> WrittenCall | None:
    problem = ""
    try:
        value: object = _DECODER.decode(stretch)
    except (ValueError, RecursionError) as error:
        if not names_offered(stretch, expected):
            return None
        value = mend_json(stretch, whole=whole)
        problem = where(error) if isinstance(error, json.JSONDecodeError) else str(error)
        if value is None:
            return WrittenCall(0, 0, broken=problem)
    wanted, said = _calls_in(value, expected)
    if not wanted:
        return None
    return WrittenCall(0, 0, wanted, said, mended=bool(problem))


def _calls_in(
    value: object, expected: Expectation
) -> tuple[tuple[WantedAction, ...], tuple[str, ...]]:
    """What the value asks for, if it says so by its keys and all of it was offered."""
    if isinstance(value, DoubledKeys) or not _is_explicit(value):
        return (), ()
    shape = recognise(value, expected)
    offered = all(expected.offers(one.name) for one in shape.wanted)
    if shape.wrong or not shape.wanted or not offered:
        return (), ()
    return tuple(shape.wanted), tuple(shape.said)


def _is_explicit(value: object) -> bool:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return bool(items) and all(_has_call_keys(object_in(item)) for item in items)


def _has_call_keys(members: Mapping[str, object]) -> bool:
    if any(key in members for key in ENVELOPES):
        return True
    inner = object_in(members.get("function"))
    if inner:
        return "name" in inner
    return any(key in members for key in NAME_KEYS) and any(key in members for key in PAYLOAD_KEYS)


def may_be_call(beginning: str, expected: Expectation) -> bool:
    """Whether JSON that begins so may still be a call, as far as its first key tells."""
    first = _FIRST.match(beginning)
    if first is None or first[2] is None:
        return True  # not known yet
    key, value = first[1], cast("str | None", first[3])
    if key not in _KEYS:
        return False
    if key == "type" or key not in NAME_KEYS or value is None:
        return True
    return expected.offers(value)


def _with_fence(text: str, start: int, end: int) -> tuple[int, int]:
    """With the fence around it, if nothing else is in there."""
    opening = text.rfind("```", 0, start)
    closing = _FENCE_END.match(text, end)
    if opening < 0 or closing is None:
        return start, end
    fence = _FENCE.match(text, opening)
    if fence is None or fence.end() != start:
        return start, end
    return opening, closing.end()


class WrittenHoldback:
    """Feed it the pieces of a text; it gives back what can be told of it now."""

    def __init__(self, expected: Expectation) -> None:
        self._expected = expected
        self._holding: _Holding = ""
        self._kept = ""
        self._fence = ""  # the opening of one, before JSON that is held
        self._tried = 0
        self._nesting = Nesting()

    def feed(self, piece: str) -> str:
        told: list[str] = []
        while piece and self._holding != "all":
            said, piece = self._step(piece)
            told.append(said)
        return "".join(told)

    def _step(self, piece: str) -> tuple[str, str]:
        """What can be told, and what of the piece has still to be looked at."""
        match self._holding:
            case "json":
                return self._in_json(piece)
            case "skip":
                return self._in_other(piece)
            case _:
                text, self._kept = self._kept + piece, ""
                start = _LOOK.search(text)
                if start is None:
                    return text, ""
                said, rest = self._open(text[start.start() :])
                return text[: start.start()] + said, rest

    def _open(self, text: str) -> tuple[str, str]:
        """`text` begins with what may begin a call; if it does not, it is told."""
        fence = _FENCE.match(text)
        inside = text[fence.end() :] if fence else text
        if any(inside.startswith(opening) for opening in OPENINGS):
            self._holding = "all"
            return "", ""
        unsure = _JSON_UNSURE.match(inside) or _FENCE_UNSURE.match(inside)
        if unsure or any(opening.startswith(inside) for opening in OPENINGS):
            self._kept = text
            return "", ""
        if _JSON.match(inside):
            self._holding, self._nesting = "json", Nesting()
            self._fence, self._kept = fence[0] if fence else "", ""
            return "", inside
        told = len(fence[0]) if fence else 1
        if text.startswith("```"):
            told = max(told, 3)
        return text[:told], text[told:]

    def _in_json(self, piece: str) -> tuple[str, str]:
        end = self._nesting.close(piece)
        self._kept += piece if end < 0 else piece[:end]
        rest = "" if end < 0 else piece[end:]
        if not may_be_call(self._kept, self._expected):
            return self._release(rest)
        if end < 0:
            return "", ""
        self._tried += 1
        call = _read(self._kept, self._expected, whole=True)
        if call is not None or self._tried > _MOST_CALLS:
            self._holding = "all"
            return "", ""
        return self._release(rest)

    def _release(self, rest: str) -> tuple[str, str]:
        """It is no call; what stands in it is none either, unless it is marked as one."""
        fence, text = self._fence, self._kept + rest
        self._fence = self._kept = ""
        self._holding, self._nesting = "skip", Nesting()
        return fence, text

    def _in_other(self, piece: str) -> tuple[str, str]:
        text, self._kept = self._kept + piece, ""
        opening = first_opening(text)
        safe = opening if opening >= 0 else len(text) - _half_opening(text)
        end = self._nesting.close(text[:safe])
        if end >= 0:
            self._holding = ""
            return text[:end], text[end:]
        if opening >= 0:
            self._holding = "all"
        else:
            self._kept = text[safe:]
        return text[:safe], ""


def _half_opening(text: str) -> int:
    """How much of the end of the text may be the beginning of markup."""
    tail = text[-_LONGEST:]
    starts = [at for at, mark in enumerate(tail) if mark in "<["]
    found = (at for at in starts if any(one.startswith(tail[at:]) for one in OPENINGS))
    return next((len(tail) - at for at in found), 0)
