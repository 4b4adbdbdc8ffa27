"""Sends what a function prints while it acts to the log: our stdout is data or protocol.

One stand-in takes the place of `sys.stdout` while functions run. It looks at the context it is
written from, so threads and tasks beside them print as ever. What writes to the file descriptor
itself (C code, a child process, a thread the function starts) is beyond it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from io import TextIOBase
from threading import Lock
from typing import TextIO, cast

MOST_CHARS = 8 * 1024
_LOG = logging.getLogger("mentis.act")
_HEARD: ContextVar[_Heard | None] = ContextVar("mentis_act_printed", default=None)
_LOCK = Lock()
_inside = 0


class _Heard:
    """The beginning of what was printed, and how much there was."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.chars = 0

    def take(self, text: str) -> int:
        room = MOST_CHARS - self.chars
        if room > 0:
            self._pieces.append(text[:room])
        self.chars += len(text)
        return len(text)

    def text(self) -> str:
        more = self.chars - MOST_CHARS
        return "".join(self._pieces) + (f" ... and {more} characters more" if more > 0 else "")


class _Standin(TextIOBase):
    def __init__(self, real: TextIO) -> None:
        self.real = real

    def write(self, text: str, /) -> int:
        heard = _HEARD.get()
        return self.real.write(text) if heard is None else heard.take(text)

    def flush(self) -> None:
        if _HEARD.get() is None:
            self.real.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return _HEARD.get() is None and self.real.isatty()

    def fileno(self) -> int:
        return self.real.fileno()

    def close(self) -> None:
        """It is not the function's to close."""

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # as of the real one
        return self.real.encoding

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)  # `buffer` and the like


@contextmanager
def capture_prints(name: str) -> Generator[None]:
    """What this context prints until it leaves is logged under the act's name."""
    heard = _Heard()
    token = _HEARD.set(heard)
    _enter()
    try:
        yield
    finally:
        _leave()
        _HEARD.reset(token)
        if heard.chars:
            _LOG.info("act %s printed: %s", name, heard.text())


def _enter() -> None:
    global _inside  # noqa: PLW0603  # sys.stdout is one for the process
    with _LOCK:
        _inside += 1
        if not isinstance(sys.stdout, _Standin):
            sys.stdout = cast("TextIO", _Standin(sys.stdout))


def _leave() -> None:
    """The last one puts back what was there, unless somebody else has put up their own."""
    global _inside  # noqa: PLW0603
    with _LOCK:
        _inside -= 1
        if not _inside and isinstance(sys.stdout, _Standin):
            sys.stdout = sys.stdout.real
