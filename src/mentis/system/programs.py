"""Ends programs that were started in a session of their own, with all that they started.

Windows has no such sessions. There `taskkill` ends the tree of those whose parent is still known.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress


def ask_session_to_end(leader: int) -> None:
    """To its whole session: a group cannot be another's while one of its members lives."""
    if sys.platform == "win32":
        _taskkill("/T", "/PID", str(leader))
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGTERM)


def kill_session(leader: int) -> None:
    if sys.platform == "win32":
        _taskkill("/F", "/T", "/PID", str(leader))
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def kill_process(number: int) -> None:
    if sys.platform == "win32":
        _taskkill("/F", "/PID", str(number))
        return
    with suppress(ProcessLookupError, PermissionError):
        os.kill(number, signal.SIGKILL)


def has_process(number: int) -> bool | None:
    """Whether somebody has that number; None where asking is not safe: what asks on other systems
    is Ctrl-C on Windows.
    """
    if sys.platform == "win32":
        return None
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _taskkill(*words: str) -> None:
    with suppress(OSError):
        subprocess.run(["taskkill", *words], capture_output=True, check=False)  # noqa: S603, S607  # a tool of the system
