"""A terminal in memory for `mentis chat`: keys go in, and what the screen shows comes out."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition

import pyte
import pytest
from prompt_toolkit.application import get_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output
from pyte import modes

from mentis.surfaces.cli.main import run

CTRL_C, CTRL_D, UP, ENTER, ALT_ENTER = "\x03", "\x04", "\x1b[A", "\r", "\x1b\r"


def pasted(text: str) -> str:
    """As a terminal sends it."""
    return f"\x1b[200~{text}\x1b[201~"


class ScreenStream(io.StringIO):
    """A stream that is a terminal: whatever is written is on its screen, and scrolls."""

    encoding = "utf-8"

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__()
        self.screen = pyte.HistoryScreen(columns, rows, history=5000)
        self.screen.set_mode(modes.LNM)
        self._emulator = pyte.Stream(self.screen)
        self.raw = ""
        self._written = Condition()

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        with self._written:
            self.raw += text
            self._emulator.feed(text)
            self._written.notify_all()
        return len(text)

    def wait_for(self, words: str, *, after: str = "") -> None:
        """Until these words stand on the screen, behind others if some are named."""
        with self._written:
            shown = self._written.wait_for(lambda: self._shows(words, after), 30)
        assert shown, self.everything

    def _shows(self, words: str, after: str) -> bool:
        _, found, behind = self.everything.partition(after) if after else ("", "x", self.everything)
        return bool(found) and words in behind

    @property
    def lines(self) -> list[str]:
        """The screen, without what is empty at its end."""
        shown = [line.rstrip() for line in self.screen.display]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    @property
    def everything(self) -> str:
        """Also what has scrolled away."""
        columns = range(self.screen.columns)
        above = ("".join(row[x].data for x in columns) for row in self.screen.history.top)
        return "\n".join([*(line.rstrip() for line in above), *self.lines])


@dataclass
class ChatScreen:
    """Runs `mentis chat` in this process, on a terminal of this size."""

    home: Path
    columns: int = 80
    rows: int = 24
    stream: ScreenStream = field(init=False)

    def __call__(self, *keys: str, args: tuple[str, ...] = ()) -> int:
        """Type these keys; the exit code."""
        with self.terminal() as type_text:
            type_text("".join(keys))
            return self.run(*args)

    def run(self, *args: str) -> int:
        """Within `terminal`: talk to the end."""
        return run(["--home", str(self.home), "chat", *args])

    @contextmanager
    def terminal(self) -> Generator[Callable[[str], None]]:
        """As long as it is open, the program is at this terminal; it hands over its keyboard."""
        self.stream = ScreenStream(self.columns, self.rows)

        def size() -> Size:
            return Size(rows=self.rows, columns=self.columns)

        output = Vt100_Output(self.stream, size, term="xterm", enable_cpr=False)
        with pytest.MonkeyPatch.context() as patch, create_pipe_input() as pipe:
            # Those of the session that every thread has: what it prints stands above the prompt.
            patch.setattr(get_app_session(), "_input", pipe)
            patch.setattr(get_app_session(), "_output", output)
            for name in ("stdin", "stdout", "stderr"):
                patch.setattr(f"sys.{name}", self.stream)
            for name, number in (("COLUMNS", self.columns), ("LINES", self.rows)):
                patch.setenv(name, str(number))
            patch.setenv("TERM", "xterm-256color")
            patch.delenv("NO_COLOR", raising=False)
            yield pipe.send_text
