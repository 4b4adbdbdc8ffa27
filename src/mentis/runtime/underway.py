"""Turns that a process has begun and never ended, found by the next one that talks there.

Whoever is at a turn holds a lock file for as long; the system lets go of it however the process
ends. A message that is still pending when nobody else is at it was left behind: it becomes failed,
and an entry says so.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import CancelScope, to_thread

from mentis.disk.atomic import unwritable
from mentis.disk.inside import inside
from mentis.disk.lock import try_lock
from mentis.ledger.chain import make_stamp
from mentis.values.digest import digest
from mentis.values.entry import Draft, Entry
from mentis.values.part import MediaPart
from mentis.values.turn import Turn

from .attachments import media_digest
from .mind import Mind
from .said import turn_digest

if TYPE_CHECKING:
    from filelock import FileLock

LEFT = "left_behind"
_MOST = 1000


@asynccontextmanager
async def at_turn(mind: Mind, session: str) -> AsyncGenerator[tuple[Entry, ...]]:
    """Be the one who is at a turn of this session; what was left behind there is settled first."""
    folder = mind.acting.ground.home.owners / "turns"
    lock = await to_thread.run_sync(_enter, folder, f"{mind.persona.id}.{session}")
    try:
        yield await to_thread.run_sync(settle_left, mind, session, folder, lock)
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(_leave, lock)


def settle_left(mind: Mind, session: str, folder: Path, own: FileLock) -> tuple[Entry, ...]:
    """Record each pending message as failed, unless somebody else may still be at it. It blocks."""
    turns = mind.conversations.turns(mind.agent, session)
    pending = [number for number, turn in enumerate(turns) if turn.state == "pending"]
    if not pending or any(_busy(folder, f"{mind.persona.id}.{session}", own)):
        return ()
    return tuple(_settle(mind, session, number, turns[number]) for number in pending)


def _settle(mind: Mind, session: str, number: int, turn: Turn) -> Entry:
    told: dict[str, object] = {"session": session, "number": number, "failure": LEFT}
    if turn.replaces is not None:
        told["replaces"] = turn.replaces
    failed = replace(turn, state="failed")
    body: dict[str, object] = {
        "turn": told,
        "digests": {"message": digest(turn.text.encode())},
        "asked": turn_digest(failed),
    }
    media = [media_digest(part) for part in turn.parts if isinstance(part, MediaPart)]
    body |= {"attachments": media} if media else {}
    stamp = make_stamp(mind.clock.now, mind.ids.salt, mind.clock.uptime)
    (entry,) = mind.ledger.append(mind.agent, [Draft("turn", "runtime", body)], stamp)
    mind.conversations.replace(mind.agent, session, number, failed)
    return entry


def _enter(folder: Path, name: str) -> FileLock:
    """The first free name: two agents of one process may be at the same session."""
    inside(folder.parent.parent, f"{folder.parent.name}/{folder.name}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    for count in range(_MOST):
        if (lock := try_lock(folder / f"{name}.{os.getpid()}-{count}.turn")) is not None:
            return lock
    raise unwritable(folder, OSError("too many turns are begun here"))


def _busy(folder: Path, name: str, own: FileLock) -> Iterator[bool]:
    for path in folder.glob(f"{name}.*.turn"):
        if path == Path(own.lock_file) or path.is_symlink() or not path.is_file():
            continue
        lock = try_lock(path)
        yield lock is None
        if lock is not None:
            _leave(lock)


def _leave(lock: FileLock) -> None:
    with suppress(OSError):  # a file that stays is taken by the next one
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()
