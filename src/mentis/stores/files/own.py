"""Checks that files beside the keys are our own: they count only if nobody else can write there.

A checkpoint or a home's identity that others can replace protects from nothing.
"""

from __future__ import annotations

from pathlib import Path

from mentis.disk.atomic import unwritable
from mentis.errors import SigningKeyError
from mentis.system.users import others_can_write, user_id


def check_own(path: Path, *, top: Path) -> None:
    """SigningKeyError when somebody else can change `path`, or a folder on the way from `top`."""
    for place in _from(top, path):
        try:
            status = place.stat()
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise SigningKeyError(
                f"{place}: cannot be looked at: {error.strerror}", hint="make it readable"
            ) from error
        if status.st_uid not in (user_id(), 0):
            raise SigningKeyError(
                f"{place}: what is kept beside the keys belongs to another user",
                hint="set MENTIS_CONFIG to a folder of your own",
                file=str(place),
            )
        if others_can_write(status):
            raise SigningKeyError(
                f"{place}: others can change what is kept beside the keys",
                hint=f"chmod go-w {place}; then compare with a checkpoint from elsewhere:"
                " mentis verify --checkpoint FILE",
                file=str(place),
            )


def read_own(path: Path, *, top: Path) -> bytes:
    check_own(path, top=top)
    return path.read_bytes()


def make_own(folder: Path, *, top: Path) -> None:
    """The folder and those above it up to `top`, of which none may be written by others."""
    try:
        top.parent.mkdir(parents=True, exist_ok=True)
        for place in _from(top, folder):
            place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def _from(top: Path, path: Path) -> list[Path]:
    below = path.relative_to(top).parts
    return [top.joinpath(*below[:depth]) for depth in range(len(below) + 1)]
