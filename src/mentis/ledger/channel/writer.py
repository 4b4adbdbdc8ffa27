"""Puts drafts where the watcher finds them: whole, durable, and never over one another."""

from __future__ import annotations

from pathlib import Path

from mentis.codec.canon import MAX_BYTES
from mentis.disk.atomic import discard, sync_folder, unwritable, write_atomic, write_beside
from mentis.disk.lock import folder_lock
from mentis.errors import BadInput, StoreConflict
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids
from mentis.system.users import user_id

from .folder import FROM, SUFFIX, StatusFolder, checked_delivery, new_delivery
from .intake import Changing, opened_folder, take_snapshot
from .spooled import MOST_HEADING, SpooledDraft, read_spooled, write_spooled

# A writer has the spool for one look into it and one rename.
_TURN_SECONDS = 30.0


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
    name = checked_delivery(delivery) if delivery else new_delivery(clock.now, ids)
    spool_draft(folder, SpooledDraft(draft, source), name, clock=clock)
    return name


def spool_draft(
    folder: StatusFolder, spooled: SpooledDraft, delivery: str, *, clock: Clock
) -> Path:
    """The file that this delivery waits as, behind all that waits; it may be there already.

    StoreConflict when the delivery waits with another content or source.
    """
    _check_size(spooled.draft)
    folder.make()
    if there := _waits_already(folder, delivery, spooled):
        return there
    suffix = SUFFIX if spooled.source is None else FROM
    temporary = write_beside(folder.spool / f"{delivery}{suffix}", write_spooled(spooled))
    try:
        # Looked at and named as one: of two that come at once, the later sees the earlier.
        with folder_lock(folder.spool, seconds=_TURN_SECONDS):
            there = _waits_already(folder, delivery, spooled)
            target = there or folder.next_place(delivery, suffix, clock.now())
            if there is None:
                temporary.rename(target)
        sync_folder(folder.spool)
    except OSError as error:
        raise unwritable(folder.spool, error) from error
    finally:
        discard(temporary)
    return target


def write_pending(folder: StatusFolder, draft: bytes) -> None:
    """Put a draft into the single slot. One that was not consumed yet is replaced."""
    _check_size(draft)
    folder.make()
    write_atomic(folder.pending, draft)


def _waits_already(folder: StatusFolder, delivery: str, spooled: SpooledDraft) -> Path | None:
    """Where this very draft stands, if it does. StoreConflict if something else does."""
    names = folder.names_of(delivery)
    looked = {name: _is_same(folder.spool, name, spooled) for name in sorted(names)}
    if False in looked.values():
        raise StoreConflict(
            f"delivery `{delivery}` waits in the spool already, with another content or source",
            hint="give a changed draft a delivery of its own",
            delivery=delivery,
        )
    return next((folder.spool / name for name, same in looked.items() if same), None)


def _is_same(spool: Path, name: str, spooled: SpooledDraft) -> bool | None:
    """Whether this draft waits under this name; None when nothing does any more."""
    most = MAX_BYTES + MOST_HEADING
    try:
        with opened_folder(spool) as where:
            there = take_snapshot(where, name, max_bytes=most, owners={user_id()})
        return read_spooled(name, there.content) == spooled
    except Changing:
        return None
    except BadInput:
        return False  # it is no draft of anybody


def _check_size(draft: bytes) -> None:
    if len(draft) > MAX_BYTES:
        raise BadInput(
            f"the draft takes {len(draft)} bytes, more than {MAX_BYTES}",
            hint="leave out what is not needed; nothing was written",
        )
