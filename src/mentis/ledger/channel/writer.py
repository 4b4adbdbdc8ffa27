"""Puts drafts where the watcher finds them: whole, durable, and never over one another."""

from __future__ import annotations

import stat
from pathlib import Path

from mentis.disk.atomic import unwritable, write_atomic
from mentis.errors import BadInput, StoreConflict
from mentis.ledger.canon import MAX_BYTES
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids

from .folder import FROM, SUFFIX, StatusFolder, checked_delivery, new_delivery
from .spooled import Spooled, read_spooled, write_spooled


def write_draft(
    folder: StatusFolder,
    draft: bytes,
    *,
    clock: Clock,
    ids: Ids,
    delivery: str | None = None,
    source: str | None = None,
) -> str:
    """Spool a draft as it is and return its delivery. Once this returns it survives a power loss.

    A delivery of one's own makes sending again after a doubt harmless. With a `source` the file
    says where the draft came from.
    """
    _check_size(draft)
    name = checked_delivery(delivery) if delivery else new_delivery(clock.now, ids)
    folder.make()
    spooled = Spooled(draft, source)
    if not _waits_already(folder.spool, name, spooled):
        suffix = SUFFIX if source is None else FROM
        write_atomic(folder.spool / f"{name}{suffix}", write_spooled(spooled))
    return name


def write_pending(folder: StatusFolder, draft: bytes) -> None:
    """Put a draft into the single slot. One that was not consumed yet is replaced."""
    _check_size(draft)
    folder.make()
    write_atomic(folder.pending, draft)


def _waits_already(spool: Path, delivery: str, spooled: Spooled) -> bool:
    """Whether this very draft stands there. StoreConflict if something else does."""
    looked = [_standing(spool / f"{delivery}{suffix}") for suffix in (SUFFIX, FROM)]
    found = [one for one in looked if one is not None]
    if not found or found == [spooled]:
        return bool(found)
    raise StoreConflict(
        f"delivery `{delivery}` waits in the spool already, with another content or source",
        hint="give a changed draft a delivery of its own",
        delivery=delivery,
    )


def _standing(path: Path) -> Spooled | None:
    """What waits under this name; something without a draft is like no draft of anybody."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return Spooled(b"")
        return read_spooled(path.name, path.read_bytes())
    except FileNotFoundError:
        return None
    except BadInput:
        return Spooled(b"")
    except OSError as error:
        raise unwritable(path, error) from error


def _check_size(draft: bytes) -> None:
    if len(draft) > MAX_BYTES:
        raise BadInput(
            f"the draft takes {len(draft)} bytes, more than {MAX_BYTES}",
            hint="leave out what is not needed; nothing was written",
        )
