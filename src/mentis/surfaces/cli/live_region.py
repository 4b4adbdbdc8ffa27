"""The last lines of a terminal, drawn again in place; everything else is printed above them."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import TextIO, TypeAlias

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
# Columns and rows of the terminal, as they are now.
ScreenSize: TypeAlias = Callable[[], tuple[int, int]]


class LiveRegion:
    """Any thread may draw or print. Lines that do not fit are left out, the oldest first."""

    def __init__(self, stream: TextIO, size: ScreenSize) -> None:
        self._stream = stream
        self.size = size
        self._drawn: tuple[str, ...] = ()
        self._lock = RLock()

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines in the place of those that were drawn last."""
        with self._lock:
            fitting = tuple(lines)[-max(self.size()[1] - 2, 1) :]
            if fitting != self._drawn:
                told = f"{self._erasure()}{_HIDE_CURSOR}" + "\n".join(fitting)
                self._write(told if fitting else f"{self._erasure()}{_SHOW_CURSOR}")
                self._drawn = fitting

    def print(self, lines: Sequence[str]) -> None:
        """Print lines that stay."""
        with self._lock:
            told = "".join(f"{line}\n" for line in lines)
            self._write(f"{self._erasure()}{told}" + "\n".join(self._drawn))

    @contextmanager
    def set_aside(self) -> Generator[None]:
        """Let others write here, whole lines each; it is drawn again afterwards."""
        with self._lock:
            below = self._drawn
            self.draw(())
            try:
                yield
            finally:
                self.draw(below)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _erasure(self) -> str:
        """Back to where it begins. A terminal that was made narrower since has folded it."""
        if not self._drawn:
            return ""
        columns = max(self.size()[0], 1)
        rows = sum(max(1, -(-_cells(line) // columns)) for line in self._drawn)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return f"\r{up}\x1b[J"


def _cells(line: str) -> int:
    from rich.cells import cell_len

    return cell_len(_STYLE.sub("", line))
