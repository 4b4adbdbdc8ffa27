"""Where a conversation is typed and shown: a prompt with keys and a screen, or plain lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import get_terminal_size
from typing import Protocol

from mentis.home.parts import Parts

from .answer_show import AnswerPrinter
from .approval_talk import read_line
from .output import say
from .wrapping import stream_width

YOU = "you> "
_COLUMNS = 80
HINT = "pip install 'mentis[chat]' adds history, editing keys, completion and Markdown"


@dataclass(frozen=True, slots=True)
class WordChoice:
    """The words that may follow a slash command, and one line on each command."""

    commands: Mapping[str, str]
    names: Callable[[str], Iterable[str]]


class ChatTerminal(Protocol):
    """What a conversation needs of a terminal."""

    def keep_keys(self) -> None:
        """Keep what is typed for the next prompt, and do not show it before."""
        ...

    def close(self) -> None:
        """Leave the keyboard as it was."""
        ...

    def hearing(self, parts: Parts) -> Parts:
        """Parts of an agent by which it hears what the agent is doing."""
        ...

    def greet(self, name: str, agent: str, session: str) -> None:
        """Say who is talked to, and how to leave."""
        ...

    def recall(self, said: Sequence[tuple[str, str]]) -> None:
        """Show the end of a talk that goes on: who said what."""
        ...

    def read(self, words: WordChoice, *, default: str = "") -> str:
        """What somebody wrote. EOFError: they leave. KeyboardInterrupt: they begin anew."""
        ...

    def printer(self, name: str, *, receipt: bool) -> AnswerPrinter:
        """Shows one answer of somebody called `name`."""
        ...

    def aside(self, name: str, *, receipt: bool) -> AnswerPrinter:
        """Shows an answer that comes while somebody may be typing."""
        ...


class PlainTerminal:
    """Lines in, lines out: for terminals that can do no more, and where the output is kept."""

    def keep_keys(self) -> None:
        """The terminal keeps whole lines by itself."""

    def close(self) -> None:
        """Nothing was changed."""

    def hearing(self, parts: Parts) -> Parts:
        return parts

    def greet(self, name: str, agent: str, session: str) -> None:  # noqa: ARG002  # all of them alike
        say(
            f"You are talking to {agent}. Ctrl-C ends an answer, Ctrl-D the conversation,"
            " /help lists commands."
        )

    def recall(self, said: Sequence[tuple[str, str]]) -> None:
        """Whoever keeps the lines has it already."""

    def read(self, words: WordChoice, *, default: str = "") -> str:  # noqa: ARG002  # a line has none
        if default:
            say(f"it was: {default}")
        try:
            return read_line(YOU)
        except (EOFError, KeyboardInterrupt):
            say("")
            raise

    def printer(self, name: str, *, receipt: bool) -> AnswerPrinter:  # noqa: ARG002  # words alone
        return AnswerPrinter(receipt=receipt)

    aside = printer


def draws_answers() -> bool:
    """Whether an answer can be drawn while it comes: a terminal, and `rich` for its Markdown."""
    if stream_width(sys.stdout) is None or os.environ.get("TERM") == "dumb":
        return False
    return find_spec("rich") is not None


def terminal_size() -> tuple[int, int]:
    """Columns and rows of the terminal that answers are shown on."""
    return stream_width(sys.stdout) or _COLUMNS, get_terminal_size().lines


def open_terminal(history: Path) -> ChatTerminal:
    """The best that standard input and output can do."""
    streams = (sys.stdin, sys.stdout)
    if not all(stream is not None and stream.isatty() for stream in streams):  # pyright: ignore[reportUnnecessaryComparison]  # None when closed
        return PlainTerminal()
    if os.environ.get("TERM") == "dumb":
        return PlainTerminal()
    if find_spec("prompt_toolkit") is None or not draws_answers():
        say(HINT, dim=True)
        return PlainTerminal()
    from .chat_prompt import PromptTerminal

    return PromptTerminal(history)
