"""An answer as it comes: its words on stdout, what is being done in between on stderr."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, cast

from mentis.values.reply import (
    AgainDelta,
    CallDelta,
    Delta,
    EndDelta,
    ResultDelta,
    StepDelta,
    TextDelta,
)

from .acts_show import call_line, result_lines
from .output import emit, say
from .shown import fold_line, room

_INDENT = "  "


@dataclass(slots=True)
class _Call:
    """A call on its way; `said` once it was whole."""

    name: str = ""
    arguments: str = ""
    said: bool = False


class AnswerPrinter:
    """Prints the pieces of one turn; the words of each step get lines of their own.

    A call is said as soon as its arguments are whole, which is before it is done. `keys` are those
    of the acts whose result was said; `receipt`: whether the entry is named after it.
    """

    def __init__(self, *, receipt: bool = True) -> None:
        self.receipt = receipt
        self.keys: set[str] = set()
        self._calls: dict[int, _Call] = {}
        self._line_open = False

    def __call__(self, delta: Delta) -> None:
        match delta:
            case TextDelta(text):
                if text:
                    self._tell(text)
            case CallDelta():
                self._add(delta)
            case ResultDelta():
                self._say_calls()
                self.keys.add(delta.key)
                lines = result_lines(delta.name, delta.state, delta.text, delta.key)
                self._say(*(f"{_INDENT}{line}" for line in lines))
            case StepDelta(number):
                self._say_calls()
                self._calls.clear()
                self._say_step(number)
            case AgainDelta():
                self._calls.clear()  # what failed in them is in its words
                self._say(_again_line(delta))
            case EndDelta():
                self._say_calls()
                self._calls.clear()
                self._end_line()
            case _:  # reasoning
                pass

    def __enter__(self) -> Self:
        """From here on the turn is made."""
        return self

    def __exit__(self, *_: object) -> None:
        """The turn is over, or failed."""

    def _say_step(self, number: int) -> None:
        self._say(f"{_INDENT}step {number}")

    def _tell(self, text: str) -> None:
        emit(text, end="")
        self._line_open = not text.endswith("\n")

    def _add(self, piece: CallDelta) -> None:
        call = self._calls.setdefault(piece.index, _Call())
        call.name = call.name or piece.name
        call.arguments += piece.arguments
        if not call.said and call.name and _arguments(call.arguments) is not None:
            self._say_call(call)

    def _say_calls(self) -> None:
        """Those whose arguments never were whole, too."""
        for call in self._calls.values():
            if not call.said:
                self._say_call(call)

    def _say_call(self, call: _Call) -> None:
        call.said = True
        given = _arguments(call.arguments)
        line = call_line(call.name, call.arguments if given is None else given)
        self._say(*(f"{_INDENT}{part}" for part in fold_line(line, room() - len(_INDENT))))

    def _say(self, *lines: str) -> None:
        self._end_line()
        for line in lines:
            say(line)

    def _end_line(self) -> None:
        if self._line_open:
            emit("")
        self._line_open = False


def _arguments(text: str) -> Mapping[str, object] | None:
    """None for what is not whole, or no object."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else None


def _again_line(delta: AgainDelta) -> str:
    if not delta.failed:
        return "the words so far were reasoning; the answer follows"
    said = "and is asked for once more" if delta.keeps else "and is asked for again, whole"
    return f"something in the answer failed {said}: {'; '.join(delta.failed)}"
