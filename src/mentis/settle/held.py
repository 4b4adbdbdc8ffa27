"""Words go through at once; what may be a call written among them is held until that is known."""

from __future__ import annotations

import json
import re
from typing import Literal, TypeAlias

from .expected import Expectation
from .found import MOST_STARTS
from .leaks import OPENINGS, first_opening
from .shapes import names_offered, recognise

_START = re.compile(r"[{\[<`]")
_JSON = re.compile(r"\{\s*[\"}]|\[\s*[\[{\"\]\-\dtfn]")
_FENCE = re.compile(r"```[ \t]*(?:json[ \t]*)?\r?\n", re.IGNORECASE)
# What the next piece may still turn into the beginning of one of these.
_UNSURE = re.compile(r"[{\[]\s*\Z|`{1,2}\Z|```[ \t]*(?:j(?:s(?:on?)?)?)?[ \t]*\r?\Z", re.IGNORECASE)
_MARK = re.compile(r"[\"\\{}\[\]]")
_CLOSING = "```"
_DECODER = json.JSONDecoder()
_Holding: TypeAlias = Literal["", "json", "fence", "all"]


class CallHoldback:
    """Feed it the pieces of a text; it gives back what can be told of it now."""

    def __init__(self, expected: Expectation) -> None:
        self._expected = expected
        self._off = expected.tools == ()  # nothing was offered, so nothing is a call
        self._holding: _Holding = ""
        self._kept: list[str] = []
        self._starts = 0
        self._in_code = False  # in a fence of another language, whose end is no beginning
        self._tail = ""  # the last two characters: a fence may be closed across two pieces
        self._nesting = Nesting()

    def feed(self, piece: str) -> str:
        if self._off:
            return piece
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
            case "fence":
                return self._in_fence(piece)
            case _:
                text = self._all(piece)
                start = _START.search(text)
                if start is None:
                    return text, ""
                said, rest = self._open(text[start.start() :])
                return text[: start.start()] + said, rest

    def _open(self, text: str) -> tuple[str, str]:
        """`text` begins with what may begin a call; if it does not, it is told."""
        if any(text.startswith(opening) for opening in OPENINGS):
            self._holding = "all"
        elif _UNSURE.match(text) or any(opening.startswith(text) for opening in OPENINGS):
            self._kept.append(text)
        elif _JSON.match(text):
            self._starts += 1
            self._nesting = Nesting()
            self._holding = "json" if self._starts <= MOST_STARTS else "all"
            return "", text
        elif not self._in_code and (fence := _FENCE.match(text)):
            self._holding, self._tail = "fence", ""
            self._kept.append(fence[0])
            return "", text[fence.end() :]
        elif text.startswith(_CLOSING):
            self._in_code = not self._in_code
            return _CLOSING, text[len(_CLOSING) :]
        else:
            return text[0], text[1:]
        return "", ""

    def _in_json(self, piece: str) -> tuple[str, str]:
        end = self._nesting.close(piece)
        if end < 0:
            self._kept.append(piece)
            return "", ""
        text = self._all(piece[:end])
        return self._judged(text, text, piece[end:])

    def _in_fence(self, piece: str) -> tuple[str, str]:
        end = f"{self._tail}{piece}".find(_CLOSING)
        if end < 0:
            self._kept.append(piece)
            self._tail = f"{self._tail}{piece}"[-2:]
            return "", ""
        end += len(_CLOSING) - len(self._tail)
        text, rest = self._all(piece[:end]), piece[end:]
        inside = text[: -len(_CLOSING)].partition("\n")[2]
        return self._judged(inside, text, rest)

    def _judged(self, inside: str, text: str, rest: str) -> tuple[str, str]:
        """Whether what stands in this finished stretch of text is a call."""
        self._holding = ""
        try:
            value: object = _DECODER.decode(inside.strip())
        except (ValueError, RecursionError):
            if names_offered(inside, self._expected):
                self._holding = "all"  # a call whose JSON is broken: never an answer
                return "", ""
            # A call may still stand further inside of what only looked like JSON.
            told = len(text) if text.startswith(_CLOSING) else 1
        else:
            if recognise(value, self._expected).name:
                self._holding = "all"
                return "", ""
            told = len(text)
        opening = first_opening(text[:told])
        told = opening if opening >= 0 else told
        return text[:told], text[told:] + rest

    def _all(self, piece: str) -> str:
        text = "".join((*self._kept, piece)) if self._kept else piece
        self._kept.clear()
        return text


class Nesting:
    """How deep a text of JSON is, piece by piece; what stands in its texts does not count."""

    def __init__(self) -> None:
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def close(self, piece: str) -> int:
        """Where in this piece the outermost bracket is closed; -1 while it is not."""
        position = 1 if self._escaped else 0
        self._escaped = False
        while (mark := _MARK.search(piece, position)) is not None:
            position = mark.end()
            if mark[0] == '"':
                self._quoted = not self._quoted
            elif self._quoted and mark[0] == "\\":
                self._escaped = position == len(piece)
                position += 1
            elif not self._quoted and mark[0] != "\\":
                self._depth += 1 if mark[0] in "{[" else -1
                if self._depth <= 0:
                    return position
        return -1
