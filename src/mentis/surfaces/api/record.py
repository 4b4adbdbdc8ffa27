"""Operations on the record: entries, windows, proofs; why a turn was as it was; costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

from anyio import to_thread
from pydantic import Field

from mentis.app.home_costs import home_costs
from mentis.app.home_health import health_data, read_health
from mentis.app.record_export import export_record
from mentis.causes.cause_data import causes_data, plan_data
from mentis.causes.plan import check_consent
from mentis.codec.forms import to_object
from mentis.costs.cost_data import cost_report_data, explanation_data
from mentis.costs.moments import read_moment
from mentis.costs.report import CostQuestion
from mentis.errors import (
    BadInput,
    HistoryBroken,
    LedgerError,
    NotCanonical,
    ReplayError,
    RequestRefused,
    UsageError,
)
from mentis.home.signing import open_pin
from mentis.ledger.bundle import auditor_script
from mentis.ledger.guardian.profiles import SHIPPED
from mentis.ledger.guardian.prove import activate, prove
from mentis.ledger.guardian.table import RULES, find_rule
from mentis.record import rotation
from mentis.record.audit import audit_export
from mentis.record.clock_entries import settle_clock, settled_clock_data
from mentis.record.export import check_proof_at
from mentis.record.record import Record, open_record
from mentis.record.record_data import (
    anchors_data,
    checked_proof_data,
    checkpoint_data,
    checkpoints_data,
    erase_entry,
    erasure_data,
    expiry_data,
    repair_data,
    rotation_data,
)
from mentis.record.redaction import make_rules
from mentis.record.verify_home import verify_home
from mentis.status.guardian import look_up_profile
from mentis.status.guardian_data import proof_data, rule_data, rule_explanation
from mentis.status.statuses import Statuses, open_statuses
from mentis.turn.replay.replay_data import fork_data, replay_data
from mentis.values.checkpoint import GrowthProof, Pin, Proof
from mentis.values.cost import CostKey
from mentis.values.entry import Entry
from mentis.values.guardian import GuardianProfile
from mentis.values.status import ImportedHistory, Stats
from mentis.web.problems import with_status

from .missing import fits, is_there
from .operation import ApiCall, Example, FileAnswer, Given, ListPage, OperationTable, PageQuery
from .paging import cursor_number
from .record_shapes import (
    AnchorsAnswer,
    AuditAnswer,
    CauseAnswer,
    CausePlanAnswer,
    CheckedProofAnswer,
    CheckpointAnswer,
    CheckpointsAnswer,
    ContextAnswer,
    CostAnswer,
    EntryAnswer,
    ErasedAnswer,
    ExpiredAnswer,
    ForkAnswer,
    HealthAnswer,
    JudgedAnswer,
    ProfileProofAnswer,
    RepairAnswer,
    ReplayAnswer,
    RotatedAnswer,
    RuleAnswer,
    RulesAnswer,
    SettledClockAnswer,
    SpooledAnswer,
    VerdictsAnswer,
    WhyAnswer,
    WindowAnswer,
)
from .shapes import JsonObject, listed

table = OperationTable("record", "Entries, windows, proofs; why a turn was as it was; costs.")
T = TypeVar("T")
_PERSONA = "/personas/{persona}"
_ENTRIES = f"{_PERSONA}/entries"
_ENTRY = f"{_ENTRIES}/{{index}}"
_WINDOWS = f"{_PERSONA}/windows"


class EntriesQuery(PageQuery):
    """Which entries."""

    newest: bool = Field(False, description="From the newest on, instead of from the oldest.")
    kind: str = Field("", description="Only entries of this kind.")


class WindowsQuery(EntriesQuery):
    """Which entries."""

    windows: bool = Field(True, description="Only entries that carry a window.")


class StepQuery(Given):
    """Which answer of the turn."""

    step: int = Field(1, ge=1, le=1000, description="One that used tools has several.")


class ReplayQuery(StepQuery):
    """What is told of a replay."""

    explain: bool = Field(False, description="Also which blocks were told, and why.")


class CauseQuery(Given):
    """Which answer of the turn, and how it is asked about."""

    step: int = Field(0, ge=0, le=1000, description="0: the last one.")
    blocks: int = Field(0, ge=0, le=10_000, description="Leave out so many at most; 0: all.")
    samples: int = Field(3, ge=1, le=100, description="New answers where none can be scored.")
    route: str = Field("", description="Another route judges; empty: the one that answered.")


class CauseGiven(CauseQuery):
    """Which answer of the turn, how it is asked about, and what that may cost."""

    example: ClassVar[Example] = {"confirm": False}

    confirm: bool = Field(False, description="Agree to the price.")
    max_usd: float | None = Field(None, ge=0, description="Go on where it costs at most that.")


class ProofQuery(Given):
    """In which ledger."""

    size: int | None = Field(None, ge=1, le=2**53, description="That of so many entries.")


class AuditQuery(Given):
    """Which log it should be of."""

    key: str = Field("", description="Its public key, base64, as you know it.")
    origin: str = Field("", description="Its name, as you know it.")


class RecordExportQuery(Given):
    """What goes with the digests, and what is left out."""

    with_texts: bool = Field(
        False, description="Put conversations, prompts and results beside their digests."
    )
    redact: tuple[str, ...] = Field(
        (), description="Leave out every text and field that this regular expression finds."
    )
    leave_out: tuple[str, ...] = Field(
        (), description="Leave out a field (`payload`) or the text of a digest (`digests/payload`)."
    )


class GrowthQuery(ProofQuery):
    """From which ledger on."""

    example: ClassVar[Example] = {"old": 1}

    old: int = Field(ge=1, le=2**53, description="That of so many entries.")


class CostQuery(Given):
    """Which calls, and how they are summed up."""

    by: CostKey = Field("day", description="What to sum up by.")
    since: str = Field("", description="From then on: 2026-10-04, 7d, 12h.")
    until: str = Field("", description="Up to then; a day is whole.")
    top: int = Field(5, ge=0, le=1000, description="How many of the most expensive turns.")
    newest: int = Field(
        0, ge=0, le=100_000, description="Only the newest so many turns; 0: all of them."
    )
    session: str = Field("", description="Only this conversation.")

    def question(self) -> CostQuestion:
        return CostQuestion(
            self.by,
            read_moment(self.since) if self.since else None,
            read_moment(self.until, end=True) if self.until else None,
            self.top,
            self.newest,
            session=self.session,
        )


class HomeCostQuery(CostQuery):
    """Which calls, and whose."""

    persona: str = Field("", description="Only of this persona; empty: the whole home.")


class ProfileQuery(Given):
    """Which rules."""

    example: ClassVar[Example] = {"profile": "as-run"}

    profile: str = Field("mentis", description="A shipped profile, or one of the home's.")


class ForkGiven(StepQuery):
    """Other texts in the blocks of a recorded turn."""

    example: ClassVar[Example] = {"blocks": {"style": "Be long."}}

    blocks: dict[str, str] = Field(min_length=1, description="The new text of each block.")
    live: bool = Field(False, description="Go on: send it to the provider of that turn.")
    script: tuple[str, ...] | None = Field(None, description="Go on with these answers instead.")
    force: bool = Field(False, description="Also change the constitution.")


class ErasureGiven(Given):
    """What is to go, and why."""

    example: ClassVar[Example] = {"reason": "Art. 17"}

    fields: tuple[str, ...] = Field((), description="Only these; else all but the delivery.")
    reason: str = Field(min_length=1, description="Why; it is kept in the tombstone.")


class SettledClockGiven(Given):
    """Why the clock is right."""

    example: ClassVar[Example] = {"reason": "the clock was set by hand"}

    reason: str = Field(min_length=1, description="What happened; it is kept in the entry.")


class RotationGiven(Given):
    """Which entries go into a sealed file."""

    example: ClassVar[Example] = {"keep": 1}

    keep: int | None = Field(None, ge=1, description="The last so many stay.")
    before: str = Field("", description="An index or a time: everything older goes.")


class ProofGiven(Given):
    """A proof that is to be checked."""

    example: ClassVar[Example] = {"proof": {}}

    proof: dict[str, Any]
    root: str = Field("", description="The root as you know it.")


class WindowGiven(Given):
    """A draft of a window."""

    example: ClassVar[Example] = {"draft": {}}

    draft: dict[str, Any]
    source: str = Field("api", min_length=1, description="Where it comes from.")
    delivery: str = Field("", description="Given twice with the same draft, it is one entry.")


class SpoolGiven(Given):
    """A draft for the watcher."""

    example: ClassVar[Example] = {"draft": {"goal": "x"}}

    draft: dict[str, Any]
    slot: bool = Field(False, description="Into the single slot; one that waits is replaced.")
    delivery: str = Field("", description="Given twice with the same draft, it is one entry.")


class JudgeGiven(Given):
    """A draft, or a whole answer that opens with a window."""

    example: ClassVar[Example] = {"draft": {}}

    draft: dict[str, Any] | None = None
    response: str = Field("", description="A whole answer of a model instead.")
    profile: str = Field("", description="Other rules than the home's.")


class HistoryQuery(Given):
    """How a history is taken over."""

    legacy: bool = Field(False, description="Take entries that do not verify, as unverified.")


def _opened(call: ApiCall, *, readonly: bool = True) -> Record:
    return open_record(call.home, call.persona, call.desk.parts, readonly=readonly)


def _statuses(call: ApiCall, *, readonly: bool = True) -> Statuses:
    return open_statuses(call.home, call.persona, call.desk.parts, readonly=readonly)


# Entries


@table.get(_ENTRIES, listed(Entry, "EntryPage"), commands=("ledger show", "status list"))
def list_entries(call: ApiCall, query: EntriesQuery) -> ListPage:
    """List the entries of the record, also those in sealed segments."""
    with _opened(call) as record:
        count = record.store.count(record.agent)
        return _page(query, count, _reader(record), to_object)


def _reader(record: Record) -> Callable[[int], Entry | None]:
    """None for what expired with its segment."""

    def read(index: int) -> Entry | None:
        try:
            return record.entry(index)
        except (UsageError, LedgerError):
            return None

    return read


def _page(
    query: EntriesQuery,
    count: int,
    read: Callable[[int], Entry | None],
    told: Callable[[Entry], object],
) -> ListPage:
    """Entries from the cursor on, one by one, until the page is full."""
    after = cursor_number(query.cursor) if query.cursor else None
    if query.newest:
        places = range((count if after is None else min(after, count)) - 1, -1, -1)
    else:
        places = range(0 if after is None else after + 1, count)
    found: list[Entry] = []
    for entry in filter(None, map(read, places)):
        if query.kind in ("", entry.kind):
            if len(found) == query.limit:
                return ListPage([told(one) for one in found], found[-1].index)
            found.append(entry)
    return ListPage([told(one) for one in found])


@table.get(_ENTRY, Entry, commands=("ledger show",))
def show_entry(call: ApiCall) -> dict[str, object]:
    """Show one entry in full; also from sealed segments."""
    with _opened(call) as record, is_there():
        return to_object(record.entry(call.number("index")))


@table.post(
    f"{_ENTRY}/erase", ErasedAnswer, scope="admin", edits=show_entry, commands=("ledger erase",)
)
def erase_entry_fields(call: ApiCall, body: ErasureGiven) -> dict[str, object]:
    """Remove values and their salts from an entry, for good; the record still verifies."""
    with _opened(call, readonly=False) as record:
        with is_there():
            entry = record.entry(call.number("index"))
        return erasure_data(erase_entry(record, entry, body.fields, reason=body.reason))


@table.get(f"{_PERSONA}/verify", VerdictsAnswer, commands=("verify", "status verify"))
def verify_record(call: ApiCall) -> dict[str, object]:
    """Check every entry of the record against its hash and its predecessor."""
    found = verify_home(call.home, persona=call.persona)
    intact = all(one.intact for one in found)
    return {"intact": intact, "chains": [to_object(one) for one in found]}


@table.get("/verify", VerdictsAnswer, commands=("verify", "status verify"))
def verify_all(call: ApiCall) -> dict[str, object]:
    """Check every record of the home: those of its personas, and those of recorded agents."""
    found = verify_home(call.home)
    intact = all(one.intact for one in found)
    return {"intact": intact, "chains": [to_object(one) for one in found]}


@table.post(
    "/audit", AuditAnswer, scope="read", takes="application/zip", commands=("ledger audit",)
)
def audit_bundle(call: ApiCall, query: AuditQuery, raw: bytes) -> dict[str, Any]:
    """Check an export with the auditor's verifier; nothing of it is kept.

    The log that it should be of is this home's, unless its name and key are given.
    """
    if bool(query.key) != bool(query.origin):
        raise RequestRefused(
            "the key of a log and its name go together", hint="give both, or none", status=422
        )
    pin = Pin(query.origin, query.key) if query.key else open_pin(call.desk.settings())
    try:
        return audit_export(raw, pin)
    except BadInput as error:
        raise with_status(error, 422) from error


@table.get(
    f"{_PERSONA}/export", bytes, media="application/zip", commands=("export", "ledger export")
)
def export_ledger(call: ApiCall, query: RecordExportQuery) -> FileAnswer:
    """Write one file that an auditor checks without Mentis, with a report to read in it."""
    with _opened(call, readonly=False) as record:
        return exported(record, call.persona, query)


def exported(record: Record, name: str, query: RecordExportQuery) -> FileAnswer:
    """The file for an auditor, of whosever record it is. What is empty in a form was not given."""
    with TemporaryDirectory(prefix="mentis-") as folder:
        file = Path(folder) / "record.zip"
        try:
            rules = make_rules([*filter(None, query.redact)], [*filter(None, query.leave_out)])
            export_record(record, file, with_texts=query.with_texts, rules=rules)
        except UsageError as error:
            raise with_status(error, 422) from error
        return FileAnswer(file.read_bytes(), "application/zip", f"{name}.zip")


@table.get("/auditor", bytes, media="text/x-python", commands=("ledger auditor",))
def show_auditor(_call: ApiCall) -> FileAnswer:
    """Get the auditor's verifier, one Python file, as it is installed here."""
    return FileAnswer(auditor_script(), "text/x-python", "verify.py")


@table.get(f"{_ENTRY}/proof", Proof, commands=("ledger proof",))
def prove_entry(call: ApiCall, query: ProofQuery) -> dict[str, object]:
    """Prove that an entry is in the ledger."""
    with _opened(call) as record:
        with is_there():
            record.entry(call.number("index"))
        return to_object(record.prove(call.number("index"), size=query.size))


@table.get(f"{_PERSONA}/growth", GrowthProof, commands=("ledger proof",))
def prove_growth(call: ApiCall, query: GrowthQuery) -> dict[str, object]:
    """Prove that the ledger only grew since it had so many entries."""
    with _opened(call) as record:
        return to_object(record.prove_growth(query.old, size=query.size))


@table.post("/proofs/check", CheckedProofAnswer, scope="read", commands=("ledger proof",))
def check_proof(call: ApiCall, body: ProofGiven) -> dict[str, object]:
    """Check a proof against the pinned key, or the root that you know."""
    data = json.dumps(body.proof).encode()
    checked = check_proof_at(call.home, data, call.desk.parts.variables, root=body.root or None)
    return checked_proof_data(checked)


@table.get(f"{_PERSONA}/checkpoints", CheckpointsAnswer, commands=("ledger checkpoint",))
def list_checkpoints(call: ApiCall) -> dict[str, object]:
    """List the checkpoints that were made."""
    with _opened(call) as record:
        return checkpoints_data(record)


@table.post(
    f"{_PERSONA}/checkpoints",
    CheckpointAnswer,
    scope="edit",
    commands=("ledger checkpoint", "ledger anchor push"),
)
def make_checkpoint(call: ApiCall) -> dict[str, object]:
    """Sign how long the ledger is and what is in it, and tell every anchor."""
    with _opened(call, readonly=False) as record:
        return checkpoint_data(record.checkpoint())


@table.get(f"{_PERSONA}/anchors", AnchorsAnswer, commands=("ledger anchor list",))
def list_anchors(call: ApiCall) -> dict[str, object]:
    """Show the anchors and how far each one knows the ledger."""
    with _opened(call) as record:
        return anchors_data(record)


@table.post(f"{_PERSONA}/rotate", RotatedAnswer, scope="admin", commands=("ledger rotate",))
def rotate_ledger(call: ApiCall, body: RotationGiven) -> dict[str, object]:
    """Move old entries out of the database into a sealed file that proves itself."""
    if (body.keep is None) == (not body.before):
        raise RequestRefused(
            "what is to go?", hint="give keep or before, and one of them", status=422
        )
    with _opened(call, readonly=False) as record:
        if body.keep is not None:
            index = rotation.index_to_keep(record, body.keep)
        else:
            index = rotation.index_before(record, body.before)
        return rotation_data(rotation.rotate(record, index))


@table.post(f"{_PERSONA}/expire", ExpiredAnswer, scope="admin", commands=("ledger rotate",))
def expire_segments(call: ApiCall) -> dict[str, object]:
    """Delete sealed files that are older than `ledger.keep_segments_days`; an entry says which."""
    with _opened(call, readonly=False) as record:
        return expiry_data(rotation.expire(record))


@table.post(f"{_PERSONA}/repair", RepairAnswer, scope="admin", commands=("ledger repair",))
def repair_record(call: ApiCall) -> dict[str, object]:
    """Say what is wrong, and append an entry that points at it. Nothing is ever rewritten."""
    with _opened(call, readonly=False) as record:
        return repair_data(record.repair())


@table.post(
    f"{_PERSONA}/settle-clock",
    SettledClockAnswer,
    scope="admin",
    commands=("ledger settle-clock",),
)
def settle_the_clock(call: ApiCall, body: SettledClockGiven) -> dict[str, object]:
    """Say that the clock of the server is right after a jump: limits by the day go by it again."""
    with _opened(call, readonly=False) as record:
        return settled_clock_data(settle_clock(record, reason=body.reason))


# Why, and what it cost


@table.get(f"{_PERSONA}/why", WhyAnswer, commands=("why",))
async def explain_last_turn(call: ApiCall, query: StepQuery) -> dict[str, object]:
    """Say what the model was told in the last turn, block by block, and why."""
    agent = await call.agent()
    return await to_thread.run_sync(lambda: explanation_data(agent.why(None, step=query.step)))


@table.get(f"{_ENTRY}/why", WhyAnswer, commands=("why",))
async def explain_turn(call: ApiCall, query: StepQuery) -> dict[str, object]:
    """Say what the model was told in a recorded turn, block by block, and why."""
    agent, index = await call.agent(), call.number("index")
    return await to_thread.run_sync(lambda: explanation_data(agent.why(index, step=query.step)))


@table.get(f"{_ENTRY}/cause", CausePlanAnswer, commands=("why",))
async def plan_cause(call: ApiCall, query: CauseQuery) -> dict[str, object]:
    """Say what finding out what an answer hangs on would ask, and what it may cost."""
    agent, index = await call.agent(), call.number("index")
    plan = partial(agent.plan_cause, index, **_cause_choice(query))
    return plan_data(await to_thread.run_sync(_replayed, plan))


@table.post(f"{_ENTRY}/cause", CauseAnswer, scope="chat", commands=("why",))
async def find_cause(call: ApiCall, body: CauseGiven) -> dict[str, object]:
    """Leave one piece of a turn's prompt out after the other, and rank what its answer hangs on.

    It is a question: nothing is written but the record of calls that cost. Those need `confirm`, or
    a `max_usd` that covers them; without either it is refused with the price (402).
    """
    agent, index = await call.agent(), call.number("index")
    choice = _cause_choice(body)
    limit = None if body.max_usd is None else Decimal(str(body.max_usd))
    plan = await to_thread.run_sync(_replayed, partial(agent.plan_cause, index, **choice))
    try:
        check_consent(plan, confirm=body.confirm, max_usd=limit)
    except UsageError as error:
        raise with_status(error, 402) from error
    found = await agent.cause(index, **choice, confirm=body.confirm, max_usd=limit)
    return causes_data(found)


def _cause_choice(given: CauseQuery | CauseGiven) -> dict[str, Any]:
    return {name: getattr(given, name) for name in ("step", "blocks", "samples", "route")}


@table.get(f"{_ENTRY}/replay", ReplayAnswer, commands=("replay",))
async def replay_turn(call: ApiCall, query: ReplayQuery) -> dict[str, object]:
    """Put a recorded turn together again, and say whether it is the same. Nothing is sent."""
    agent, index = await call.agent(), call.number("index")
    replay = partial(agent.replay, index, step=query.step)
    found = await to_thread.run_sync(_replayed, replay)
    return replay_data(found, explain=query.explain)


def _replayed(work: Callable[[], T]) -> T:
    """What can no more be put together again is no fault of the request."""
    try:
        return work()
    except ReplayError as error:
        raise with_status(error, 409) from error


@table.post(f"{_ENTRY}/fork", ForkAnswer, scope="chat", commands=("fork",))
async def fork_turn(call: ApiCall, body: ForkGiven) -> dict[str, object]:
    """Change blocks of a recorded turn, and see what else changes; with `live` or a script, go on.

    What the answer asks for is never done.
    """
    agent, index = await call.agent(), call.number("index")
    fork = partial(agent.fork, index, body.blocks, step=body.step, force=body.force)
    made = await to_thread.run_sync(_replayed, fork)
    result = None
    if body.live or body.script is not None:
        result = await agent.run_fork(made, live=body.live, script=body.script)
    return fork_data(made.shown, result)


@table.get("/cost", CostAnswer, commands=("cost",))
def show_cost(call: ApiCall, query: HomeCostQuery) -> dict[str, object]:
    """Say what calls to models cost, and why. Nothing is sent."""
    return costs_of(call, query.persona or None, query)


@table.get(f"{_PERSONA}/cost", CostAnswer, commands=("cost",))
def show_persona_cost(call: ApiCall, query: CostQuery) -> dict[str, object]:
    """Say what the calls of one persona cost, and why. Nothing is sent."""
    return costs_of(call, call.persona, query)


def costs_of(call: ApiCall, agent: str | None, query: CostQuery) -> dict[str, object]:
    """Of one agent, or of the whole home."""
    with is_there():
        found = home_costs(
            call.home,
            query.question(),
            persona=agent,
            alone=bool(call.token.agent),
            parts=call.desk.parts,
        )
    return cost_report_data(found)


# Windows


@table.get(
    _WINDOWS,
    listed(EntryAnswer, "WindowPage"),
    commands=("status list", "status latest"),
)
def list_windows(call: ApiCall, query: WindowsQuery) -> ListPage:
    """List entries with their windows, as the origin has them."""
    with _statuses(call) as statuses:

        def read(index: int) -> Entry | None:
            found = next(statuses.entries(start=index), None)
            if found is None or found.index != index:
                return None  # it is in a sealed segment
            return found if not query.windows or statuses.window(found) is not None else None

        count = statuses.stats().total_entries
        return _page(query, count, read, statuses.entry_data)


@table.post(_WINDOWS, WindowAnswer, scope="edit", commands=("status add",))
def add_window(call: ApiCall, body: WindowGiven) -> dict[str, object]:
    """Judge a window, stamp it and record it; one that a rule blocks is kept in quarantine."""
    data = json.dumps(body.draft).encode()
    with _statuses(call, readonly=False) as statuses:
        added = statuses.add(data, source=body.source, delivery=body.delivery or None)
    told = {"line": added.line, "acknowledged": added.receipt.acknowledged}
    return {**told, **to_object(added)}


@table.post(f"{_WINDOWS}/spool", SpooledAnswer, scope="edit", commands=("status write",))
def spool_window(call: ApiCall, body: SpoolGiven) -> dict[str, object]:
    """Spool a draft for the watcher; it is judged when it is consumed."""
    if body.slot and body.delivery:
        raise RequestRefused("the slot has no deliveries", hint="give one of them", status=422)
    data = json.dumps(body.draft).encode()
    with _statuses(call, readonly=False) as statuses:
        path = statuses.write(data, slot=body.slot, delivery=body.delivery or None)
    return {"file": path.name, "delivery": None if body.slot else path.stem}


@table.post(
    f"{_WINDOWS}/check",
    JudgedAnswer,
    scope="read",
    commands=("status check", "guardian check"),
)
def check_window(call: ApiCall, body: JudgeGiven) -> dict[str, object]:
    """Judge a draft, or a whole answer of a model, as if it were added now. Nothing is written."""
    if (body.draft is None) == (not body.response):
        raise RequestRefused("give a draft or a response", hint="one of them", status=422)
    data = json.dumps(body.draft).encode() if body.draft is not None else body.response.encode()
    profile = activate(_profile(call, body.profile)) if body.profile else None
    with _statuses(call) as statuses:
        judged = statuses.check(data, response=bool(body.response), profile=profile)
    return {"blocked": judged.blocked, **to_object(judged)}


@table.get(f"{_WINDOWS}/context", ContextAnswer, commands=("status context",))
def show_window_context(call: ApiCall) -> dict[str, object]:
    """Show what every window should carry."""
    with _statuses(call) as statuses:
        return {
            "persistent_context": statuses.context("persistent_context"),
            "project_awareness": statuses.context("project_awareness"),
        }


@table.get(f"{_WINDOWS}/export", bytes, media="application/json", commands=("status export",))
def export_windows(call: ApiCall) -> FileAnswer:
    """Write every window as a history file of the origin."""
    with _statuses(call) as statuses:
        data, _ = statuses.export_history()
    return FileAnswer(data, "application/json", "status_window_history.json")


@table.post(
    f"{_WINDOWS}/import",
    ImportedHistory,
    scope="edit",
    takes="application/json",
    commands=("status import",),
)
def import_windows(call: ApiCall, query: HistoryQuery, raw: bytes) -> dict[str, object]:
    """Take over a history file of the origin; every entry is verified first."""
    with _statuses(call, readonly=False) as statuses:
        try:
            return to_object(statuses.import_history(raw, legacy=query.legacy))
        except (NotCanonical, HistoryBroken) as error:
            raise with_status(error, 422) from error


@table.get(f"{_PERSONA}/stats", Stats, commands=("status stats",))
def show_stats(call: ApiCall) -> dict[str, object]:
    """Count the entries by source and kind."""
    with _statuses(call) as statuses:
        return to_object(statuses.stats())


@table.get(f"{_PERSONA}/health", HealthAnswer, commands=("status health",))
def show_health(call: ApiCall) -> dict[str, object]:
    """Say which ways into the record are open, what keeps failing, and what the next window is."""
    with _statuses(call, readonly=False) as statuses:
        found = read_health(statuses, call.home, call.persona, call.desk.parts.variables)
    return health_data(found)


# The guardian


@table.get("/guardian/rules", RulesAnswer, commands=("guardian rules",))
def list_rules(call: ApiCall, query: ProfileQuery) -> dict[str, object]:
    """List every rule for windows with what the profile does about it."""
    chosen = _profile(call, query.profile)
    return {"profile": query.profile, "rules": [rule_data(rule, chosen) for rule in RULES]}


@table.get("/guardian/rules/{rule}", RuleAnswer, commands=("guardian explain",))
def explain_rule(call: ApiCall) -> JsonObject:
    """Say what a rule wants, why, what passes and what breaks it, and what each profile does."""
    with is_there():
        return rule_explanation(find_rule(call.path["rule"]))


@table.post("/guardian/prove", ProfileProofAnswer, scope="read", commands=("guardian prove",))
def prove_profile(call: ApiCall, body: ProfileQuery) -> dict[str, object]:
    """Search for a window of every type in every situation that the profile lets pass."""
    return proof_data(prove(_profile(call, body.profile)))


def _profile(call: ApiCall, name: str) -> GuardianProfile:
    with fits():
        return SHIPPED[name] if name in SHIPPED else look_up_profile(call.home, name)
