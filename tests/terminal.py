"""A command at a real terminal: a pty of a fixed size, keys pressed when a text is seen, and what
is on it in the end.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WAIT = 60.0


def at_terminal(
    code: str,
    *,
    cwd: Path,
    environ: Mapping[str, str],
    presses: Sequence[tuple[str, str]] = (),
    size: tuple[int, int] = (80, 24),
    listening: bool = True,
) -> tuple[int, str]:
    """Run Python code there; each of `presses` is a text that is waited for, and the key then.

    The first is pressed once it listens for single keys, unless that is not waited for.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**_sizeless(environ), "TERM": "xterm-256color"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    seen, waiting = "", list(presses)
    try:
        while (piece := _read(leader)) is not None:
            seen += piece
            if waiting and waiting[0][0] in seen:
                _press(leader, waiting.pop(0)[1], listening=listening)
                listening = True
        return process.wait(timeout=_WAIT), seen.replace("\r\n", "\n")
    finally:
        process.kill()
        os.close(leader)


def _sizeless(environ: Mapping[str, str]) -> dict[str, str]:
    """The terminal says itself how large it is."""
    return {name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES")}


def _press(leader: int, key: str, *, listening: bool) -> None:
    """Once single keys are read: what was pressed before that may be thrown away."""
    for _ in range(int(_WAIT / 0.01)):
        if not listening or not termios.tcgetattr(leader)[3] & termios.ICANON:
            break
        select.select([], [], [], 0.01)
    os.write(leader, key.encode())


def _read(leader: int) -> str | None:
    """The next piece; None at the end."""
    ready, _, _ = select.select([leader], [], [], _WAIT)
    assert ready, "nothing came for a minute"
    try:
        return os.read(leader, 65536).decode("utf-8", "replace") or None
    except OSError:  # Linux says so when the other end is closed
        return None


def without_colours(text: str) -> str:
    return _COLOURS.sub("", text)
