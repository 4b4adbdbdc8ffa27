"""The keyboard of a terminal, where it can be told not to show what is typed."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def keys_unseen() -> Generator[None]:
    """Keys that are pressed meanwhile are not shown, and are there for the next prompt.

    Ctrl-C works as ever. Where there is no such terminal, nothing is changed; Windows shows no
    keys that nobody reads.
    """
    if sys.platform == "win32":
        yield
        return
    import termios

    try:
        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
    except (termios.error, OSError, ValueError, AttributeError):
        yield
        return
    quiet = [*before]
    quiet[0] = before[0] & ~termios.ICRNL  # Enter stays Enter: the next prompt sends with it
    quiet[3] = before[3] & ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(keyboard, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
