"""Writes a file whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from mentis.errors import HomeUnwritable, StoreError, StoreFull
from mentis.system.files import sync_folder

Content: TypeAlias = str | bytes | Iterable[bytes]


def write_atomic(path: Path, content: Content) -> None:
    """Temporary file beside it, fsync, replace, fsync of the folder: a reader sees old or new."""
    temporary = write_beside(path, content)
    try:
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        discard(temporary)
        raise unwritable(path, error) from error
    except BaseException:
        discard(temporary)
        raise


def write_beside(path: Path, content: Content) -> Path:
    """A new file in the folder of `path`, safe on the disk; it only has to take its name."""
    if isinstance(content, str):
        content = content.encode()
    pieces = (content,) if isinstance(content, bytes) else content
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        raise unwritable(path, error) from error
    temporary = path.with_name(Path(name).name)  # relative, if `path` is
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        discard(temporary)
        raise unwritable(path, error) from error
    except BaseException:
        discard(temporary)
        raise
    return temporary


def discard(temporary: Path) -> None:
    """A disk that does not even let it go must not hide what went wrong."""
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def unwritable(path: Path, error: OSError) -> HomeUnwritable | StoreFull | StoreError:
    """The error that says why this path could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(
            f"{path}: no space left on the disk",
            hint="free some space and try again; nothing was changed",
            file=str(path),
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return HomeUnwritable(
            f"{path}: cannot be written: {error.strerror}",
            hint="check the owner and the permissions of the folder, or choose another with --home",
            file=str(path),
        )
    return StoreError(f"{path}: cannot be written: {error.strerror}", file=str(path))
