"""Who is at a turn, or a delivery, of a session: a lock file each, over all processes.

The system lets go of it however the process ends. It is a lock file and no lease: a turn would
write to its store twice more. Where the record is on a server, other machines reach the session,
too: there whoever is at a turn has its lease as well, one at a time, and writes the turn under it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anyio import CancelScope, sleep, to_thread

from mentis.disk.atomic import unwritable
from mentis.disk.inside import inside
from mentis.disk.lock import LockFile, try_lock
from mentis.errors import LeaseHeld, StoreLocked
from mentis.home.identity import Identity
from mentis.record.agent_record import AgentRecord
from mentis.record.leases import entered, is_shared, leased
from mentis.record.turn_steps import StepJournal
from mentis.recovery.messages import close_left_behind
from mentis.values.entry import Entry

_QUIET = "quiet"
_TURN, _DELIVERY = "turn", "delivery"
_POLL = 0.05
_POLL_FAR = 0.2  # the store of other machines is asked
_MOST = 1000


@dataclass(frozen=True, slots=True)
class AtTurn:
    """The record to write the turn with, and what was left behind in the session."""

    record: AgentRecord
    left: tuple[Entry, ...]


@asynccontextmanager
async def turn_lock(record: AgentRecord, who: Identity, session: str) -> AsyncGenerator[AtTurn]:
    """Be the one who is at a turn of this session; what was left behind there is settled first. A
    delivery that goes on there is waited for: it would land between a message and its answer.
    """
    async with _leased_turn(record, session) as own, _locked_turn(own, who, session) as left:
        yield AtTurn(own, left)


@asynccontextmanager
async def _leased_turn(record: AgentRecord, session: str) -> AsyncGenerator[AgentRecord]:
    """Other machines wait, and write nothing once they were taken for gone."""
    if not is_shared(record.ledger):
        yield record
        return
    async with AsyncExitStack() as stack:
        while True:
            held = leased(record.ledger, record.clock, record.agent, f"turn {session}")
            try:
                lease = await stack.enter_async_context(entered(held))
                break
            except LeaseHeld:
                await sleep(_POLL_FAR)
        yield record.under(lease)


@asynccontextmanager
async def _locked_turn(
    record: AgentRecord, who: Identity, session: str
) -> AsyncGenerator[tuple[Entry, ...]]:
    folder, name = _turns(who, session)
    locks = list[LockFile]()

    def settle() -> tuple[Entry, ...] | None:
        if not locks:
            locks.append(_enter(folder, name))
        busy = _is_busy(folder, name, _DELIVERY)
        return None if busy else _recover(record, who, session, locks[0])

    try:
        while (left := await to_thread.run_sync(settle)) is None:  # noqa: ASYNC110  # of another process
            await sleep(_POLL)
        yield left
    finally:
        for lock in locks:
            lock.remove()  # which takes less than to leave it to another thread


@asynccontextmanager
async def delivery_lock(
    record: AgentRecord, who: Identity, session: str
) -> AsyncGenerator[tuple[Entry, ...]]:
    """The same for a delivery; StoreLocked while somebody else is at a turn of this session.

    Either side first says that it is there and looks for the other after that, so that one of them
    always sees the other.
    """
    folder, name = _turns(who, session)
    locks = [await to_thread.run_sync(_enter, folder, name)]
    try:
        locks.append(await to_thread.run_sync(_enter, folder, name, _DELIVERY))
        if await to_thread.run_sync(_is_busy, folder, name, _TURN, locks[0].path):
            raise StoreLocked(
                f"somebody is being answered in session {session!r} just now",
                hint="deliver it when that is over",
                session=session,
            )
        yield await to_thread.run_sync(_recover, record, who, session, locks[0])
    finally:
        with CancelScope(shield=True):
            for lock in locks:
                await to_thread.run_sync(lock.remove)


@contextmanager
def follow_talks(who: Identity) -> Generator[None]:
    """Be one who follows the talks of this persona while they are silent: `mentis run` leaves
    their afterthoughts to whoever can show them.
    """
    lock = _enter(who.home.owners / _QUIET, who.persona.id)
    try:
        yield
    finally:
        lock.remove()


def is_followed(who: Identity) -> bool:
    """Whether anybody does. It blocks."""
    return any(_busy(who.home.owners / _QUIET, who.persona.id))


def _recover(record: AgentRecord, who: Identity, session: str, own: LockFile) -> tuple[Entry, ...]:
    folder, name = _turns(who, session)
    others = partial(_is_busy, folder, name, _TURN, own.path)
    journal = StepJournal(record.ledger, record.agent, who.secret)
    return close_left_behind(record, journal, session, others)


def _turns(who: Identity, session: str) -> tuple[Path, str]:
    return who.home.owners / "turns", f"{who.persona.id}.{session}"


def _enter(folder: Path, name: str, what: str = _TURN) -> LockFile:
    """The first free name: two agents of one process may be at the same session."""
    inside(folder.parent.parent, f"{folder.parent.name}/{folder.name}")
    if not folder.is_dir():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error
    for count in range(_MOST):
        if (lock := try_lock(folder / f"{name}.{os.getpid()}-{count}.{what}")) is not None:
            return lock
    raise unwritable(folder, OSError("too many turns are begun here"))


def _is_busy(folder: Path, name: str, what: str, but: Path | None = None) -> bool:
    return any(_busy(folder, name, what, but=but))


def _files(folder: Path, begins: str, ends: str) -> list[Path]:
    """Not with `glob`: every turn looks here, and a session may be called as a pattern is."""
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        return [
            Path(one)
            for one in found
            if one.name.startswith(begins)
            and one.name.endswith(ends)
            and one.is_file(follow_symlinks=False)
        ]
    return []


def _busy(folder: Path, name: str, what: str = _TURN, *, but: Path | None = None) -> Iterator[bool]:
    for path in _files(folder, f"{name}.", f".{what}"):
        if path == but:
            continue
        lock = try_lock(path)
        yield lock is None
        if lock is not None:
            lock.remove()
