"""A socket at a path that only this user can speak to.

Where the system has Unix sockets, their permissions see to that. Python on Windows has none: there
the file holds a port of this machine and a key, and a peer has to say the key first. Who can read
the file can speak to it, as with the other.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .files import MAKE_NEW, open_file

_LOOPBACK = "127.0.0.1"
_PROBE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LocalListener:
    """`key` is the first line of every peer; "" where the system itself lets nobody else in."""

    bound: socket.socket
    key: str = ""


def listen_at(path: Path, *, backlog: int) -> LocalListener:
    """OSError when it cannot be made. The path is free: see `is_socket` and `answers`."""
    if sys.platform == "win32":
        return listen_by_key(path, backlog=backlog)
    made = socket.socket(socket.AF_UNIX)
    try:
        # Nobody else's from the moment it is made: Linux takes the mode over; others get it after.
        os.fchmod(made.fileno(), 0o600)
        made.bind(str(path))
        path.chmod(0o600)
        made.listen(backlog)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return LocalListener(made)


def listen_by_key(path: Path, *, backlog: int) -> LocalListener:
    """The way that every system has."""
    key = secrets.token_urlsafe(32)
    made = socket.create_server((_LOOPBACK, 0), backlog=backlog)
    try:
        made.setblocking(False)
        place = {"host": _LOOPBACK, "port": made.getsockname()[1], "key": key}
        with os.fdopen(open_file(path, MAKE_NEW), "wb") as file:
            file.write(json.dumps(place).encode())
    except OSError:
        made.close()
        raise
    return LocalListener(made, key)


def is_socket(path: Path) -> bool:
    """Whether one of ours stands there, in use or left over."""
    status = path.lstat()
    return stat.S_ISSOCK(status.st_mode) or _port_in(path, status) is not None


def answers(path: Path) -> bool:
    """Whether somebody listens there; who says neither yes nor no counts as there."""
    port = _port_in(path, path.lstat())
    try:
        if port is not None:
            with socket.create_connection((_LOOPBACK, port), timeout=_PROBE_SECONDS):
                return True
        return _unix_answers(path)
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:
        return True


def _unix_answers(path: Path) -> bool:
    if sys.platform == "win32":
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_PROBE_SECONDS)
        probe.connect(str(path))
    return True


def _port_in(path: Path, status: os.stat_result) -> int | None:
    if not stat.S_ISREG(status.st_mode) or status.st_size > 256:
        return None
    with suppress(OSError, ValueError, KeyError, TypeError):
        return int(json.loads(path.read_bytes())["port"])
    return None
