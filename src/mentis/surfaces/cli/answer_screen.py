"""An answer as it comes on a terminal: Markdown that is drawn while it is written, and what is
being done meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from threading import Event as Flag
from threading import RLock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Self

import click

from mentis.system.terminals import keys_unseen
from mentis.values.reply import (
    AgainDelta,
    CallDelta,
    Delta,
    EndDelta,
    ReasoningDelta,
    ResultDelta,
    StepDelta,
)

from .answer_show import AnswerPrinter
from .live_region import LiveRegion, ScreenSize
from .markdown_stream import MarkdownPiece, MarkdownStream, markdown_lines, with_name
from .output import dimmed, saying_through, unsteered

if TYPE_CHECKING:
    from mentis.home.events import Event
    from mentis.home.parts import Parts

_FRAMES, _PLAIN_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_TICK = 0.1  # seconds between two pictures of what is going on
_LONG = 2  # seconds after which it is said how long it takes
READING = "reading memory"
THINKING = "thinking"


class RunningStep:
    """The step that runs now, and since when; nothing while words come."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self.text = ""
        self._since = 0.0

    def begin(self, text: str) -> None:
        if text != self.text:
            self.text, self._since = text, self._clock()

    def hear(self, event: Event) -> None:
        """For `Parts.on_event`: the prompt is made, and a model is asked."""
        if event.name == "model_asked" and self.text:
            self.begin(f"asking {unsteered(str(event.facts['model'] or event.facts['route']))}")

    def follow(self, delta: Delta) -> None:
        match delta:
            case ReasoningDelta():
                self.begin(THINKING)
            case CallDelta(name=name):
                self.begin(f"calling {unsteered(name)}" if name else self.text)
            case ResultDelta() | StepDelta():
                self.begin("reading what came of it")
            case AgainDelta():
                self.begin("asking again")
            case _:
                self.begin("")

    def line(self, *, plain: bool = False) -> str:
        """One line about it; empty while words come."""
        if not self.text:
            return ""
        passed = self._clock() - self._since
        frames = _PLAIN_FRAMES if plain else _FRAMES
        frame = frames[int(passed / _TICK) % len(frames)]
        took = f" {passed:.0f} s" if passed >= _LONG else ""
        return f"{frame} {self.text} ...{took}"


class AnswerTerminal:
    """A terminal of this size (columns and rows, as they are now) on which answers are drawn."""

    def __init__(self, size: ScreenSize) -> None:
        self.size = size
        self._step = RunningStep()
        self._region = LiveRegion(sys.stdout, size)

    def hearing(self, parts: Parts) -> Parts:
        """Parts of an agent by which the step that runs is known."""
        return replace(parts, on_event=self._step.hear, on_loading=self._step.begin)

    def printer(self, name: str, *, receipt: bool) -> AnswerPrinter:
        return AnswerScreen(name, self._region, self._step, receipt=receipt)

    def aside(self, name: str, *, receipt: bool) -> AnswerPrinter:
        return AnswerAside(name, lambda: self.size()[0], receipt=receipt)


class AnswerScreen(AnswerPrinter):
    """Shows one turn of somebody called `name`. Use it as a context manager around the turn."""

    def __init__(
        self, name: str, region: LiveRegion, step: RunningStep, *, receipt: bool = True
    ) -> None:
        super().__init__(receipt=receipt)
        self._name = name
        self._region = region
        self._step = step
        self._stream = MarkdownStream()
        self._begun = False  # something of the answer stands above
        self._lock = RLock()
        self._over = Flag()
        self._opened = ExitStack()
        self._plain = "utf" not in (sys.stdout.encoding or "utf-8").casefold()

    def __enter__(self) -> Self:
        self._step.begin(READING)
        self._opened.enter_context(keys_unseen())
        self._opened.enter_context(saying_through(self._say_above))
        ticking = Thread(target=self._keep_drawing, daemon=True)
        ticking.start()
        self._opened.callback(ticking.join)
        self._opened.callback(self._over.set)
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._step.begin("")
            self._end_line()
            self._region.draw(())
        self._opened.close()

    def __call__(self, delta: Delta) -> None:
        with self._lock:
            super().__call__(delta)
            if not isinstance(delta, EndDelta):
                self._step.follow(delta)

    def draw(self) -> None:
        """The picture as it is now: what is finished stays, the rest is drawn below."""
        with self._lock:
            if (piece := self._stream.take_finished()) is not None:
                self._print(piece)
            step = self._step.line(plain=self._plain)
            told = self._lines(self._stream.rest)
            self._region.draw([*told, *([dimmed(step)] if step else [])])

    def _keep_drawing(self) -> None:
        while not self._over.wait(_TICK):
            self.draw()

    def _tell(self, text: str) -> None:
        self._stream.add(unsteered(text))

    def _say_step(self, number: int) -> None:  # noqa: ARG002  # the running step says as much
        self._end_line()

    def _say(self, *lines: str) -> None:
        self._end_line()
        self._region.print([dimmed(unsteered(line)) for line in lines])

    def _end_line(self) -> None:
        piece = self._stream.take_rest()
        if piece.text.strip():
            self._print(piece)

    def _print(self, piece: MarkdownPiece) -> None:
        lines = self._lines(piece)
        if lines:
            self._begun = True
            self._region.print(lines)

    def _lines(self, piece: MarkdownPiece) -> Sequence[str]:
        text = piece.text
        if not text.strip():
            return []
        columns = self._region.size()[0]
        if not self._begun:
            return markdown_lines(with_name(self._name, text), columns)
        lines = markdown_lines(text, columns)
        return lines if piece.goes_on else ["", *lines]

    def _say_above(self, text: str) -> None:
        with self._region.set_aside():
            click.echo(text, err=True)


class AnswerAside(AnswerPrinter):
    """Prints an answer that comes while somebody may be typing: in whole blocks, once each."""

    def __init__(self, name: str, columns: Callable[[], int], *, receipt: bool = True) -> None:
        super().__init__(receipt=receipt)
        self._name = name
        self._columns = columns
        self._text = ""

    def _tell(self, text: str) -> None:
        self._text += unsteered(text)

    def _end_line(self) -> None:
        if self._text.strip():
            lines = markdown_lines(with_name(self._name, self._text), self._columns())
            click.echo("\n".join(lines))
        self._text = ""
