"""Reads a file somebody else wrote: without following it, waiting for it, or trusting it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mentis.disk.atomic import unwritable
from mentis.errors import BadInput, MentisError, OutsideHome, StoreError
from mentis.system.files import READ, FolderHandle


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of one file at one moment, and which file it was."""

    content: bytes
    device: int
    inode: int


class Changing(Exception):
    """It is gone, or it was written while it was read: the next look will tell."""


@contextmanager
def opened_folder(path: Path) -> Generator[FolderHandle]:
    """A handle on the folder itself: what is opened through it cannot be led elsewhere."""
    try:
        folder = FolderHandle(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            hint = "remove what stands there; the folder is made anew"
            raise OutsideHome(f"{path} is not a folder", hint=hint) from error
        raise unwritable(path, error) from error
    try:
        yield folder
    finally:
        folder.close()


def take_snapshot(
    folder: FolderHandle, name: str, *, max_bytes: int, owners: Collection[int]
) -> Snapshot:
    """All of a plain file of our own, read through one handle. BadInput for anything else."""
    try:
        descriptor = folder.open_file(name, READ)
    except FileNotFoundError as error:
        raise Changing from error
    except OSError as error:
        raise _unopened(name, error) from error
    try:
        return _read(descriptor, name, max_bytes=max_bytes, owners=owners)
    except OSError as error:
        raise _unread(name, error) from error
    finally:
        os.close(descriptor)


def remove_same(folder: FolderHandle, name: str, snapshot: Snapshot) -> bool:
    """Remove the file that was read; False when another one has its name by now."""
    try:
        found = folder.status(name)
        if (found.st_dev, found.st_ino) != (snapshot.device, snapshot.inode):
            return False
        folder.unlink(name)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise unwritable(Path(name), error) from error
    return True


def _read(descriptor: int, name: str, *, max_bytes: int, owners: Collection[int]) -> Snapshot:
    before = os.fstat(descriptor)
    _check(before, name, max_bytes=max_bytes, owners=owners)
    content = bytearray()
    # One byte more than promised: a file that grows is not the one that was measured.
    while piece := os.read(descriptor, before.st_size + 1 - len(content)):
        content += piece
        if len(content) > before.st_size:
            raise Changing
    after = os.fstat(descriptor)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    if not same or len(content) != before.st_size:
        raise Changing
    return Snapshot(bytes(content), before.st_dev, before.st_ino)


def _check(found: os.stat_result, name: str, *, max_bytes: int, owners: Collection[int]) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _refusal(name, f"it is a {_kind(found.st_mode)}, not a file")
    if found.st_nlink > 1:
        raise _refusal(name, f"it has {found.st_nlink} names (hard links)")
    if found.st_uid not in owners:
        raise _refusal(name, f"it belongs to user {found.st_uid}")
    if found.st_size > max_bytes:
        raise _refusal(name, f"it has {found.st_size} bytes, more than {max_bytes}")


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "folder",
        stat.S_IFIFO: "pipe",
        stat.S_IFCHR: "device",
        stat.S_IFBLK: "device",
        stat.S_IFSOCK: "socket",
    }
    return kinds.get(stat.S_IFMT(mode), "thing of another kind")


def _unopened(name: str, error: OSError) -> MentisError:
    """What the file is to blame for, or what the machine is: then the file waits where it is."""
    match error.errno:
        case errno.ELOOP:
            return _refusal(name, "it is a link")
        case errno.ENXIO | errno.ENODEV:
            return _refusal(name, "it is a socket or a device, not a file")
        case errno.EACCES | errno.EPERM:
            return _refusal(name, f"it cannot be read: {error.strerror}")
        case _:
            return _unread(name, error)


def _unread(name: str, error: OSError) -> StoreError:
    return StoreError(
        f"{name} cannot be read: {error.strerror}",
        hint="check the disk and how many files are open; the draft stays where it is",
        file=name,
    )


def _refusal(name: str, reason: str) -> BadInput:
    return BadInput(
        f"{name}: {reason}",
        hint="write a plain file of your own; see `mentis status write`",
        file=name,
        reason=reason,
    )
