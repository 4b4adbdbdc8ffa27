"""The line of `mentis record` while it runs: in the terminal's title, in a file, or watched.

The program has the terminal to itself: nothing is painted where it may paint. A title is the one
place that belongs to neither its screen nor its output.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from mentis.errors import MentisError, UsageError

from .options import home_path
from .output import emit, say

if TYPE_CHECKING:
    from types import TracebackType

    from mentis.record.foreign_calls import ForeignCall
    from mentis.record.record import Record

_SAVE, _RESTORE = "\x1b[22;2t", "\x1b[23;2t"  # the title that was there before
_TITLE, _TITLE_END = "\x1b]2;", "\x1b\\"
_PLAIN = ("", "dumb", "linux")  # terminals that have no title
_MOST = 2000  # calls of a run that are summed up
_LOOK = 0.5  # seconds between two looks at a record that is watched


class StatusDisplay:
    """Tells of each call as it is recorded. `titled`: in the title of the terminal, if stderr is
    one. It never raises: what cannot be shown is not worth a call.
    """

    def __init__(self, agent: str, *, file: Path | None, titled: bool) -> None:
        from mentis.recorder.live_status import LiveStatus

        self._status = LiveStatus(agent)
        self._file = file
        self.titled = titled

    def __enter__(self) -> StatusDisplay:
        if self.titled:
            _steer(_SAVE)
        self._show()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.titled:
            self.titled = False  # calls that are still written are not told there any more
            _steer(_RESTORE)

    def tell(self, call: ForeignCall) -> None:
        self._status.add(call)
        self._show()

    def _show(self) -> None:
        line = self._status.line()
        if self.titled:
            _steer(f"{_TITLE}{line}{_TITLE_END}")
        if self._file is not None:
            from mentis.disk.atomic import write_atomic

            try:
                write_atomic(self._file, f"{line}\n".encode())
            except (MentisError, OSError) as error:
                say(f"the status is not written any more: {error}")
                self._file = None


def has_title() -> bool:
    """Whether stderr is a terminal with a title."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in _PLAIN


def _steer(text: str) -> None:
    """In one write, so that nothing of the program's own comes in between."""
    with suppress(OSError):
        os.write(sys.stderr.fileno(), text.encode())


def watch(name: str | None) -> int:
    """Follows the newest run of a recorded agent, on one line, until Ctrl-C."""
    from mentis.record.record import open_record

    agent = _chosen(name)
    with open_record(home_path(), agent, readonly=True) as record:
        shown, done = "", Event()
        try:
            while True:
                line = _line(record)
                if line != shown:
                    _show_line(line)
                    shown = line
                done.wait(_LOOK)
        except KeyboardInterrupt:
            if sys.stdout.isatty():
                emit("")
            return 0


def _chosen(name: str | None) -> str:
    from mentis.home.identity import RECORDED
    from mentis.record.record import open_record

    if name is not None:
        return f"{RECORDED}{name}"
    with open_record(home_path(), f"{RECORDED}program", readonly=True) as record:
        known = [agent for agent in record.store.agents() if agent.startswith(RECORDED)]
    if len(known) != 1:
        raise UsageError(
            "which recorded agent is to be watched?",
            hint=f"--as NAME; known: {', '.join(known) or 'none'}",
        )
    return known[0]


def _line(record: Record) -> str:
    from mentis.record.call_bodies import CALL
    from mentis.record.foreign_calls import foreign_calls
    from mentis.recorder.live_status import LiveStatus

    calls = list(foreign_calls(record.store.latest(record.agent, _MOST, kind=CALL)))
    newest = [call for call in calls if call.run == calls[-1].run]
    return LiveStatus(record.agent, newest).line()


def _show_line(line: str) -> None:
    """Over the one before on a terminal; else below it."""
    if sys.stdout.isatty():
        click.echo(f"\r\x1b[K{line}", nl=False, color=True)
    else:
        emit(line)
        sys.stdout.flush()
