"""Files that somebody named: read up to a limit, since a device or a pipe has no end."""

from __future__ import annotations

from pathlib import Path

from mentis.errors import BadInput

_PIECE = 1 << 20


def read_bounded(path: Path, most_bytes: int) -> bytes:
    """All of it. BadInput where it holds more; an OSError is the caller's to tell."""
    data = bytearray()
    with path.open("rb") as file:
        while len(data) <= most_bytes and (piece := file.read(_PIECE)):
            data += piece
    if len(data) > most_bytes:
        raise BadInput(
            f"{path} is larger than {most_bytes} bytes",
            hint="name a smaller file, or split it",
            path=str(path),
        )
    return bytes(data)
