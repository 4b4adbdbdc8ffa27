"""Reads and writes a pipe without a thread that no signal ends, where the system can wait for it.

On Windows nobody can wait for a pipe but by reading it: there a thread does, and is left behind
when the reading is given up.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_MOST_WINDOWS = 4096


async def read_pipe(descriptor: int, most: int) -> bytes:
    """What is there, as soon as something is; nothing at the end."""
    import anyio

    if sys.platform == "win32":
        return await anyio.to_thread.run_sync(os.read, descriptor, most, abandon_on_cancel=True)
    with suppress(PermissionError):  # a plain file: it never makes anybody wait
        await anyio.wait_readable(descriptor)
    return os.read(descriptor, most)


async def write_pipe(descriptor: int, data: bytes) -> None:
    """In pieces that a ready pipe takes at once, so that a signal never has to wait."""
    import anyio

    left = memoryview(data)
    while left:
        if sys.platform == "win32":
            piece = left[:_MOST_WINDOWS]
            left = left[await anyio.to_thread.run_sync(os.write, descriptor, piece) :]
            continue
        import select

        with suppress(PermissionError):
            await anyio.wait_writable(descriptor)
        left = left[os.write(descriptor, left[: select.PIPE_BUF]) :]
