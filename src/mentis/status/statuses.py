"""The one service of status windows: every way in and every look at them, for one agent of a home.

Whatever surface a draft comes by, it is read strictly, judged by the state it will follow, stamped
and appended here; what cannot be kept is put aside with its reason, or waits in the spool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from mentis.codec.forms import to_object
from mentis.disk.processes import in_force, owner_name
from mentis.errors import BadInput, HomeError, RolledBack, WorldError
from mentis.home.checkpoints import CheckpointedLedger
from mentis.home.closing import Closeable
from mentis.home.parts import Parts
from mentis.home.redaction import known_keys
from mentis.home.signing import open_pin
from mentis.home.system import RandomIds, SystemClock
from mentis.ledger.anchors import read_given
from mentis.ledger.chain import make_stamp
from mentis.ledger.channel.consumer import Consumer, OnAdded
from mentis.ledger.channel.folder import StatusFolder, checked_delivery, new_delivery
from mentis.ledger.channel.health import check_health, offline
from mentis.ledger.channel.spooled import SpooledDraft, checked_source
from mentis.ledger.channel.writer import spool_draft, write_pending
from mentis.ledger.guardian.draft import read_draft
from mentis.ledger.guardian.judge import judge_draft
from mentis.ledger.guardian.response import check_response
from mentis.ledger.guardian.state import with_routes
from mentis.ledger.origin import KIND as IMPORT
from mentis.ledger.origin import OriginPlace, fresh_drafts, origin_place
from mentis.ledger.origin import import_history as read_history
from mentis.ledger.origin_export import export_history
from mentis.ledger.tenure import SECONDS, Tenure
from mentis.ports.clock import read_clock
from mentis.ports.memory_store import MemoryStore
from mentis.record.evidence import gather_evidence, verified_file
from mentis.record.said_lines import (
    SaidHit,
    SaidLine,
    said_lines,
    search_lines,
    session_titles,
)
from mentis.record.verify import Progress, VerifyEvidence, verify_agent
from mentis.record.window_operations import after_state, judge_health, judge_memories
from mentis.record.window_stamp import WindowStamp
from mentis.record.window_state import (
    WINDOW,
    derive_state,
    latest_windows,
    shown_window,
    with_origins,
)
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.values.cognition import Memory
from mentis.values.entry import Draft, Entry, Verdict
from mentis.values.guardian import GuardianProfile, GuardianState, Judgement
from mentis.values.health import Health
from mentis.values.json import JsonObject
from mentis.values.lease import CONSUME
from mentis.values.measured import ClockJump, unsettled_jumps
from mentis.values.memories import MemoryListing
from mentis.values.memory_kind import PRIVATE_KINDS, MemoryKind
from mentis.values.status import BackendState, ImportedHistory, Stats, WindowResult

from .add import (
    DIRECT,
    NONE_UP,
    Arrival,
    add_window,
    breaches_of_files,
    doubts_of_files,
    read_data,
)
from .contexts import ContextName, project_facts, read_context
from .desk import HomeFacts, StatusWorkspace, database_file, folder_of, open_home_store, rules_of

_COMPARED_MEMORIES = 500

Role: TypeAlias = Literal["watcher", "monitor"]
CONSUMED = "pending_status_auto"  # the source of a file that tells none


def open_statuses(
    home: str | Path,
    persona: str | None = None,
    parts: Parts | None = None,
    *,
    readonly: bool = False,
) -> Statuses:
    """The service for one persona of a home; use it as a context manager.

    `readonly` is for looking only: it works where nothing can be written.
    """
    parts = parts or Parts()
    place = find_home(Path(home))
    settings = load_settings(place.path, parts.variables)
    chosen = place.pick_persona(persona, settings.model.persona)
    agent = f"{settings.model.name or place.name}/{chosen}"
    desk = StatusWorkspace(
        agent,
        folder_of(place, chosen, settings),
        open_store=lambda: open_home_store(place, settings, parts.variables, readonly=readonly),
        open_rules=lambda: rules_of(place, settings, outside=True),
        clock=parts.clock or SystemClock(),
        ids=parts.ids or RandomIds(),
        pin=open_pin(settings),
        keys=known_keys(settings, parts.variables),
    )
    return Statuses(
        desk,
        scan_seconds=settings.model.status.scan_seconds,
        lease_seconds=settings.model.status.lease_seconds,
        verified=verified_file(place, settings, parts.variables, agent=agent),
        store=settings.model.ledger.store,
        file=database_file(place, settings),
        known=lambda: gather_evidence(place, settings, parts.variables, persona=chosen),
        facts=HomeFacts(
            own_rules=lambda: rules_of(place, settings),
            project=lambda: project_facts(settings, agent),
        ),
    )


class Statuses(Closeable):
    """Its methods block: an async caller runs them in a worker thread."""

    def __init__(
        self,
        desk: StatusWorkspace,
        *,
        scan_seconds: float = 2.0,
        lease_seconds: float = SECONDS,
        verified: Path | None = None,
        store: str = "memory",
        file: Path | None = None,
        known: Callable[[], VerifyEvidence] | None = None,
        facts: HomeFacts | None = None,
    ) -> None:
        self._desk = desk
        self._verified = verified
        self._store = store
        self._file = file
        self._known = known  # what the home itself has to check with
        self._lease_seconds = lease_seconds
        self._facts = facts
        self.scan_seconds = scan_seconds

    @property
    def agent(self) -> str:
        return self._desk.agent

    @property
    def folder(self) -> StatusFolder:
        return self._desk.folder

    @property
    def profile(self) -> GuardianProfile:
        """The rules in force for windows that come from outside, as all do that come this way."""
        return self._desk.profile

    @property
    def own_profile(self) -> GuardianProfile:
        """The rules in force for the windows of the home's own agent."""
        return self.profile if self._facts is None else self._facts.own_rules()

    def add(
        self,
        data: bytes | Mapping[str, object],
        *,
        source: str,
        delivery: str | None = None,
        own: bool = False,
    ) -> WindowResult:
        """Judge, stamp and record one window; one `delivery` given twice is one entry. `own`: it is
        one of the home's own agent, judged by the rules for that.

        WindowRefused (a BadInput) once it is in quarantine. With the store down or full the draft
        is spooled, and the answer says so.
        """
        content, window = read_data(data)
        named = None if delivery is None else checked_delivery(delivery)
        rules = self.own_profile if own else self.profile
        arrival = Arrival(content, window, checked_source(source), rules, named)
        return add_window(self._desk, arrival)

    def write(
        self,
        data: bytes | Mapping[str, object],
        *,
        slot: bool = False,
        delivery: str | None = None,
    ) -> Path:
        """Put a draft where the watcher finds it; it is judged when it is consumed."""
        content, _ = read_data(data)
        desk = self._desk
        if slot:
            write_pending(desk.folder, content)
            return desk.folder.pending
        named = checked_delivery(delivery) if delivery else new_delivery(desk.clock.now, desk.ids)
        return spool_draft(desk.folder, SpooledDraft(content), named, clock=desk.clock)

    def watcher(self, role: Role = "watcher", *, on_added: OnAdded | None = None) -> Consumer:
        """The one consumer of slot and spool; hand it to `ledger.channel.watch.watch`."""
        desk = self._desk
        owner = owner_name(role, desk.ids.new_id()[:8])
        seconds = self._lease_seconds
        return Consumer(
            agent=desk.agent,
            folder=desk.folder,
            store=desk.store,
            judge=_read_file,
            stamp=WindowStamp(desk.follower, desk.profile, DIRECT, clock=desk.clock, ids=desk.ids),
            tenure=Tenure(desk.store, desk.clock, agent=desk.agent, owner=owner, seconds=seconds),
            clock=desk.clock,
            ids=desk.ids,
            log=desk.log,
            on_added=doubts_of_files(desk, on_added),
            on_refused=breaches_of_files(desk, CONSUMED),
            keys=desk.keys,
        )

    def entries(self, *, start: int = 0) -> Iterator[Entry]:
        return self._desk.store.entries(self.agent, start=start)

    def clock_jumps(self, entries: Sequence[Entry]) -> tuple[ClockJump, ...]:
        """Jumps of the clock since the first of these entries that nobody has settled."""
        return unsettled_jumps(entries, read_clock(self._desk.clock))

    def latest(self, count: int = 5, *, windows: bool = False) -> tuple[Entry, ...]:
        """The last entries, or the last that carry a window; oldest first; 0 is none."""
        if windows:
            return latest_windows(self._desk.store, self.agent, count)
        return self._desk.store.latest(self.agent, count)

    def window(self, entry: Entry) -> JsonObject | None:
        """The window of an entry with its hash in it; None when it carries none."""
        return shown_window(entry)

    def entry_data(self, entry: Entry) -> dict[str, object]:
        """An entry as JSON, with its window as the origin has it, and where it came from."""
        told = to_object(entry)
        if (window := self.window(entry)) is not None:
            told["status_window"] = window
        if (place := self.origin(entry)) is not None:
            told["origin"] = to_object(place)
        return told

    def stats(self) -> Stats:
        """Counted by the store. A window that was erased is still one."""
        store = self._desk.store
        tally = store.tally(self.agent)
        imported = tally.kinds.get(IMPORT, 0)
        places = list(self._origins(imported)) if imported else []
        tally = with_origins(tally, places)
        file = self._file if self._file is not None and self._file.exists() else None
        return Stats(
            agent=self.agent,
            total_entries=store.count(self.agent),
            oldest_timestamp=tally.oldest,
            newest_timestamp=tally.newest,
            sources=tally.sources,
            kinds=tally.kinds,
            windows=sum(tally.kinds.get(kind, 0) for kind in (WINDOW, IMPORT)),
            store=self._store,
            file=None if file is None else str(file),
            file_size_bytes=None if file is None else file.stat().st_size,
            imported=imported,
            unverified=sum(not place.verified for place in places),
        )

    def _origins(self, count: int) -> Iterator[OriginPlace]:
        """Of the imported entries, which are read until all of them were there."""
        imported = (entry for entry in self.entries() if entry.kind == IMPORT)
        return filter(None, map(origin_place, islice(imported, count)))

    def origin(self, entry: Entry) -> OriginPlace | None:
        """Where and when an imported window was recorded first; None for what is no import."""
        return origin_place(entry)

    def export_history(self) -> tuple[bytes, int]:
        """Every window as the origin's `status_window_history.json`, and how many there are."""
        return export_history(self.entries(), now=self._desk.clock.now())

    def verify(
        self,
        checkpoints: Sequence[Path] = (),
        *,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Verdict:
        """Check this agent's chain, with the checkpoints in these files.

        With `resume` it begins where the last run with it ended, and keeps how far it came.
        """
        opened = self._desk.open_ledger()
        known = self._known() if self._known else VerifyEvidence(pin=self._desk.pin)
        given = tuple(kept for file in checkpoints for kept in read_given(file))
        asked = replace(
            known,
            outside=(*given, *known.outside),
            place=self._verified if resume else None,
            progress=progress,
        )
        return verify_agent(self.agent, opened.ledger, opened.talk, asked)

    def check(
        self, data: str | bytes, *, response: bool = False, profile: GuardianProfile | None = None
    ) -> Judgement:
        """What the guardian would say now of a draft or a whole answer; nothing is written.

        An answer is judged by the rules for the home's own agent, a draft by those for windows from
        outside. `profile`: other rules than those in force.
        """
        rules = profile or (self.own_profile if response else self.profile)
        try:
            state = with_routes(derive_state(self._desk.store, self.agent), DIRECT)
        except (WorldError, HomeError):
            state = GuardianState(known=False, routes=NONE_UP)
        if response:
            text = data if isinstance(data, str) else _decoded(data)
            return check_response(text, state, rules)
        content = data.encode() if isinstance(data, str) else data
        return judge_draft(read_draft(content), state, rules)

    def import_history(self, data: bytes, *, legacy: bool = False) -> ImportedHistory:
        """Take over a history of the origin, verified bit for bit; what is known is left out.

        With `legacy` what does not verify is taken as unverified, and said to be.
        """
        history = read_history(data, legacy=legacy)
        desk = self._desk
        store = desk.store

        def is_known(delivery: str) -> bool:
            """Its name is its hash, so it is the same wherever it is now."""
            moved = store.dropped_as(self.agent, delivery)
            return moved is not None or store.find_delivery(self.agent, delivery) is not None

        fresh = fresh_drafts(history, is_known)
        stamp = make_stamp(desk.clock.now, desk.ids.salt, desk.clock.uptime)
        added = store.append(self.agent, fresh, stamp)
        return ImportedHistory(
            added=len(added),
            known=len(history.drafts) - len(added),
            total=store.count(self.agent),
            head=history.head,
            begins_after=history.begins_after,
            unverified=history.unverified,
        )

    def context(self, name: ContextName) -> JsonObject:
        """What every window should carry: as the owner wrote it, or, of the project, as it is known
        without that. The home's own agent is told both where it opens its answers with windows.
        """
        written = read_context(self.folder, name)
        if written or name != "project_awareness" or self._facts is None:
            return written
        return self._facts.project()

    def conversation(self) -> tuple[SaidLine, ...]:
        """Everything that was said with this persona and still stands, session by session."""
        return said_lines(self._desk.open_ledger().talk, self.agent)

    def session_titles(self) -> Mapping[str, str]:
        """Every session with its title, which may be empty; the oldest first."""
        return session_titles(self._desk.open_ledger().talk, self.agent)

    def search_conversation(self, query: str, *, count: int = 5) -> tuple[SaidHit, ...]:
        """The lines of all sessions that share most words with the query; the best first."""
        return search_lines(self.conversation(), query, count)

    def health(self) -> Health:
        """Which ways in are open just now. The store is asked to write."""
        desk = self._desk
        try:
            store = desk.store
            if isinstance(store, CheckpointedLedger):
                store.begin(self.agent)
        except (WorldError, HomeError, RolledBack) as fault:
            return offline(fault, desk.folder)
        now = desk.clock.now()
        health = check_health(self.agent, store, desk.folder, now=now)
        if not health.persists:
            return health
        lease = store.lease(self.agent, CONSUME)
        holder = lease if lease is not None and in_force(lease, now) else None
        health = judge_health(health, desk.folder, holder, desk.profile)
        health = after_state(health, derive_state(store, self.agent))
        memories = desk.open_ledger().memories
        if memories is None:
            return health
        mixed = judge_memories(_newest_memories(memories, self.agent), desk.profile)
        return replace(health, findings=(*health.findings, *mixed))

    def backend_state(self, health: Health | None = None) -> BackendState:
        """What the next window has to repeat or obey. `health`, if that was asked for already."""
        health, total = health or self.health(), 0
        try:
            state = derive_state(self._desk.store, self.agent)
            total = self._desk.store.count(self.agent)
        except (WorldError, HomeError, RolledBack) as fault:
            state, health = GuardianState(known=False), offline(fault, self.folder)
        return BackendState(
            agent=self.agent,
            step_id=state.step_id,
            cycle=state.cycle_text,
            audit_due=state.audit_due,
            after_breach=state.after_breach,
            unsure=state.unsure,
            chain_head=state.head,
            head_time=state.head_time,
            total_entries=total,
            profile=self.profile.name,
            status=health.status,
            reason=health.reason,
            routes=tuple(route.route for route in health.routes if route.up),
        )

    def close(self) -> None:
        self._desk.close()


def _newest_memories(store: MemoryStore, agent: str) -> tuple[Memory, ...]:
    """As many of each side as a look at the health can afford in a home of any size."""
    told = tuple(kind for kind in get_args(MemoryKind) if kind not in PRIVATE_KINDS)
    return tuple(
        memory
        for kinds in (tuple(PRIVATE_KINDS), told)
        for memory in store.page(
            agent, MemoryListing(kinds, order="newest"), count=_COMPARED_MEMORIES
        )
    )


def _read_file(content: bytes) -> Draft:
    """The judgement itself is made by the stamp, inside the transaction."""
    return Draft(WINDOW, CONSUMED, {WINDOW: read_draft(content)})


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"the answer is not UTF-8 at byte {error.start}"
        raise BadInput(message, hint="save it as UTF-8") from error
