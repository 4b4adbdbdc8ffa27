"""Lets go of what killed writers left half written in the spool. Nobody waits for it any more."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

# Writing a draft takes milliseconds; whoever needs a day for it is gone.
OLD_SECONDS = 24 * 60 * 60.0


def sweep(spool: int, *, now: datetime, seconds: float = OLD_SECONDS) -> Iterator[tuple[str, int]]:
    """Name and size of each temporary file in the open folder that was old, and is gone now.

    As old as its last change of any kind, which nobody can set back.
    """
    left = [name for name in os.listdir(spool) if name.startswith(".") and name.endswith(".tmp")]
    for name in sorted(left):
        with suppress(FileNotFoundError):  # its writer is not gone after all
            found = os.stat(name, dir_fd=spool, follow_symlinks=False)
            age = now.timestamp() - max(found.st_mtime, found.st_ctime)
            if stat.S_ISREG(found.st_mode) and age > seconds:
                os.unlink(name, dir_fd=spool)
                yield name, found.st_size
