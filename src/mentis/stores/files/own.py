"""Checks that files beside the keys are our own: they count only if nobody else can write there.

A checkpoint or a home's identity that others can replace protects from nothing.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from mentis.disk.atomic import unwritable
from mentis.errors import SigningKeyError


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
        if status.st_uid not in (os.geteuid(), 0):
            raise SigningKeyError(
                f"{place}: what is kept beside the keys belongs to another user",
                hint="set MENTIS_CONFIG to a folder of your own",
                file=str(place),
            )
        if _others_can_write(status):
            raise SigningKeyError(
                f"{place}: others can change what is kept beside the keys",
                hint=f"chmod go-w {place}; then compare with a checkpoint from elsewhere:"
                " mentis status verify --checkpoint FILE",
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


def _others_can_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _alone_in(status.st_gid)


def _alone_in(group: int) -> bool:
    """Many systems give each user a group of the same name and let it write by default."""
    import grp
    import pwd

    try:
        name, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}
