"""Turns waiting files into entries: each delivery once, in order, and none lost on the way.

The single slot is emptied by one rename into the spool. From then on it is a file of the spool
like any other: nobody can replace it, its name is its delivery, and it waits there when the store
is down instead of being overwritten in the slot.

A file goes when its entry is committed. Who dies in between finds the delivery in the store.

What is wrong with one file never keeps the others waiting: it goes to quarantine, or stays where
it is and is told of, and the next one has its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, cast

from mentis.codec.canon import MAX_BYTES
from mentis.disk.atomic import sync_folder, unwritable
from mentis.errors import (
    BadInput,
    Defect,
    LeaseHeld,
    MentisError,
    NotCanonical,
    StoreConflict,
    StoreError,
)
from mentis.ledger.chain import format_time
from mentis.ledger.tenure import Tenure
from mentis.net.redact import redact
from mentis.ports.clock import Clock
from mentis.ports.entries import Stamp
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.system.files import FolderHandle
from mentis.system.users import user_id
from mentis.values.digest import digest
from mentis.values.entry import Draft, Entry
from mentis.values.lease import Lease

from .folder import FROM, SUFFIX, StatusFolder, delivery_of, new_delivery, shown_name
from .intake import Changing, Snapshot, opened_folder, remove_same, take_snapshot
from .operations import OperationsLog, added_line
from .quarantine import put_aside
from .secrecy import refuse_keys
from .spooled import MOST_HEADING, SpooledDraft, read_spooled
from .sweep import sweep

# The body field that binds an entry to the bytes of its file.
RECEIVED = "received"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a draft is not recorded; it goes to quarantine with this."""

    reason: str
    problems: tuple[str, ...] = ()


Judge: TypeAlias = Callable[[bytes], Draft | Refusal]
Event: TypeAlias = Literal["conflict", "refused", "fault"]


class OnAdded(Protocol):
    def __call__(self, entry: Entry, line: str) -> None: ...


class OnRefused(Protocol):
    def __call__(self, name: str, error: MentisError) -> None: ...


@dataclass(slots=True)
class Round:
    """What one look at the folder came to."""

    added: list[Entry] = field(default_factory=list[Entry])
    known: int = 0
    refused: dict[str, str] = field(default_factory=dict[str, str])  # name in quarantine: why
    swept: list[str] = field(default_factory=list[str])  # what killed writers had left
    # Files that cannot be moved or removed, which kept nothing else waiting.
    stuck: dict[str, MentisError] = field(default_factory=dict[str, MentisError])
    fault: MentisError | None = None  # what ended it
    unlogged: str | None = None  # why the log cannot be written

    @property
    def trouble(self) -> MentisError | None:
        return self.fault or next(iter(self.stuck.values()), None)


@dataclass(frozen=True, slots=True)
class Consumer:
    """`on_added` is told of every new entry; the log has it either way.

    `on_refused` is told of every draft before it goes to quarantine. `keys` are those of the home,
    by what they are called: a draft that holds one goes there, too.
    """

    agent: str
    folder: StatusFolder
    store: LedgerStore
    judge: Judge
    stamp: Stamp
    tenure: Tenure
    clock: Clock
    ids: Ids
    log: OperationsLog
    max_bytes: int = MAX_BYTES
    owners: Collection[int] = field(default_factory=lambda: {user_id()})
    on_added: OnAdded | None = None
    on_refused: OnRefused | None = None
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def consume(self) -> Round:
        """Take everything that waits. A store that fails ends the round; LeaseHeld ends it all."""
        done = Round()
        try:
            self.tenure.keep()
            for slot in self.folder.slots:
                self._claim(slot, done)
            for name in self.folder.waiting():
                self._consume(name, self.tenure.keep(), done)
            self._sweep(done)
        except LeaseHeld:
            raise
        except MentisError as fault:
            # The files stay where they are, in their order; the next round begins with this one.
            done.fault = fault
        done.unlogged = self.log.fault
        return done

    def _sweep(self, done: Round) -> None:
        """Last, and whatever comes of it: no draft waits for this."""
        try:
            with opened_folder(self.folder.spool) as spool:
                for name, size in sweep(spool, now=self.clock.now()):
                    done.swept.append(shown_name(name))
                    self.log.write("swept", file=name, bytes=size)
        except (OSError, MentisError) as error:
            self.log.write("not_swept", error=str(error))

    def _claim(self, slot: Path, done: Round) -> None:
        delivery = new_delivery(self.clock.now, self.ids)
        target = self.folder.next_place(delivery, SUFFIX, self.clock.now())
        try:
            slot.rename(target)
        except FileNotFoundError:
            return
        except OSError as error:
            done.stuck[slot.name] = unwritable(target, error)
            return
        try:
            # Before its entry is: a slot that came back full would be another delivery.
            sync_folder(self.folder.spool)
            sync_folder(slot.parent)
        except OSError as error:
            raise unwritable(target, error) from error
        self.log.write("file_updated", file=slot.name, claimed=target.name)

    def _consume(self, name: str, lease: Lease, done: Round) -> None:
        source: str | None = None
        with opened_folder(self.folder.spool) as spool:
            try:
                delivery = self._checked_name(name)
                snapshot = self._snapshot(spool, name)
                spooled = read_spooled(name, snapshot.content)
                source = spooled.source
                entry = self._record(delivery, spooled, lease)
            except Changing:
                return
            except StoreConflict as conflict:
                self._set_aside(name, "conflict", _from(conflict, source), done)
            except (BadInput, NotCanonical) as refusal:
                self._set_aside(name, "refused", _from(refusal, source), done)
            except MentisError:
                raise
            except (OSError, MemoryError) as error:
                raise _strained(name, error) from error
            except Exception as error:  # noqa: BLE001 - told of, and the others have their turn
                self._set_aside(name, "fault", _defect(name, error), done)
            else:
                self._tell(delivery, entry, done)
                self._remove(spool, name, snapshot, done)

    def _remove(self, spool: FolderHandle, name: str, snapshot: Snapshot, done: Round) -> None:
        try:
            if not remove_same(spool, name, snapshot):
                self.log.write("replaced", file=name)
        except MentisError as error:
            done.stuck[name] = error  # the next look finds that it is known

    def _snapshot(self, spool: FolderHandle, name: str) -> Snapshot:
        most = self.max_bytes + (MOST_HEADING if name.endswith(FROM) else 0)
        return take_snapshot(spool, name, max_bytes=most, owners=self.owners)

    def _checked_name(self, name: str) -> str:
        delivery = delivery_of(name)
        if delivery is None:
            raise BadInput(
                f"{name!r} is not the name of a draft",
                hint="small letters, digits, dashes and underscores, and .json at the end",
            )
        return delivery

    def _record(self, delivery: str, spooled: SpooledDraft, lease: Lease) -> Entry | None:
        """The new entry, or None when the delivery was one already."""
        if self._is_known(delivery, spooled):
            return None
        judged = self.judge(spooled.draft)
        if isinstance(judged, Refusal):
            raise BadInput(judged.reason, problems=judged.problems)
        received = {"digest": digest(spooled.draft), "bytes": len(spooled.draft)}
        draft = replace(
            judged,
            source=spooled.source or judged.source,
            delivery=delivery,
            body={**judged.body, RECEIVED: received},
        )
        refuse_keys(draft, self.keys)
        try:
            (entry,) = self.store.append(self.agent, [draft], self.stamp, lease=lease)
        except StoreConflict:
            # Somebody was faster. Only the bytes count: a judgement may differ the second time.
            if not self._is_known(delivery, spooled):
                raise
            return None
        return entry

    def _is_known(self, delivery: str, spooled: SpooledDraft) -> bool:
        return find_known(self.store, self.agent, delivery, digest(spooled.draft)) is not None

    def _tell(self, delivery: str, entry: Entry | None, done: Round) -> None:
        if entry is None:
            done.known += 1
            self.log.write("known", delivery=delivery)
            return
        done.added.append(entry)
        line = added_line(entry)
        self.log.write(
            "added", result="SUCCESS", message=line, delivery=entry.delivery, hash=entry.hash
        )
        if self.on_added is not None:
            self.on_added(entry, line)

    def _set_aside(self, name: str, event: Event, error: MentisError, done: Round) -> None:
        self._announce(name, error)
        why = {
            "time": format_time(self.clock.now()),
            "file": name,
            "event": event,
            **error.as_problem(),
        }
        label = new_delivery(self.clock.now, self.ids)
        source = self.folder.spool / name
        try:
            target = put_aside(
                source,
                self.folder.quarantine,
                label=label,
                why=why,
                secrets=self.keys.values(),
            )
        except MentisError as fault:
            done.stuck[name] = fault
            return
        done.refused[target.name] = redact(error.message, self.keys.values())
        self.log.write(event, result="FAIL", file=name, error=error.message, aside=target.name)

    def _announce(self, name: str, error: MentisError) -> None:
        """A store that is down ends the round; that this cannot be told does not."""
        if self.on_refused is None:
            return
        try:
            self.on_refused(name, error)
        except (StoreConflict, NotCanonical, BadInput) as untold:
            error.facts["untold"] = untold.message


def _strained(name: str, error: OSError | MemoryError) -> StoreError:
    """The machine is to blame and not the draft, which waits."""
    return StoreError(
        f"{name!r} could not be taken: {type(error).__name__}: {error}",
        hint="check memory and disk; the draft stays where it is",
        file=name,
    )


def _defect(name: str, error: Exception) -> Defect:
    return Defect(
        f"{name!r} cannot be taken: {type(error).__name__}: {error}",
        hint="the draft is kept as it came; please report it",
        file=name,
    )


def _from(error: MentisError, source: str | None) -> MentisError:
    """The reason in quarantine says where the draft came from, if it did."""
    if source is not None:
        error.facts["source"] = source
    return error


def find_known(store: LedgerStore, agent: str, delivery: str, digest: str) -> Entry | None:
    """The entry this delivery is already, if it is. StoreConflict if that says something else."""
    known = store.find_delivery(agent, delivery)
    if known is None:
        return None
    received = known.body.get(RECEIVED)
    if isinstance(received, dict):
        found = cast("dict[str, object]", received).get("digest")
    else:
        # Erased since, or of another kind: of the latter nobody can say that it is the same.
        found = digest if RECEIVED in known.fields else None
    if found == digest:
        return known
    raise StoreConflict(
        f"delivery `{delivery}` is entry {known.index} already, with another content",
        hint="give a changed draft a delivery of its own",
        delivery=delivery,
        index=known.index,
    )
