"""Files named on the command line: read up to a limit, since a device or a pipe has no end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, AnyStr

from mentis.errors import BadInput, UsageError

MOST_BYTES = 100_000_000


def read_bytes(file: str, *, most: int = MOST_BYTES) -> bytes:
    """All of a file, or of standard input for `-`."""
    try:
        if file == "-":
            return read_stream(sys.stdin.buffer, most=most)
        with Path(file).open("rb") as stream:
            return read_stream(stream, most=most)
    except OSError as error:
        hint = "name a file, or - for standard input"
        raise UsageError(f"{file} cannot be read: {error.strerror}", hint=hint) from error


def read_text(file: str) -> str:
    """All of a file in UTF-8, or of standard input for `-`."""
    try:
        return read_bytes(file).decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} is not UTF-8: {error}", hint="save it as UTF-8") from error


def read_stream(stream: IO[AnyStr], *, most: int = MOST_BYTES) -> AnyStr:
    """All of what is open already."""
    data = stream.read(most + 1)
    if len(data) > most:
        name = getattr(stream, "name", "<stdin>")
        raise BadInput(f"{name} is longer than {most} bytes", hint="name a smaller file")
    return data
