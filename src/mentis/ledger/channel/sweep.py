"""Lets go of what killed writers left half written in the spool. Nobody waits for it any more."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from mentis.system.files import FolderHandle

# Writing a draft takes milliseconds; whoever needs a day for it is gone.
OLD_SECONDS = 24 * 60 * 60.0


def sweep(
    spool: FolderHandle, *, now: datetime, seconds: float = OLD_SECONDS
) -> Iterator[tuple[str, int]]:
    """Name and size of each temporary file in the open folder that was old, and is gone now.

    As old as its last change of any kind, which nobody can set back.
    """
    left = [name for name in spool.names() if name.startswith(".") and name.endswith(".tmp")]
    for name in sorted(left):
        with suppress(FileNotFoundError):  # its writer is not gone after all
            found = spool.status(name)
            age = now.timestamp() - max(found.st_mtime, found.st_ctime)
            if stat.S_ISREG(found.st_mode) and age > seconds:
                spool.unlink(name)
                yield name, found.st_size
