"""The window that a model opens its answer with, kept out of what is told while it streams.

Only what begins the answer is withheld: one JSON object that can be read and says that it is a
window, alone or in a fence. Everything else goes through as it is. What a window says is judged
elsewhere.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias, cast

from mentis.values.part import Part, TextPart
from mentis.values.reply import AgainDelta, Delta, Reply, TextDelta
from mentis.values.value import Value
from mentis.values.window import ENOUGH_MARKS, MARKS, is_marked

from .held import Nesting

_START = re.compile(r"\ufeff?\s*(?P<fence>```[ \t]*\w*[ \t]*\r?\n\s*)?(?=\{)")
# What the next piece may still turn into the beginning of a window.
_UNSURE = re.compile(r"\ufeff?\s*(?:`{1,2}|```[ \t]*\w*[ \t]*(?:\r?|\r?\n\s*))?\Z")
_CLOSING = re.compile(r"\s*```[ \t]*(?:\r?\n|\Z)")
_CLOSING_UNSURE = re.compile(r"\s*(?:`{0,2}|```[ \t]*\r?)\Z")
_NAMED = re.compile(rf'"({"|".join(sorted(MARKS))})"\s*:')
_MOST_BEFORE = 1000  # characters of blanks and fence before the object
MOST_HELD = 65_536  # no window is longer; what is, is an answer
_Phase: TypeAlias = Literal["start", "object", "closing", "gap", "through"]


@dataclass(frozen=True, slots=True)
class Split(Value):
    """An answer taken apart: `withheld` is its window as it was written, empty without one."""

    withheld: str
    text: str


class WindowHoldback:
    """Feed it the pieces of an answer; it gives back what may be told of them now.

    `whole` is the answer with its window, once the reply was made.
    """

    def __init__(self) -> None:
        self.whole = ""
        self.withheld = ""
        self._phase: _Phase = "start"
        self._kept: list[str] = []
        self._length = 0
        self._nesting = Nesting()
        self._fenced = False

    def feed(self, piece: str) -> str:
        """What can be told after this piece."""
        told: list[str] = []
        while piece and self._phase != "through":
            said, piece = self._step(piece)
            told.append(said)
        return "".join((*told, piece))

    def restart(self) -> None:
        """What was told so far was no answer: it begins now."""
        self._phase, self.withheld = "start", ""
        self._kept, self._length, self._nesting = [], 0, Nesting()

    def rest(self, *, broken: bool = False) -> str:
        """After the last piece: what was held back and cannot be read as a window.

        An object that never closes may have the whole answer in it: it is told. Only of an answer
        that was `broken` off in its window nothing is.
        """
        text, phase = self._all(), self._phase
        self._phase = "through"
        if phase == "closing":
            closing = _CLOSING.match(text)
            return (text[closing.end() :] if closing else text).lstrip()
        if phase == "object" and broken and _looks_like_one(text):
            self.withheld = text
            return ""
        return text if phase in ("start", "object") else ""

    def _step(self, piece: str) -> tuple[str, str]:
        """What is told, and what of the piece has still to be looked at."""
        match self._phase:
            case "start":
                return self._at_start(self._all() + piece)
            case "object":
                return self._in_object(piece)
            case "closing":
                return self._at_closing(self._all() + piece)
            case _:
                left = piece.lstrip()
                self._phase = "through" if left else "gap"
                return "", left

    def _at_start(self, text: str) -> tuple[str, str]:
        found = _START.match(text)
        if found is not None and found.end() <= _MOST_BEFORE:
            self._fenced = found["fence"] is not None
            self._phase = "object"
            self._keep(text[: found.end()])
            return "", text[found.end() :]
        if len(text) <= _MOST_BEFORE and _UNSURE.match(text):
            self._keep(text)
            return "", ""
        self._phase = "through"
        return text, ""

    def _in_object(self, piece: str) -> tuple[str, str]:
        end = self._nesting.close(piece)
        self._keep(piece if end < 0 else piece[:end])
        if self._length > MOST_HELD:
            self._phase = "through"
            return self._all(), "" if end < 0 else piece[end:]
        if end < 0:
            return "", ""
        text = self._all()
        if not _is_one(text):
            self._phase = "through"
            return text, piece[end:]
        self.withheld = text
        self._phase = "closing" if self._fenced else "gap"
        return "", piece[end:]

    def _at_closing(self, text: str) -> tuple[str, str]:
        closing = _CLOSING.match(text)
        if closing is not None and closing[0].endswith("\n"):
            self._phase = "gap"
            self.withheld += closing[0]
            return "", text[closing.end() :]
        if _CLOSING_UNSURE.match(text) and len(text) <= _MOST_BEFORE:
            self._keep(text)
            return "", ""
        self._phase = "gap"  # the fence goes on behind the window: that is the answer
        return "", text

    def _keep(self, text: str) -> None:
        self._kept.append(text)
        self._length += len(text)

    def _all(self) -> str:
        text = "".join(self._kept)
        self._kept.clear()
        self._length = 0
        return text


def split_window(text: str, *, broken: bool = False) -> Split:
    """A whole answer at once, or one that was broken off."""
    opening = WindowHoldback()
    told = opening.feed(text) + opening.rest(broken=broken)
    return Split(opening.withheld, told)


class InnerReader(Protocol):
    def feed(self, event: str) -> tuple[Delta, ...]: ...

    def take(self, event: str) -> None: ...

    def rest(self) -> tuple[Delta, ...]: ...

    def finish(self, *, interrupted: bool = False) -> Reply: ...


class Withholding:
    """A reader whose answers have lost the window they open with; `opening` has it."""

    def __init__(self, inner: InnerReader, opening: WindowHoldback) -> None:
        self._inner = inner
        self._opening = opening

    def feed(self, event: str) -> tuple[Delta, ...]:
        return self._passed(self._inner.feed(event))

    def take(self, event: str) -> None:
        self.feed(event)  # what the window holds is found on the way

    def rest(self) -> tuple[Delta, ...]:
        deltas = self._passed(self._inner.rest())
        left = self._opening.rest()
        return (*deltas, TextDelta(left)) if left else deltas

    def finish(self, *, interrupted: bool = False) -> Reply:
        reply = self._inner.finish(interrupted=interrupted)
        self._opening.whole = reply.text
        split = split_window(reply.text, broken=interrupted)
        if not split.withheld:
            return reply
        gone = len(reply.text) - len(split.text)
        return replace(reply, text=split.text, parts=tuple(without_start(reply.parts, gone)))

    def _passed(self, deltas: tuple[Delta, ...]) -> tuple[Delta, ...]:
        passed: list[Delta] = []
        for delta in deltas:
            if not isinstance(delta, TextDelta):
                if isinstance(delta, AgainDelta):
                    self._opening.restart()
                passed.append(delta)
            elif told := self._opening.feed(delta.text):
                passed.append(TextDelta(told))
        return tuple(passed)


def without_start(parts: tuple[Part, ...], gone: int) -> list[Part]:
    """The parts without their first characters. A signature of words that changed is no use."""
    kept: list[Part] = []
    for part in parts:
        if not isinstance(part, TextPart) or not gone:
            kept.append(part)
            continue
        text = part.text[gone:]
        gone -= len(part.text) - len(text)
        if text:
            kept.append(TextPart(text))
    return kept


def _is_one(text: str) -> bool:
    """Whether a finished object is a window. What cannot be read may be the answer: it is none."""
    try:
        value: object = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and is_marked(cast("dict[str, object]", value))


def _looks_like_one(text: str) -> bool:
    return len(set(_NAMED.findall(text))) >= ENOUGH_MARKS
