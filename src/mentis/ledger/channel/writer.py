"""Puts drafts where the watcher finds them: whole, durable, and never over one another."""

from __future__ import annotations

import stat
from pathlib import Path

from mentis.disk.atomic import unwritable, write_atomic
from mentis.errors import BadInput, StoreConflict
from mentis.ledger.canon import MAX_BYTES
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids

from .folder import SUFFIX, StatusFolder, checked_delivery, new_delivery


def write_draft(
    folder: StatusFolder, draft: bytes, *, clock: Clock, ids: Ids, delivery: str | None = None
) -> str:
    """Spool a draft as it is and return its delivery. Once this returns it survives a power loss.

    A delivery of one's own makes sending again after a doubt harmless.
    """
    _check_size(draft)
    name = checked_delivery(delivery) if delivery else new_delivery(clock.now, ids)
    folder.make()
    path = folder.spool / f"{name}{SUFFIX}"
    if not _waits_already(path, draft):
        write_atomic(path, draft)
    return name


def write_pending(folder: StatusFolder, draft: bytes) -> None:
    """Put a draft into the single slot. One that was not consumed yet is replaced."""
    _check_size(draft)
    folder.make()
    write_atomic(folder.pending, draft)


def _waits_already(path: Path, draft: bytes) -> bool:
    """Whether this very draft stands there. StoreConflict if something else does."""
    try:
        same = stat.S_ISREG(path.lstat().st_mode) and path.read_bytes() == draft
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unwritable(path, error) from error
    if same:
        return True
    raise StoreConflict(
        f"delivery `{path.stem}` waits in the spool already, with another content",
        hint="give a changed draft a delivery of its own",
        delivery=path.stem,
    )


def _check_size(draft: bytes) -> None:
    if len(draft) > MAX_BYTES:
        raise BadInput(
            f"the draft takes {len(draft)} bytes, more than {MAX_BYTES}",
            hint="leave out what is not needed; nothing was written",
        )
