"""Does the record hold, and are the conversations still what it says they were?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.codec.forms import from_json, to_json
from mentis.disk.atomic import write_atomic
from mentis.errors import BadCheckpoint, HomeError, StoreDamaged, StoreLocked, UserError, WorldError
from mentis.home.checkpoints import CheckpointedLedger
from mentis.home.older_turns import OlderTurns, StoredTurns
from mentis.ledger.checkpoint import read_note
from mentis.ledger.origin import origin_place
from mentis.ledger.statements import ERASURE, ROLLBACK
from mentis.ledger.verify import Beginning, verify_chain
from mentis.ports.blob_store import BlobStore
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.files.home import is_id
from mentis.values.checkpoint import KeptNote, Pin
from mentis.values.entry import Entry, Finding, SeenSegment, Verdict, VerifiedPrefix
from mentis.values.words import entries_of, quantity

from .segments import SegmentFolder
from .source import EntrySource, damage_finding
from .verify_bodies import BodyCheck
from .verify_conversations import ConversationClaims
from .verify_grants import GrantCheck
from .verify_inputs import InputCheck
from .verify_inventory import COLUMN as INVENTORY
from .verify_inventory import InventoryCheck
from .verify_news import NewsCheck
from .window_operations import judge_verdict, was_judged

_MOST = 20
_NAMED = 5  # lines that a database says of itself
_MOVED = "a segment is new, changed or gone since the last run, so everything was read again"
_UNREAD = "turns that no entry speaks of were not looked for: only what is new was read"
_LET_GO = "turns that no entry speaks of were not looked for: the first entries were let go"
_AGAIN = 2
_OVERTAKEN = "something was erased, moved or let go while this was read; verify once more"
# Told of the agent, how many of its entries were read, and how many there are.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class VerifyEvidence:
    """What else to check with: the pin, checkpoints from outside, what an earlier run has read.

    `place` is the file that keeps how far that was; without one everything is read. `segments` are
    read before what is in the store; `remarks` go into the verdict. `swapped` says that the
    settings name another log than the home had; `damage` is what `find_damage` found, where it was
    asked once for all agents; `beside` are the agents the caller checks as well. With `alone` those
    who are just erasing or moving are waited for, where something does not hold. `blobs` has the
    bodies of calls, `home` the files of personas, `folder` the settings, prompts and skills.
    """

    pin: Pin | None = None
    outside: tuple[KeptNote, ...] = ()
    segments: SegmentFolder | None = None
    remarks: tuple[str, ...] = ()
    place: Path | None = None
    progress: Progress | None = None
    swapped: str = ""
    damage: tuple[Finding, ...] | None = None
    beside: frozenset[str] = frozenset()
    alone: Callable[[], AbstractContextManager[None]] | None = None
    blobs: BlobStore | None = None
    home: Path | None = None
    folder: Path | None = None

    def agents(self) -> frozenset[str]:
        """The agents of this home that a checkpoint tells of."""
        return frozenset(filter(None, map(self.agent_of, self.outside)))

    def tells_of(self, agent: str) -> bool:
        """Whether anything here is about this agent, or about nobody known."""
        return bool(self.swapped) or any(self._concerns(kept, agent) for kept in self.outside)

    def notes_for(self, agent: str) -> list[KeptNote]:
        """One file may hold the checkpoints of all agents of a home."""
        return [kept for kept in self.outside if self._concerns(kept, agent)]

    def unchecked_agents(self, agent: str) -> Counter[str]:
        """How many checkpoints there are of agents that nobody checks here."""
        others = filter(None, map(self.agent_of, self.outside))
        return Counter(one for one in others if one != agent and one not in self.beside)

    def agent_of(self, kept: KeptNote) -> str:
        """The agent of this home that a checkpoint is of; empty when it is of none."""
        if self.pin is None:
            return ""
        log, home = _log(kept), f"{self.pin.origin}/"
        agent = log.removeprefix(home)
        return agent if log != agent and is_id(agent.rpartition("/")[2]) else ""

    def _concerns(self, kept: KeptNote, agent: str) -> bool:
        return self.agent_of(kept) in ("", agent)


def verify_agent(
    agent: str, ledger: LedgerStore, talk: StoredTurns, asked: VerifyEvidence | None = None
) -> Verdict:
    """The chain of one agent, then every turn of its conversations, and what it is to be told.

    The ledger is read as it is at one moment. Segments and conversations are not: what others
    erase or let go of there meanwhile is no finding, but a reason to look once more.
    """
    asked = _with_damage(asked or VerifyEvidence(), ledger, talk)
    verdict, overtaken = _verify_now(agent, ledger, talk, asked)
    for _ in range(_AGAIN):
        if not overtaken:
            return verdict
        verdict, overtaken = _verify_now(agent, ledger, talk, asked)
    return replace(verdict, notes=(*verdict.notes, _OVERTAKEN)) if overtaken else verdict


def _verify_now(
    agent: str, ledger: LedgerStore, talk: StoredTurns, asked: VerifyEvidence
) -> tuple[Verdict, bool]:
    """With whether somebody came between, which may be why it does not hold."""
    before = _before(agent, asked.place)
    segments = _segments(asked)
    found = asked.segments.look() if asked.segments is not None else None
    with _still(ledger) as store:
        since = before if before is not None and _stands(store, before) else None
        moved = since is not None and since.segments != segments
        since = None if moved else since
        source = EntrySource(agent, store, found, since.size if since else None)
        verdict = _verify(agent, store, source, asked=asked, since=since)
        if moved:
            verdict = replace(verdict, notes=(*verdict.notes, _MOVED))
        elif before is not None and since is None:
            verdict = replace(verdict, findings=(_gone(before), *verdict.findings), trusted=None)
        if not verdict.intact:
            return judge_verdict(verdict), _overtaken(source, ledger, asked)
        seen = 0 if since is not None or source.first else verdict.entries
        verdict = _compare(
            verdict,
            source,
            talk,
            news=NewsCheck(agent, store),
            beside=_Beside(
                BodyCheck(asked.blobs),
                InventoryCheck(
                    agent,
                    store.inner if isinstance(store, CheckpointedLedger) else store,
                    asked.home,
                    asked.folder,
                    partial=since is not None,
                ),
                InputCheck(agent, store),
                GrantCheck(agent, store, partial=since is not None),
            ),
            whole=lambda: ledger.count(agent) == seen,
            unread=_UNREAD if since is not None else _LET_GO if source.first else "",
        )
        if not verdict.intact:
            return verdict, _overtaken(source, ledger, asked) or _grown(verdict, ledger)
    return _kept(verdict, asked.place, segments), False


def _overtaken(source: EntrySource, ledger: LedgerStore, asked: VerifyEvidence) -> bool:
    """Asked while nobody is in the middle of it: half an erasure shows only once it is whole."""
    with ExitStack() as stack:
        try:
            if asked.alone is not None:
                stack.enter_context(asked.alone())
        except StoreLocked:
            return True
        except (WorldError, HomeError):
            pass  # a folder that cannot be locked; the verdict does not depend on it
        return source.is_overtaken(ledger, asked.segments)


def _grown(verdict: Verdict, ledger: LedgerStore) -> bool:
    """Whether an entry came after those that were read: what is kept elsewhere was read later."""
    return any(one.column == INVENTORY for one in verdict.findings) and (
        ledger.count(verdict.agent) != verdict.entries
    )


@contextmanager
def _still(ledger: LedgerStore) -> Generator[LedgerStore]:
    """As it is now; one that is damaged is read as far as that goes, which names it."""
    with ExitStack() as stack:
        try:
            store = stack.enter_context(ledger.snapshot())
        except StoreDamaged:
            store = ledger
        yield store


@dataclass(frozen=True, slots=True)
class _Beside:
    """What lies beside the entries, and what they say of it."""

    bodies: BodyCheck
    held: InventoryCheck
    inputs: InputCheck
    grants: GrantCheck

    def take(self, entry: Entry) -> None:
        self.bodies.take(entry)
        self.held.take(entry)
        self.inputs.take(entry)
        self.grants.take(entry)

    def compare(self) -> list[Finding]:
        self.held.compare()
        self.grants.compare()
        return [
            *self.bodies.findings,
            *self.held.findings,
            *self.inputs.findings,
            *self.grants.findings,
        ]

    def notes(self) -> tuple[str, ...]:
        return (*self.bodies.notes(), *self.held.notes)


def _compare(
    verdict: Verdict,
    source: EntrySource,
    talk: StoredTurns,
    *,
    news: NewsCheck,
    beside: _Beside,
    whole: Callable[[], bool],
    unread: str,
) -> Verdict:
    """What goes by a chain that holds: turns, bodies of calls, what the agent is to be told, how it
    was judged.
    """
    agent, said = verdict.agent, ConversationClaims()
    unjudged: list[int] = []
    unverified = 0
    try:
        for entry in source.entries():
            news.take(entry)
            beside.take(entry)
            if entry.kind == "turn":
                said.take(entry)
            elif entry.kind == ERASURE:
                said.take_erasure(entry)
            elif entry.kind == ROLLBACK:
                said.gave_up = True
            elif not was_judged(entry) and len(unjudged) < _MOST:
                unjudged.append(entry.index)
            unverified += _is_unverified(entry)
    except StoreDamaged as damage:  # a segment that was sound when it was read before this
        return judge_verdict(replace(verdict, findings=(damage_finding(damage),), trusted=None))
    findings, unfinished = said.compare(agent, talk, whole=whole)
    forged, untold = news.compare()
    late: tuple[str, ...] = ()
    try:
        late = () if findings else _late_notes(agent, talk)
    except StoreDamaged as damage:  # a mark of a session that has no turns
        findings.append(damage_finding(damage))
    findings += [*forged.values(), *beside.compare()]
    findings = sorted(findings, key=lambda finding: finding.index)
    verdict = judge_verdict(verdict, unjudged)
    legacy = f"imported as unverified: {entries_of(unverified)}" if unverified else ""
    notes = (
        *verdict.notes,
        *filter(None, [legacy]),
        *unfinished,
        *late,
        *untold,
        *beside.notes(),
        *filter(None, [unread]),
    )
    verdict = replace(verdict, notes=notes)
    if findings:
        return replace(
            verdict,
            findings=tuple(findings[:_MOST]),
            more=max(0, len(findings) - _MOST),
            trusted=None,
        )
    return verdict


def _is_unverified(entry: Entry) -> bool:
    """Whether it was imported with a hash that could not be derived."""
    place = origin_place(entry)
    return place is not None and not place.verified


def _late_notes(agent: str, talk: StoredTurns) -> tuple[str, ...]:
    """Notes on what an older Mentis recorded, and left to be done in the conversations."""
    return talk.notes(agent) if isinstance(talk, OlderTurns) else ()


def find_damage(ledger: LedgerStore, talk: StoredTurns) -> tuple[Finding, ...]:
    """Where tables and indexes do not agree, of all agents: what is read may still be whole."""
    older = talk.damage() if isinstance(talk, OlderTurns) else ()
    lines = (*ledger.damage(), *older)
    return tuple(Finding(0, "database", line, "unreadable") for line in lines[:_NAMED])


def _with_damage(asked: VerifyEvidence, ledger: LedgerStore, talk: StoredTurns) -> VerifyEvidence:
    return asked if asked.damage is not None else replace(asked, damage=find_damage(ledger, talk))


def _segments(asked: VerifyEvidence) -> tuple[SeenSegment, ...] | None:
    """The segments as they are now; None when they cannot be read, which reading them names."""
    try:
        return (
            () if asked.segments is None or asked.place is None else asked.segments.seen_segments()
        )
    except StoreDamaged:
        return None


def _verify(
    agent: str,
    ledger: LedgerStore,
    source: EntrySource,
    *,
    asked: VerifyEvidence,
    since: VerifiedPrefix | None,
) -> Verdict:
    own, damage = _own(agent, ledger)
    verdict = verify_chain(
        agent,
        source.entries(),
        pin=asked.pin,
        notes=[*own, *source.sealed, *asked.notes_for(agent)],
        since=since,
        beginning=Beginning(source.dropped_hashes(), source.stored),
        again=source.entries,
        progress=_reporter(agent, ledger, asked.progress),
    )
    swapped = [Finding(0, "settings", asked.swapped, "identity")] if asked.swapped else []
    strays = tuple(source.strays())
    odd = (one for one in strays if isinstance(one, Finding))
    unsound = (*damage, *(asked.damage or ()))
    findings = (*swapped, *verdict.findings, *source.damage, *odd, *unsound)
    return replace(
        verdict,
        findings=findings,
        notes=(
            *verdict.notes,
            *(one for one in strays if isinstance(one, str)),
            *asked.remarks,
            *_unheard(agent, asked),
        ),
        trusted=None if findings else verdict.trusted,
    )


def _own(agent: str, ledger: LedgerStore) -> tuple[list[KeptNote], tuple[Finding, ...]]:
    """The checkpoints of the store, or why they cannot be read."""
    try:
        notes = ledger.checkpoints(agent)
    except StoreDamaged as damage:
        return [], (damage_finding(damage),)
    own = [KeptNote(note, "the ledger", outside=False) for _, note in notes]
    return own, tuple(_misfiled(notes))


def _misfiled(notes: Sequence[tuple[int, str]]) -> Iterator[Finding]:
    for size, note in notes:
        try:
            says = read_note(note).checkpoint.size
        except BadCheckpoint:
            continue  # a finding already
        if says != size:
            message = f"a checkpoint of size {says} is kept in the ledger as one of size {size}"
            yield Finding(0, "checkpoint", message, "edited")


def _unheard(agent: str, asked: VerifyEvidence) -> Iterator[str]:
    for other, count in sorted(asked.unchecked_agents(agent).items()):
        yield f"not compared: {quantity(count, 'checkpoint')} of {other}, which was not looked at"


def _reporter(
    agent: str, ledger: LedgerStore, progress: Progress | None
) -> Callable[[int], None] | None:
    if progress is None:
        return None
    try:
        total = ledger.count(agent)
    except StoreDamaged:
        return None  # nobody can say how many there are
    return lambda done: progress(agent, done, total)


def _log(kept: KeptNote) -> str:
    try:
        return read_note(kept.note).checkpoint.origin
    except BadCheckpoint:
        return ""


def _before(agent: str, place: Path | None) -> VerifiedPrefix | None:
    """How far an earlier run has read."""
    if place is None or not place.is_file():
        return None
    try:
        before = from_json(VerifiedPrefix, place.read_bytes())
    except (UserError, OSError):
        return None  # everything is read again, which is never wrong
    return before if before.agent == agent and before.size else None


def _stands(ledger: LedgerStore, before: VerifiedPrefix) -> bool:
    try:
        last = next(iter(ledger.hashes(before.agent, start=before.size - 1)), None)
    except StoreDamaged:
        return False  # and reading everything names why
    return last == before.head


def _gone(before: VerifiedPrefix) -> Finding:
    last = before.size - 1
    message = (
        f"an earlier run has verified {before.size} entries, and number {last} is not that one"
    )
    return Finding(last, "hash", message, "rewritten")


def _kept(
    verdict: Verdict, place: Path | None, segments: tuple[SeenSegment, ...] | None
) -> Verdict:
    if place is None or verdict.trusted is None or segments is None:
        return verdict
    trusted = replace(verdict.trusted, segments=segments)
    verdict = replace(verdict, trusted=trusted)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(place, to_json(trusted))
    except (WorldError, HomeError, OSError) as fault:
        note = f"how far it was verified could not be kept: {fault}"
        return replace(verdict, notes=(*verdict.notes, note))
    return verdict
