"""Answers about the record, acts, a living agent and a home that are not one value alone."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from mentis.app.home_checks import HealthCheck
from mentis.app.home_health import FailedUpdate
from mentis.ask.route_check import RouteCheck
from mentis.ledger.origin import OriginPlace
from mentis.record.act_stories import ActStory
from mentis.tick.cortex import TickResult
from mentis.tick.health import Alarm
from mentis.tools.acts import InFlight
from mentis.tools.toolbox import ActRow, ToolRow
from mentis.turn.replay.fork import PromptCost, PromptDifference
from mentis.turn.replay.replay import FirstDifference
from mentis.values.act import WaitingAct
from mentis.values.action import Action, Outcome
from mentis.values.caching import Forecast
from mentis.values.checkpoint import GrowthProof, Proof
from mentis.values.entry import Entry, Verdict
from mentis.values.guardian import Judgement
from mentis.values.health import Health
from mentis.values.learned import LearnedFact
from mentis.values.rendering import CachePlan, Loss
from mentis.values.reply import Reply
from mentis.values.residency import Placement
from mentis.values.selection import Candidate
from mentis.values.source_map import SourceRange
from mentis.values.status import BackendState, WindowResult
from mentis.values.trace import BlockTrace, Degradation

from .shapes import EntryPlace, JsonObject, StepAnswer, TurnAnswer, also

# Acts and tools


class PendingAnswer(TypedDict):
    """Acts that wait for a yes; what nobody decided in time is apart."""

    agent: str
    pending: list[WaitingAct]
    expired: list[WaitingAct]
    faults: list[JsonObject]


class ActLogAnswer(TypedDict):
    """Acts as the ledger tells of them, and those that are being done."""

    acts: list[ActStory]
    open: list[InFlight]
    faults: list[JsonObject]


class ApprovedAnswer(TypedDict):
    """What came of a yes; `turn` where the turn was to go on."""

    approved: str
    outcome: Outcome | None
    faults: NotRequired[list[str]]
    turn: NotRequired[TurnAnswer | None]


class DecidedAnswer(TypedDict):
    """The act that was denied, or whose result was released."""

    denied: NotRequired[str]
    released: NotRequired[str]
    turn: NotRequired[TurnAnswer | None]


class ResultAnswer(TypedDict):
    """What an act answered; somebody else wrote it."""

    result: str


class RemovedAnswer(TypedDict):
    """The name of what is gone."""

    removed: str


class ToolCheckAnswer(TypedDict):
    """How every tool stands once it was asked."""

    ready: bool
    tools: list[ToolRow]
    acts: list[ActRow]


# The record

EntryAnswer = also(
    Entry,
    "EntryAnswer",
    status_window=JsonObject | None,
    origin=OriginPlace | None,
)
WindowAnswer = also(WindowResult, "WindowAnswer", line=str, acknowledged=bool)
JudgedAnswer = also(Judgement, "JudgedAnswer", blocked=bool)
HealthAnswer = also(
    Health,
    "HealthAnswer",
    state=BackendState,
    alarms=list[Alarm],
    failed_updates=list[FailedUpdate],
    checks=list[HealthCheck],
)


class VerdictsAnswer(TypedDict):
    """Whether the record holds."""

    intact: bool
    chains: list[Verdict]


class AuditFinding(TypedDict):
    """What does not hold of an export, and of which of its entries."""

    index: int
    column: str
    message: str


class AuditAnswer(TypedDict):
    """The verdict on an export: ok, BROKEN, UNSIGNED or UNPINNED. Only `ok` can be relied on."""

    verdict: str
    agent: str
    log: str
    entries: int
    dropped: int
    head: str | None
    root: str
    intact: bool
    pinned: bool
    signed: int | None
    vouched: int
    denied: int
    given: bool
    uncounted: list[str]
    erased: list[JsonObject]
    withheld: list[JsonObject]
    texts: JsonObject | None
    notes: list[str]
    findings: list[AuditFinding]
    more: int


class CheckpointAnswer(TypedDict):
    """A signed note, and the anchors that have it; `told` is the older name of `anchors`."""

    note: str
    size: int
    anchors: list[str]
    told: list[str]
    faults: list[str]


class CheckpointRow(TypedDict):
    """A checkpoint that was made."""

    size: int
    note: str


class CheckpointsAnswer(TypedDict):
    """Every checkpoint that was made."""

    agent: str
    checkpoints: list[CheckpointRow]


class AnchorRow(TypedDict):
    """An anchor, and the size of the newest checkpoint that it knows."""

    name: str
    size: int | None
    fault: str


class AnchorsAnswer(TypedDict):
    """How far each anchor knows the ledger."""

    entries: int
    anchors: list[AnchorRow]


class CheckedProofAnswer(TypedDict):
    """Whether a proof leads to its root, and whether that is signed or known."""

    kind: str
    holds: bool
    signed: bool | None
    changed: bool
    known: bool | None
    good: bool
    proof: Proof | GrowthProof


class EmptiedTurns(TypedDict):
    """Turns whose words are gone."""

    session: str
    turns: list[int]


class ErasedAnswer(TypedDict):
    """What went, what stays, where it may still be, and the entry that says so."""

    index: int
    fields: list[str]
    remains: list[str]
    left: list[str]
    emptied: NotRequired[EmptiedTurns]
    tombstone: EntryPlace


class RotatedAnswer(TypedDict):
    """Entries that are in a sealed file now."""

    file: str
    first: int
    last: int
    dropped: int


class ExpiredAnswer(TypedDict):
    """Sealed files that are gone, and the entry that says so."""

    deleted: list[str]
    entry: int | None


class RepairAnswer(TypedDict):
    """What is wrong, and the entry that points at it."""

    entry: int | None
    database: list[str]
    taken: list[str]
    refusal: str
    verdict: Verdict


class ClockJumpRow(TypedDict):
    """A jump, and the first entry after it."""

    seconds: float
    shown: str
    entry: int | None


class SettledClockAnswer(TypedDict):
    """The entry that says that the clock is right, and the jumps before it."""

    entry: int
    jumps: list[ClockJumpRow]


class SpooledAnswer(TypedDict):
    """A draft that waits for the watcher."""

    file: str
    delivery: str | None


class ContextAnswer(TypedDict):
    """What every window should carry."""

    persistent_context: JsonObject
    project_awareness: JsonObject


class RuleRow(TypedDict):
    """A rule for windows, and what a profile does about it."""

    number: str
    id: str
    level: str | None
    settled: list[str]
    stage: str
    kind: str
    what: str
    why: str
    hint: str


class RulesAnswer(TypedDict):
    """Every rule."""

    profile: str
    rules: list[RuleRow]


class RuleAnswer(RuleRow):
    """A rule with what passes and what breaks it."""

    levels: dict[str, str]
    passes: JsonObject | None
    breaks: JsonObject | None
    prompt: str | None


class ProofConflict(TypedDict):
    """Rules that cannot hold together."""

    name: str | None
    rules: list[str]
    situation: str
    type: str
    cells: int


class ProofWitness(TypedDict):
    """A window that a profile lets pass; null where there is none."""

    situation: str
    type: str
    window: JsonObject | None


class ProfileProofAnswer(TypedDict):
    """Whether there is a window for every situation."""

    profile: str
    digest: str
    cells: int
    satisfied: int
    points: int
    evaluated: int
    conflicts: list[ProofConflict]
    witnesses: list[ProofWitness]


# Why, and what it cost


class CostSum(TypedDict):
    """Tokens and money of calls; `usd` is a decimal number as text, null where it is not known."""

    calls: int
    input: int
    cached: int
    written: int
    output: int
    reasoning: int
    usd: str | None
    unpriced: int
    free: int
    planned: int


class CostGroupAnswer(CostSum):
    """The sum of one day, session, route, model or block."""

    name: str
    agent: NotRequired[str]


class LossAnswer(TypedDict):
    """What the cache lost, from which byte on, and why."""

    cause: str
    step: int
    where: str
    pointer: str
    byte: int | None
    exact: bool
    tokens: int
    usd: str | None
    reason: str


class CallCostAnswer(TypedDict):
    """One call of a turn."""

    route: str
    model: str
    step: int
    number: int
    stage: str
    planned: bool
    input: int
    cached: int
    written: int
    output: int
    reasoning: int
    usd: str | None
    price: str
    expected: int | None
    counted: int | None


class TurnCostAnswer(TypedDict):
    """A turn, and what it cost with those that it asked for."""

    agent: str
    entry: int
    time: str | None
    session: str
    kind: str
    elsewhere: bool
    cost: CostSum
    whole: CostSum
    calls: list[CallCostAnswer]
    inner: list[JsonObject]
    loss: LossAnswer | None
    fix: str


class CostAnswer(TypedDict):
    """What calls to models cost."""

    agents: list[str]
    by: str
    total: CostSum
    groups: list[CostGroupAnswer]
    turns: list[TurnCostAnswer]
    notes: list[str]
    partial: bool


class PieceAnswer(TypedDict):
    """A piece of a prompt, with its share of the price."""

    name: str
    pointer: str
    trust: str
    tokens: int
    cached: int
    written: int
    usd: str | None


class OmittedAnswer(TypedDict):
    """Something that was left out, and why."""

    kind: str
    name: str
    reason: str
    tokens: int


class WhyAnswer(TurnCostAnswer):
    """What the model was told in one step of a turn, piece by piece."""

    step: int
    steps: int
    call: CallCostAnswer | None
    rebuilt: bool
    identical: bool
    pieces: list[PieceAnswer]
    answer_usd: str | None
    omitted: list[OmittedAnswer]
    before: list[Any] | None
    changed: LossAnswer | None
    notes: list[str]


class ExplanationAnswer(TypedDict):
    """Decisions behind a prompt."""

    placements: list[Placement]
    candidates: list[Candidate]
    embedding_calls: int
    filtered: int
    degraded: list[Degradation]


class ReplayAnswer(TypedDict):
    """Whether a recorded turn is put together again to the byte."""

    entry: int
    step: int
    session: str
    route: str
    model: str
    identical: bool
    request: bool
    payload: bool
    digest: str
    bytes: int
    apart: FirstDifference | None
    notes: list[str]
    blocks: NotRequired[list[BlockTrace]]
    explained: NotRequired[ExplanationAnswer]


class ForkedTurn(TypedDict):
    """The answer to a forked turn; what it asked for was not done."""

    text: str
    stop: str
    session: str
    not_done: list[Action]
    entry: EntryPlace


class AnswerPrice(TypedDict):
    """The most that an answer may come to; `usd` is null where no price is known."""

    tokens: int
    usd: float | None
    rate: str


class UnitAnswer(TypedDict):
    """A piece of a prompt that can be left out alone; `section` is where blame shows it."""

    name: str
    kind: str
    trust: str
    section: int
    size: int


class CausePlanAnswer(TypedDict):
    """What would be asked to find what an answer hangs on, and the most that it costs."""

    agent: str
    entry: int
    step: int
    method: str
    route: str
    model: str
    units: list[UnitAnswer]
    skipped: list[UnitAnswer]
    calls: int
    most: dict[str, int]
    most_usd: str | None
    free: bool
    price: str
    notes: list[str]


class TokenFallAnswer(TypedDict):
    """A token of the answer, and by how much its own log-probability fell."""

    token: str
    fall: float


class UnitCauseAnswer(UnitAnswer):
    """What was measured without a piece, and how much less that is."""

    value: float
    fall: float
    tokens: list[TokenFallAnswer]


class CauseAnswer(CausePlanAnswer):
    """What an answer hangs on: the pieces of its prompt by how much it loses without them."""

    answer: str
    value: float
    answer_tokens: int
    spread: float
    causes: list[UnitCauseAnswer]
    prefilled: int
    reused: int
    usage: dict[str, int]
    usd: str | None


class ForkAnswer(TypedDict):
    """What a changed block changes, and what came of it."""

    before: ReplayAnswer
    blocks: dict[str, str]
    differences: list[PromptDifference]
    was: PromptCost
    now: PromptCost
    forecast: Forecast
    notes: list[str]
    digest: str
    most: AnswerPrice
    answer: ForkedTurn | None


class TrialEffectAnswer(TypedDict):
    """A prompt on one route as it is and with another wording of a block, before and after.

    `kept` of the planned tokens may still be found in a cache, and `bytes` of the body; `again` are
    those that the next turn reads anew, for `again_usd` more.
    """

    persona: str
    route: str
    model: str
    wording: str
    changed: bool
    reason: str
    tokens: list[int]
    exact: bool
    usd: list[float | None]
    rate: str
    bytes: list[int]
    kept: list[int]
    cached: bool
    pointer: str
    where: str
    again: int
    again_usd: float | None
    differences: list[PromptDifference]
    prompt: str
    shared: int


class TrialAnswer(TypedDict):
    """What an edit would do on each route; `entry` is the turn whose prompt was told anew."""

    entry: int | None
    effects: list[TrialEffectAnswer]


class RenderingAnswer(TypedDict):
    """The payload that would be sent, where each byte comes from, and what the cache is worth."""

    wire: str
    digest: str
    payload: JsonObject
    cache_plan: CachePlan
    forecast: Forecast
    name_map: dict[str, str]
    losses: list[Loss]
    source_map: list[SourceRange]


class NormalisedAnswer(TypedDict):
    """A recorded answer in one form."""

    reply: Reply
    actions: list[JsonObject]


# A living agent

TickAnswer = also(TickResult, "TickAnswer", entry=int | None)


class SenseRow(TypedDict):
    """Something that waits to be sensed."""

    name: str
    content: str


class WaitingSense(TypedDict):
    """The name of what is queued now; `waiting` is its older name."""

    queued: str
    waiting: str


class DroppedAnswer(TypedDict):
    """The id of what was thrown away."""

    dropped: str


class BeatAnswer(TypedDict):
    """A moment of its own; or when the next is due, where it was not yet."""

    due: NotRequired[str]
    kind: NotRequired[str]
    text: NotRequired[str]
    stop: NotRequired[str]
    stop_reason: NotRequired[str]
    steps: NotRequired[list[StepAnswer]]
    outcomes: NotRequired[list[Outcome]]
    entry: NotRequired[int]


class DeliveredAnswer(TypedDict):
    """What came of an act, as somebody was told it."""

    key: str
    session: str
    text: str
    messages: list[str]
    entry: int


# A home


class VersionAnswer(TypedDict):
    """What answers."""

    mentis: str
    python: str


class SettingAnswer(TypedDict):
    """A setting, and where its value comes from."""

    key: str
    value: Any
    origin: str


class SettingNoticeAnswer(TypedDict):
    """A key that is set and has no effect any more: what counts instead, and why."""

    key: str
    origin: str
    constant: Any
    reason: str


class SettingChangeAnswer(TypedDict):
    """What the file said and says now; `overridden_by` is a variable that counts instead."""

    key: str
    before: Any
    after: Any
    overridden_by: str


class RoutesAnswer(TypedDict):
    """Whether every route is ready."""

    ready: bool
    routes: list[RouteCheck]


class RouteAnswer(TypedDict):
    """A route that was written."""

    route: str
    backend: str
    url: str
    model: str


class LearnedAnswer(TypedDict):
    """What providers have taught by refusing it."""

    learned: list[LearnedFact]
    forgotten: bool


class TokenAnswer(TypedDict):
    """A token without its secret."""

    name: str
    scope: str
    person: str
    trust: str
    agent: str
    session: str
    created: str


class NewTokenAnswer(TypedDict):
    """A token, shown this once."""

    name: str
    token: str
    scope: str
    person: str


class RevokedAnswer(TypedDict):
    """A token that counts no more."""

    name: str
    revoked: bool


class SkillRow(TypedDict):
    """A skill; one that is off has only its file."""

    name: str | None
    state: str
    source: str
    description: NotRequired[str]
    stances: NotRequired[list[str]]


class SkillsAnswer(TypedDict):
    """Skills, and what is wrong with their files."""

    skills: list[SkillRow]
    problems: list[str]


class RecordedRow(TypedDict):
    """An agent of another program, and how many entries it has."""

    name: str
    entries: int
