"""The keyboard of a terminal: it can be told not to show what is typed, and asked what was."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def keys_unseen() -> Generator[None]:
    """Keys that are pressed meanwhile are not shown, and are there for the next prompt.

    Ctrl-C works as ever. Where there is no such terminal, nothing is changed; Windows shows no
    keys that nobody reads.
    """
    keyboard = _keyboard()
    if sys.platform == "win32" or keyboard is None:
        yield
        return
    import termios

    before = termios.tcgetattr(keyboard)
    quiet = [*before]
    quiet[0] = before[0] & ~termios.ICRNL  # Enter stays Enter: the next prompt sends with it
    quiet[3] = before[3] & ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(keyboard, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def typed_before() -> str:
    """What was typed before anybody read: an Enter of that time has become a line feed."""
    keyboard, typed = _keyboard(), b""
    while keyboard is not None and select.select([keyboard], [], [], 0)[0]:
        if not (piece := os.read(keyboard, 4096)):
            break
        typed += piece
    return typed.decode(errors="replace")


def _keyboard() -> int | None:
    """Its file, where it is a terminal of this kind."""
    if sys.platform == "win32":
        return None
    import termios

    try:
        keyboard = sys.stdin.fileno()
        termios.tcgetattr(keyboard)
    except (termios.error, OSError, ValueError, AttributeError):
        return None
    return keyboard
