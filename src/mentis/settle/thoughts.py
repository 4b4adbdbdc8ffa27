"""Thoughts that a model writes among its words, between marks of its template, become reasoning.

Only what opens an answer is taken: `<think>` further down is something the answer talks about.
Templates that open the mark themselves leave only the closing one; then all before it was thought.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

from mentis.values.part import ReasoningPart
from mentis.values.reply import AgainDelta, Delta, ReasoningDelta, Reply, ReplyProblem, TextDelta

from .window import InnerReader, without_start

_PAIRS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
}
_LONE = "</think>"
_QUOTES = "`\"'"  # before a mark: somebody talks about it
_MOST_BLANKS = 1000
_OPENING = re.compile(rf"\s*({'|'.join(map(re.escape, _PAIRS))})")
_Phase: TypeAlias = Literal["start", "thought", "gap", "words", "through"]
Said: TypeAlias = tuple[Literal["thought", "words", "moved"], str]


class ThoughtHoldback:
    """Feed it the pieces of an answer; it says of each what is thought and what is said.

    `moved`: everything told as words before was thought.
    """

    def __init__(self) -> None:
        self._phase: _Phase = "start"
        self._kept = ""
        self._closing = ""
        self._before = ""  # the last character that was told: a quotation mark may stand there

    def passes(self, piece: str) -> bool:
        """Whether all of it is said, as most pieces are; then it counts as fed."""
        if self._phase == "through":
            return True
        if self._phase != "words" or self._kept or _may_hold_marks(piece):
            return False
        self._before = piece[-1:] or self._before
        return True

    def feed(self, piece: str) -> Iterator[Said]:
        text, self._kept = self._kept + piece, ""
        said: Said | None = None
        while text:
            match self._phase:
                case "start":
                    said, text = self._at_start(text)
                case "thought":
                    said, text = self._in_thought(text)
                case "gap":
                    said, text = None, text.lstrip()
                    self._phase = "through" if text else "gap"
                case "words":
                    said, text = self._in_words(text)
                case _:
                    said = ("words", text)
                    text = ""
            if said is not None:
                yield said

    def rest(self) -> Iterator[Said]:
        """After the last piece: what might have become a mark, and did not."""
        if self._kept:
            yield ("thought" if self._phase == "thought" else "words"), self._kept
            self._kept = ""

    def _at_start(self, text: str) -> tuple[Said | None, str]:
        if opening := _OPENING.match(text):
            self._phase, self._closing = "thought", _PAIRS[opening[1]]
            return None, text[opening.end() :]
        bare = text.lstrip()
        if len(text) <= _MOST_BLANKS and any(mark.startswith(bare) for mark in _PAIRS):
            self._kept = text
            return None, ""
        self._phase = "words"
        return None, text

    def _in_thought(self, text: str) -> tuple[Said | None, str]:
        thought, closing, rest = text.partition(self._closing)
        if closing:
            self._phase = "gap"
            return (("thought", thought) if thought else None), rest
        told = len(text) - _overlap(text, self._closing)
        self._kept = text[told:]
        return (("thought", text[:told]) if told else None), ""

    def _in_words(self, text: str) -> tuple[Said | None, str]:
        """Only until the first mark: after an opening one, none that closes stands alone."""
        if not _may_hold_marks(text):
            return self._words(text), ""
        place = text.find(_LONE)
        opened = min((p for mark in _PAIRS if (p := text.find(mark)) >= 0), default=-1)
        if opened >= 0 and (place < 0 or opened < place):
            self._phase = "through"
            return None, text
        if place < 0:
            told = len(text) - max(_overlap(text, mark) for mark in (_LONE, *_PAIRS))
            self._kept = text[told:]
            return self._words(text[:told]), ""
        if place:
            return self._words(text[:place]), text[place:]
        if self._before in _QUOTES and self._before:
            self._phase = "through"
            return None, text
        self._phase = "gap"
        return ("moved", ""), text[len(_LONE) :]

    def _words(self, text: str) -> Said | None:
        if text:
            self._before = text[-1]
        return ("words", text) if text else None


def split_thoughts(text: str) -> tuple[str, str]:
    """What was thought and what was said, of a whole answer."""
    if not _may_hold_marks(text):
        return "", text
    holdback = ThoughtHoldback()
    thoughts, words = list[str](), list[str]()
    for what, piece in (*holdback.feed(text), *holdback.rest()):
        if what == "moved":
            thoughts, words = [*thoughts, *words], []
        else:
            (thoughts if what == "thought" else words).append(piece)
    return "".join(thoughts), "".join(words)


class Thinking:
    """A reader whose answers have their thoughts among the reasoning."""

    def __init__(self, inner: InnerReader) -> None:
        self._inner = inner
        self._holdback = ThoughtHoldback()
        self._passes = self._holdback.passes

    def feed(self, event: str) -> tuple[Delta, ...]:
        deltas = self._inner.feed(event)
        # As most events are: one piece of what is said.
        if len(deltas) == 1 and type(only := deltas[0]) is TextDelta and self._passes(only.text):
            return deltas
        return self._passed(deltas)

    def take(self, event: str) -> None:
        self._inner.take(event)

    def rest(self) -> tuple[Delta, ...]:
        deltas = self._passed(self._inner.rest())
        return (*deltas, *(self._delta(one) for one in self._holdback.rest()))

    def finish(self, *, interrupted: bool = False) -> Reply:
        """The whole reply. `interrupted` says that we stopped reading, not the provider."""
        reply = self._inner.finish(interrupted=interrupted)
        thought, words = split_thoughts(reply.text)
        if words == reply.text:
            return reply
        gone = len(reply.text) - len(words)
        note = ReplyProblem(
            "thoughts-in-text", "what was thought stood in the text, marked as such"
        )
        mine = (ReasoningPart(thought.strip()),) if thought.strip() else ()
        return replace(
            reply,
            text=words,
            reasoning="\n\n".join(filter(None, (reply.reasoning, thought.strip()))),
            parts=(*mine, *without_start(reply.parts, gone)),
            notes=(*reply.notes, note),
        )

    def _passed(self, deltas: tuple[Delta, ...]) -> tuple[Delta, ...]:
        passed: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, TextDelta):
                passed += [self._delta(one) for one in self._holdback.feed(delta.text)]
            else:
                passed.append(delta)
        return tuple(passed)

    def _delta(self, said: Said) -> Delta:
        match said:
            case ("thought", text):
                return ReasoningDelta(text)
            case ("moved", _):
                return AgainDelta((), keeps=False)
            case (_, text):
                return TextDelta(text)


def _may_hold_marks(text: str) -> bool:
    return "<" in text or "[" in text


def _overlap(text: str, mark: str) -> int:
    """How much of the end of the text may be the beginning of the mark."""
    longest = min(len(text), len(mark) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(mark[:n])), 0)
