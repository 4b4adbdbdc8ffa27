"""One agent's ledger in the hands of its owner: looked at, proved, sealed, erased from, repaired.

`statuses` is about windows; this is about the record itself. Rotation, keys and anchors, and the
handing over have modules of their own, which take a `Record`.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from pathlib import Path

from mentis.act.entries import told_mark
from mentis.errors import MentisError, SigningKeyError, StoreDamaged, UsageError
from mentis.home.checkpoints import CheckpointedLedger
from mentis.home.closing import Closeable, closed_on_failure
from mentis.home.database import open_database
from mentis.home.identity import agent_id, home_name, persona_of, pick_persona
from mentis.home.ledger import agents_here, open_ledger
from mentis.home.older_turns import OlderTurns, has_own_turns, settle_older_turns
from mentis.home.parts import Parts
from mentis.home.server import open_blobs
from mentis.home.signing import NO_PIN_HINT, Sealing, SignedCheckpoint, open_sealing
from mentis.home.system import RandomIds, SystemClock
from mentis.ledger import keeping, statements
from mentis.ledger.chain import make_stamp
from mentis.ledger.checkpoint import read_note
from mentis.ledger.keeping import LedgerHandle
from mentis.ports.clock import Clock
from mentis.ports.entries import Stamp
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.stores.sqlite.database import Database
from mentis.values.checkpoint import GrowthProof, Pin, Proof
from mentis.values.entry import Before, Draft, Entry, Verdict
from mentis.values.mark import Mark

from .claims import BINDING
from .erasure import blanked_marks, dropped_inputs, forget_blobs
from .erasure_turns import ErasedTurns, tell_emptied, turns_to_empty
from .evidence import gather_evidence
from .segments import SegmentFolder, open_segments
from .source import EntrySource, lock_changes, read_still
from .verify import Progress, verify_agent
from .verify_grants import COLUMN as GRANTS
from .verify_grants import GrantCheck, taken_away
from .verify_inventory import COLUMN as INVENTORY
from .verify_inventory import InventoryCheck, inventories_of
from .verify_news import COLUMN as NEWS
from .verify_news import NewsCheck


@dataclass(frozen=True, slots=True)
class Repair:
    """What is wrong, and the entry that points at it; None when nothing is."""

    verdict: Verdict
    database: tuple[str, ...]
    entry: Entry | None
    refusal: str = ""  # why the ledger would not start
    taken: tuple[str, ...] = ()  # acts whose news no entry bears out, and which went


def open_record(
    home: str | Path,
    persona: str | None = None,
    parts: Parts | None = None,
    *,
    readonly: bool = False,
    anew: bool = False,
) -> Record:
    """The record of one persona, or of `recorded/NAME`; use it as a context manager. `readonly` is
    for looking only.

    A database that is gone and that a checkpoint has seen is begun `anew`, or RolledBack.
    """
    parts = parts or Parts()
    place = find_home(Path(home))
    settings = load_settings(place.path, parts.variables)
    chosen = pick_persona(place, persona, settings.model.persona)
    sealing = open_sealing(place, settings, parts.variables)
    database = open_database(
        place, settings, parts.variables, readonly=readonly, anew=anew, salts=parts.salts
    )
    with closed_on_failure(database):
        ledger = open_ledger(settings, database, parts.variables)
    record = Record(
        home=place,
        persona=chosen,
        settings=settings,
        environ=parts.variables,
        sealing=sealing,
        database=database,
        ledger=ledger,
        clock=parts.clock or SystemClock(),
        ids=parts.ids or RandomIds(),
    )
    # One that cannot be read is for `verify` to name, and for nobody else to stumble over.
    with suppress(MentisError):
        settle_older_turns(record.ledger, database, record.agent)
    return record


# The digest of a draft has no salt, and a judgement quotes the window it is about, as the attempts
# do. What a turn was made from tells the message whose digest it binds.
_TOLD_AGAIN = {
    "window": ("received", "judgement", "attempts", "claims"),
    "refused_window": ("judgement", "claims", "refusal"),
    **dict.fromkeys(BINDING, ("inputs", "digests", "asked", "acted", "attachments")),
}


@dataclass(frozen=True, slots=True)
class Record(Closeable):
    home: Home
    persona: str
    settings: Settings
    environ: Mapping[str, str]
    sealing: Sealing | None
    database: Database
    ledger: LedgerStore
    clock: Clock
    ids: Ids

    @property
    def agent(self) -> str:
        return agent_id(self.home, self.settings, self.persona)

    @property
    def store(self) -> LedgerStore:
        """The store alone, which makes no checkpoints and does not look whether it may start."""
        return self.ledger.inner if isinstance(self.ledger, CheckpointedLedger) else self.ledger

    @property
    def talk(self) -> OlderTurns:
        return OlderTurns(self.store, self.database)

    @property
    def segments(self) -> SegmentFolder:
        return open_segments(self.home, self.settings, self.persona, self.agent)

    def snapshot(self) -> AbstractContextManager[EntrySource]:
        """All entries as they are now, wherever they lie, as long as the block lasts."""
        return read_still(self.agent, self.store, self.segments)

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """One at a time erases, moves or lets go: what two do at once, each would leave to the
        other. StoreLocked while somebody else does. Whoever only adds does not wait.
        """
        with lock_changes(self.home, self.settings):
            yield
        # Only now: this waits for those who read, and the next one need not.
        self.database.fold()

    @property
    def keeping(self) -> LedgerHandle:
        return LedgerHandle(
            self.store, self.agent, self.sealing.pin if self.sealing else Pin("", "")
        )

    def require_sealing(self) -> Sealing:
        """Name, key and anchors of the log; SigningKeyError while the home has none."""
        if self.sealing is None:
            raise SigningKeyError("this home has no signing key yet", hint=NO_PIN_HINT)
        return self.sealing

    def start(self) -> None:
        """RolledBack unless the ledger may go on from here."""
        if isinstance(self.ledger, CheckpointedLedger):
            self.ledger.begin(self.agent)

    def stamp(self) -> Stamp:
        return make_stamp(self.clock.now, self.ids.salt, self.clock.uptime)

    def stamp_signed(self) -> Stamp:
        """For what the key has signed: SigningKeyError inside the write if it is given up by then,
        since what it signed would count for nothing after that.
        """
        plain, sealing = self.stamp(), self.require_sealing()

        def stamp(agent: str, head: Before | None, draft: Draft) -> Entry:
            sealing.signer()
            return plain(agent, head, draft)

        return stamp

    def entry(self, index: int) -> Entry:
        """An entry, wherever it is: in the store or in a segment, if that is what was moved."""
        entry = self.store.find(self.agent, index)
        if entry is None and 0 <= index < self._begins():
            (kept,) = islice(self.store.hashes(self.agent, start=index), 1)
            entry = self.segments.find(index, kept)
        if entry is None:
            raise UsageError(
                f"there is no entry {index} of `{self.agent}` here",
                hint=f"it has {self.store.count(self.agent)} entries; old segments may be gone",
            )
        return entry

    def last(self, count: int) -> tuple[Entry, ...]:
        return self.store.latest(self.agent, count)

    def checkpoints(self) -> tuple[tuple[int, str], ...]:
        """Size and note of each that the store has kept, the shortest first."""
        return tuple(sorted(self.store.checkpoints(self.agent), key=itemgetter(0)))

    def verify(
        self,
        checkpoints: Sequence[Path] = (),
        *,
        progress: Progress | None = None,
        held: bool = False,
    ) -> Verdict:
        """With everything the home knows, and the checkpoints in these files.

        `held` is for whoever is `alone` already.
        """
        asked = gather_evidence(
            self.home,
            self.settings,
            self.environ,
            persona=self.persona,
            checkpoints=checkpoints,
            progress=progress,
        )
        asked = replace(asked, alone=None) if held else asked
        return verify_agent(self.agent, self.store, self.talk, asked)

    def prove(self, index: int, *, size: int | None = None) -> Proof:
        """That the entry is in the ledger, for the newest checkpoint that has seen it."""
        note = self._note(size, least=index + 1)
        return keeping.prove(self.keeping, index, size=size, note=note)

    def prove_growth(self, old: int, *, size: int | None = None) -> GrowthProof:
        """That the ledger of `old` entries is the beginning of that of the newest checkpoint."""
        note = self._note(size, least=old)
        seen = read_note(note).checkpoint.size if note else size
        return keeping.prove_growth(self.keeping, old, size=seen, note=note)

    def signable_ledger(self) -> LedgerHandle:
        """To sign things about it: with where it stands, or RolledBack if that is not as it was."""
        ledger = self.ledger
        known = ledger.standing(self.agent) if isinstance(ledger, CheckpointedLedger) else None
        return LedgerHandle(ledger, self.agent, self.require_sealing().pin, known)

    def checkpoint(self) -> SignedCheckpoint:
        """Sign what is there now."""
        return self.require_sealing().checkpoint(
            self.store, self.agent, since=self.signable_ledger().known
        )

    def erase(self, index: int, fields: Collection[str], *, reason: str) -> Entry:
        """Remove value and salt of these fields, or of all but the delivery; returns the signed
        tombstone.

        What an act left beside its entry goes as well; UsageError while it waits or runs. With the
        `inputs` of a turn goes what it was made from, and it cannot be replayed any more; with what
        says which turns it were goes what was said in them, in the transaction of the tombstone.
        """
        with self.exclusive():
            settle_older_turns(self.ledger, self.database, self.agent)
            return self._erase(self.entry(index), fields, reason)

    def _erase(self, entry: Entry, fields: Collection[str], reason: str) -> Entry:
        signer, ledger, index = self.require_sealing().signer(), self.signable_ledger(), entry.index
        named = sorted(fields_to_erase(entry, fields))
        marks = (
            *blanked_marks(self.store, entry, named),
            *dropped_inputs(self.store, entry, named),
        )
        files = self.segments.holding(index, entry.hash)
        draft = keeping.tombstone(ledger, entry, named, reason=reason, signer=signer)
        if erased := self.turns_to_empty(entry, named):
            turns = self.store.turns(self.agent, erased.session)
            draft = tell_emptied(draft, erased, turns)
        # Before the entry: once that is erased, nothing says any more which blob it was.
        forget_blobs(open_blobs(self.home, self.database), entry, named, self.every_entry())
        writes = erased.writes() if erased and erased.numbers else None
        # The tombstone first: if this is cut short, verify says that the value is still there.
        if self.store.find(self.agent, index) is not None:
            tombstone = self.ledger.erase(
                self.agent,
                index,
                named,
                draft=draft,
                stamp=self.stamp_signed(),
                marks=marks,
                turns=writes,
            )
        else:
            stamp = self.stamp_signed()
            (tombstone,) = self.ledger.append(self.agent, [draft], stamp, marks=marks, turns=writes)
            if "delivery" in named:
                self.ledger.forget_delivery(self.agent, index)
        for file in files:
            self.segments.erase(file, index, named)
        return tombstone

    def turns_to_empty(self, entry: Entry, fields: Collection[str]) -> ErasedTurns | None:
        """What was said and goes with these fields of its entry."""
        with self.snapshot() as source:
            return turns_to_empty(entry, fields, entries=source.entries(), talk=self.talk)

    def remains(self) -> tuple[str, ...]:
        """Where what was last erased may still be read: in the ledger's store, and in the home."""
        wal = f"{self.database.path}-wal"
        # What the store has said of it was said before those who read were waited for.
        others = tuple(one for one in self.store.remains() if not one.startswith(wal))
        if has_own_turns(self.ledger, self.database, self.agent):
            others += (f"{self.database.path}: turns that its own, earlier ledger speaks of",)
        if self.database.fold(wait=False):
            return others
        return (*others, f"{wal}, until nobody reads the database and it is written again")

    def repair(self) -> Repair:
        """Say what is wrong and append an entry that points at it. Nothing is rewritten; only news
        of acts that the record knows nothing of are taken away, once the entry names them.
        """
        rows = self.database.read("PRAGMA integrity_check")
        broken = tuple(str(row[0]) for row in rows if row[0] != "ok")
        verdict, refusal = self.verify(), ""
        try:
            self.start()
        except MentisError as error:
            refusal = error.message
        # What is appended to a ledger that was rolled back would pass for a part of it.
        if refusal or (verdict.intact and not broken):
            return Repair(verdict, broken, None, refusal)
        told = [f"entry {f.index}, {f.column}: {f.message} ({f.attack})" for f in verdict.findings]
        draft = statements.repair(self.agent, [*told, *(f"database: {line}" for line in broken)])
        # To the store alone: pointing at damage needs nobody's leave.
        # Only of a chain that holds: then the news was compared, and each entry can be read.
        odd = any(finding.column == NEWS for finding in verdict.findings)
        marks = [told_mark(key) for key in self._forged_news()] if odd else []
        ungranted = self._forged_grants(verdict)
        (entry,) = self.store.append(self.agent, [draft], self.stamp(), marks=[*marks, *ungranted])
        self._renew_inventory(verdict)
        return Repair(verdict, broken, entry, refusal, tuple(mark.key for mark in marks))

    def _forged_grants(self, verdict: Verdict) -> list[Mark]:
        """What no entry bears out: nothing is done by it any more."""
        named = [one.message for one in verdict.findings if one.column == GRANTS]
        if not named:
            return []
        with self.store.snapshot() as store:
            check = GrantCheck(self.agent, store)
            for entry in EntrySource(self.agent, store, self.segments.look()).entries():
                check.take(entry)
            check.compare()
        return taken_away(check.odd, named)

    def _renew_inventory(self, verdict: Verdict) -> None:
        """What the entry names is kept as it is now, which the next one binds."""
        named = {one.message for one in verdict.findings if one.column == INVENTORY}
        if not named:
            return
        with self.store.snapshot() as store:
            check = InventoryCheck(self.agent, store)
            for entry in EntrySource(self.agent, store, self.segments.look()).entries():
                check.take(entry)
            check.compare()
        odd = [item for message, item in check.odd.items() if message in named]
        inventories = inventories_of(self.store)
        for inventory in inventories:
            # What lies in none of them is gone.
            odd = inventory.renew(self.agent, odd, gone=inventory is inventories[-1])

    def unbind_inventory(self) -> None:
        """Entries that bind what is kept are let go or given up: the next one binds all of it."""
        for inventory in inventories_of(self.store):
            inventory.unbind(self.agent)

    def _forged_news(self) -> Iterator[str]:
        with self.store.snapshot() as store:
            news = NewsCheck(self.agent, store)
            for entry in EntrySource(self.agent, store, self.segments.look()).entries():
                news.take(entry)
            return filter(None, news.compare()[0])

    def close(self) -> None:
        self.ledger.close()
        self.database.close()

    def _begins(self) -> int:
        """Where the entries in the store begin; those before it were moved out."""
        return next((entry.index for entry in self.store.entries(self.agent)), 0)

    def every_entry(self) -> Iterator[Entry]:
        """Of all who keep blobs in this home, those in segments too; StoreDamaged where some cannot
        be read, since nobody knows what they need.
        """
        own = home_name(self.home, self.settings)
        for agent in agents_here(self.store, self.settings, self.home, self.sealing):
            yield from self.store.entries(agent)
            folder = open_segments(self.home, self.settings, persona_of(agent, own), agent)
            found = folder.look()
            if found.damage:
                raise StoreDamaged(found.damage, hint="`mentis verify` names what is wrong")
            yield from found.entries(before=self.store.count(agent))

    def _note(self, size: int | None, *, least: int) -> str | None:
        """The checkpoint of this size, or the newest that has seen as many entries."""
        fitting = [
            (told, note)
            for told, note in self.checkpoints()
            if (told >= least if size is None else told == size)
        ]
        # Rotation seals a beginning, so the last that was made need not be the longest.
        return max(reversed(fitting), key=itemgetter(0), default=(0, None))[1]


def fields_to_erase(entry: Entry, fields: Collection[str]) -> list[str]:
    """Those that were named, and those from which a named one could be told or guessed.

    Where none is named, all but the delivery; UsageError if there is nothing else.
    """
    told_again = [told for name in fields for told in _TOLD_AGAIN.get(name, ())]
    named = [*fields, *(t for t in told_again if t in entry.body)] or statements.erasable(entry)
    if not named:
        raise UsageError(
            f"there is nothing left to erase of entry {entry.index}",
            hint="--field delivery takes away what it was delivered as; the same draft is new then"
            if entry.body
            else "`mentis verify` says which entry tells why",
        )
    return list(dict.fromkeys(named))
