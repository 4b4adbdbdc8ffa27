"""The home's secret: what the marks around text from outside are made with.

Who knows it can forge them, so it is in a file of its own that nobody else may read. The shipped
`.gitignore` keeps `*.key` out of any repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from mentis.disk.atomic import sync_folder, unwritable, write_atomic, write_beside
from mentis.errors import HomeError

from .home import Home

_FORM = re.compile(rb"[0-9a-f]{64}\s*")
_MOST = 256


def read_secret(home: Home) -> bytes | None:
    """32 bytes, or None where there is no such file yet."""
    path = home.secret
    try:
        with path.open("rb") as file:
            written = file.read(_MOST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HomeError(
            f"{path}: the home's secret cannot be read: {error.strerror}",
            hint="check the owner and the permissions of the file",
            file=str(path),
        ) from error
    if not _FORM.fullmatch(written):
        raise HomeError(
            f"{path}: this is not a home's secret: 64 hexadecimal digits are expected",
            hint=f"bring it back from a copy, or delete {path}: a new one is made",
            file=str(path),
        )
    return bytes.fromhex(written.decode())


def make_secret(home: Home, salt: Callable[[], bytes]) -> bytes:
    """Write a new one. If another process was faster, its secret is the one that counts."""
    path = home.secret
    temporary = write_beside(path, f"{(salt() + salt()).hex()}\n")
    try:
        os.link(temporary, path)
        sync_folder(path.parent)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        write_atomic(path, temporary.read_bytes())
    finally:
        temporary.unlink(missing_ok=True)
    made = read_secret(home)
    if made is None:
        raise unwritable(path, FileNotFoundError(2, "it was gone right after it was written"))
    return made
