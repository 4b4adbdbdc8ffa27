"""Runs Mentis on this machine without what other systems do not have, in a process of its own.

Only the modules of Mentis are shown less: Python's own need theirs. `python other_system.py posix
imports` hides the modules that only POSIX has; `windows` hides the functions as well, says so when
asked for the system, opens no folders, and locks bytes of files as Windows does.
"""

from __future__ import annotations

import builtins
import fcntl
import importlib
import os
import pkgutil
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ABSENT = names("crypt curses fcntl grp nis posix pty pwd readline resource spwd syslog termios tty")
# Of what Python documents as "Availability: Unix" or "not Windows".
HIDDEN: Mapping[ModuleType, frozenset[str]] = {
    os: names(
        """O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK WNOHANG chown fchmod fchown
        fdatasync fork getegid geteuid getgid getgroups getloadavg getpgid getuid kill killpg lchown
        memfd_create mkfifo openpty pread pwrite register_at_fork sched_getaffinity sendfile
        set_blocking setsid statvfs sync sysconf uname waitid"""
    ),
    signal: names(
        "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 SIG_BLOCK alarm"
        " pthread_sigmask setitimer siginterrupt sigwait"
    ),
    socket: names("AF_UNIX SCM_RIGHTS recv_fds send_fds socketpair"),
    select: names("PIPE_BUF epoll kqueue poll"),
}


class ShownModule(ModuleType):
    """A module without some of its names, and with others instead."""

    def __init__(
        self, whole: ModuleType, hidden: frozenset[str], instead: Mapping[str, object]
    ) -> None:
        super().__init__(whole.__name__)
        self.__dict__.update(instead)
        self._whole, self._hidden = whole, hidden

    def __getattr__(self, name: str) -> object:
        if name in self._hidden:
            raise AttributeError(f"module {self._whole.__name__!r} has no attribute {name!r}")
        return getattr(self._whole, name)


def open_no_folder(
    path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
) -> int:
    if dir_fd is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
    if Path(path).is_dir():
        raise PermissionError(13, "Permission denied", str(path))
    return os.open(path, flags, mode)


def lock_bytes(descriptor: int, mode: int, count: int) -> None:
    """As `msvcrt.locking`: from where the file stands, for whoever has it open this time."""
    kind = fcntl.F_UNLCK if mode == 0 else fcntl.F_WRLCK
    start = os.lseek(descriptor, 0, os.SEEK_CUR)
    wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, start, count, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError as error:
        raise PermissionError(13, "Permission denied") from error


def hide(*, windows: bool) -> None:
    """From now on the modules of Mentis are shown no more than that."""
    shown: dict[str, ModuleType] = {}
    if windows:
        instead: dict[ModuleType, dict[str, object]] = {os: {"open": open_no_folder}}
        shown = {
            whole.__name__: ShownModule(whole, hidden, instead.get(whole, {}))
            for whole, hidden in HIDDEN.items()
        }
        shown["sys"] = ShownModule(sys, frozenset(), {"platform": "win32"})
        locking = {"locking": lock_bytes, "LK_NBLCK": 2, "LK_UNLCK": 0}
        shown["msvcrt"] = ShownModule(ModuleType("msvcrt"), frozenset(), locking)
    whole_import: Callable[..., ModuleType] = builtins.__import__

    def restricted(name: str, *given: Any, **named: Any) -> ModuleType:  # noqa: ANN401  # passed on
        asking: Mapping[str, object] = (given[0] if given else named.get("globals")) or {}
        relative = bool(given[3] if len(given) > 3 else named.get("level", 0))
        if not relative and str(asking.get("__name__", "")).partition(".")[0] == "mentis":
            if name.partition(".")[0] in ABSENT:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            if name in shown:
                return shown[name]
        return whole_import(name, *given, **named)

    builtins.__import__ = restricted


def import_everything() -> None:
    import mentis

    found = [one.name for one in pkgutil.walk_packages(mentis.__path__, "mentis.")]
    for name in found:
        importlib.import_module(name)
    sys.stdout.write(f"{len(found)} modules\n")


def hold(path: str) -> None:
    """Hold a lock until somebody ends this process."""
    from mentis.disk.lock import try_lock

    sys.stdout.write("held\n" if try_lock(Path(path)) is not None else "not to be had\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    system, task, *words = sys.argv[1:]
    hide(windows=system == "windows")
    match task:
        case "imports":
            import_everything()
        case "hold":
            hold(*words)
        case _:
            from mentis.surfaces.cli.main import run

            # `command WORD...`, or `commands HOME LINE...`: several in one process.
            if task == "command":
                sys.exit(run(words))
            os.environ["MENTIS_HOME"] = words[0]
            sys.exit(max(run(line.split()) for line in words[1:]))
