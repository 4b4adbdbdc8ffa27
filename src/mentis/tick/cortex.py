"""The tick of an agent in its home: what it senses is gathered, the tick runs, its state is saved,
its acts are done, and all of it is recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from anyio import CancelScope, to_thread

from mentis.act.builtin.rest import SLEEP
from mentis.act.dispatch import DispatchHooks
from mentis.act.seen import Told, seen_of
from mentis.act.senses import sense_of
from mentis.ask.reservation import release_after
from mentis.codec.forms import to_object
from mentis.errors import LeaseHeld, MentisError, StoreLocked
from mentis.home.redaction import known_keys
from mentis.ports.state_store import StateStore
from mentis.prompts.cognition import load_state
from mentis.record.agent_record import AgentRecord
from mentis.record.clock_entries import note_jump
from mentis.record.leases import entered
from mentis.record.tick_entries import taken_deliveries, ticks_of
from mentis.record.tick_senses import senses_left
from mentis.recovery.ticks import SESSION, close_cut_off, note_tick, words_of
from mentis.telemetry import names
from mentis.telemetry.spans import AgentScope, LiveSpan, agent_span, entry_attributes
from mentis.turn.agent_parts import AgentParts
from mentis.turn.deliveries import pending_outcomes
from mentis.turn.lock import named_lock
from mentis.turn.news_lock import claim_news
from mentis.turn.snapshot import TurnSnapshot
from mentis.turn.turn import run_shielded
from mentis.turn.window import PART
from mentis.values.action import Action, Outcome
from mentis.values.cognition import REVIEW, CognitionState, Sense, root_partition
from mentis.values.entry import Entry
from mentis.values.mark import Mark
from mentis.values.route import Route
from mentis.values.tick import ActDraft, Catalogue, DroppedElement, Tick, TickReport
from mentis.values.trace import Degradation
from mentis.values.trust import Trust, least_trusted
from mentis.values.value import Value

from .asking import TickAsker
from .cache import HelperCache
from .catalogue import LiveCatalogue
from .conclude import dropped_senses
from .deadline import Shares
from .ending import FinishedTick, record_tick, without_sense
from .events import Emit, TickEvent, emit_to_all, on_span, silent
from .failing import StageFailures, hint_for
from .health import NO_STREAKS, Alarm, Streaks, streaks_in
from .lineage import shown_texts
from .run import TickLimits
from .think import CUT, UNHEARD
from .tick import tick
from .wire_up import StageBuilder

T = TypeVar("T")
_MOST_NEWS = 8  # outcomes from outside of a tick that one tick is told of


@dataclass(frozen=True, slots=True)
class TickResult(Value):
    """What came of one tick of an agent. `state` is the one that counts now: where saving it was
    refused (`unsaved` says why), that is still the old one. `senses` are those of the next tick;
    they are kept, and need not be given again. `entry` is None for a tick that did nothing.
    `carried` is what it was told of what it was not given.
    """

    tick: Tick
    state: CognitionState
    outcomes: tuple[Outcome, ...] = ()
    senses: tuple[Sense, ...] = ()
    entry: Entry | None = None
    alarms: tuple[Alarm, ...] = ()
    unsaved: str = ""
    carried: tuple[Sense, ...] = ()


def tick_data(done: TickResult) -> dict[str, object]:
    """What came of a tick as JSON: the same for every surface."""
    return {**to_object(done), "entry": None if done.entry is None else done.entry.index}


class Cortex:
    """Thinks for one agent. What it keeps between ticks is only to be quicker: the texts that
    helpers made, and the catalogue.
    """

    def __init__(self, parts: AgentParts, states: StateStore, environ: Mapping[str, str]) -> None:
        self._parts = parts
        self._states = states
        self._environ = environ
        self._blobs = parts.acting.blobs
        self._failing = StageFailures(parts.who.home, parts.who.persona.id)
        self.catalogue = LiveCatalogue(parts.acting.registry)
        most = parts.sources.settings.current()[0].model.cortex.cached_texts
        self.cache = HelperCache(parts.who.secret, most=most)

    async def run(
        self,
        senses: Sequence[Sense],
        *,
        emit: Emit = silent,
        strict: bool | None = None,
        taken: Sequence[str] = (),
        only: Collection[str] | None = None,
        reading: CancelScope | None = None,
    ) -> TickResult:
        """One tick, from its senses to its entry; StoreLocked while another one goes on. What is
        cancelled is recorded as far as it came. `taken` are deliveries that the entry says were
        taken; of what was carried over it is told `only` the senses with these ids, if any are
        named; whoever cancels `reading` ends it, and is still told what came of it.
        """
        scope = reading or CancelScope()
        async with entered(self._alone()) as record:
            with self._invoked(len(senses)) as span:
                listening = emit_to_all(emit, on_span(span, secrets=self.secrets()))
                await self._parts.acting.begin()
                known = frozenset(await run_shielded(partial(self._begin, record)))
                fresh = tuple([one for one in senses if one.id not in known])
                rest = tuple([one for one in taken if one not in known])
                run = partial(
                    self._run, fresh, record, emit=listening, strict=strict, taken=rest, only=only
                )
                find, claims = partial(self._news, only), self._parts.claims
                untold = await to_thread.run_sync(find)
                async with claim_news(self._parts.who, claims, untold, find) as news:
                    result = await run(news=news, reading=scope)
                    return _tell_end(span, result)

    def _invoked(self, senses: int) -> AbstractContextManager[LiveSpan]:
        who, (settings, _) = self._parts.who, self._parts.sources.settings.current()
        content = settings.model.telemetry.content
        scope = AgentScope(who.agent, who.persona.name or who.persona.id, SESSION, content)
        about = {names.MODE: names.TICK, names.SENSES: senses}
        return agent_span(scope, self._parts.models.route, about)

    def _alone(self) -> AbstractContextManager[AgentRecord]:
        name = self._parts.who.persona.id
        return named_lock(
            self._parts.record,
            self._parts.who,
            "tick",
            taken=f"a tick of {name} is going on already, by",
            hint="wait until it is over: there is one at a time",
        )

    async def backlog(self) -> Backlog:
        """What there is to think about without a new sense. What was approved is done first."""
        await self._parts.acting.begin()
        return await to_thread.run_sync(self._waiting)

    def taken_deliveries(self) -> tuple[str, ...]:
        """The deliveries that were taken lately, so that they are not taken again: also those of a
        tick that was cut off, unless somebody ticks just now and sees to it.
        """
        with suppress(StoreLocked, LeaseHeld), self._alone() as record:
            self._close(record)
        return taken_deliveries(self._parts.record)

    def _begin(self, record: AgentRecord) -> tuple[str, ...]:
        note_jump(record)
        return self._close(record)

    def _close(self, record: AgentRecord) -> tuple[str, ...]:
        who, news = self._parts.who, self._parts.acting.news
        return close_cut_off(record, who, self._blobs, self._states, news=news)

    def _waiting(self) -> Backlog:
        parts = self._parts
        settings = parts.sources.settings.current()[0]
        drives = root_partition(settings.model.cortex.drives)
        state = load_state(self._states, parts.who.agent, drives)
        goals = state.goals.user.children
        open_goals = [one for one in goals if not (settings.holds_back and one.review)]
        news = pending_outcomes(parts.record, parts.acting, parts.sources.settings)
        left = senses_left(parts.record, parts.who, self._blobs)
        # What somebody else is told just now is nothing to think about until that is over.
        news = replace(news, told=parts.claims.unclaimed(parts.who, news.told))
        return Backlog(
            left=len(left),
            news=len(news.told),
            goals=len(open_goals),
            drives=len(drives.texts),
            owed=len(news.owed),
            carried=tuple([one.id for one in (*left, *map(sense_of, news.told))]),
        )

    @contextmanager
    def withdraw_sense(
        self, name: str
    ) -> Generator[tuple[AgentRecord, tuple[Sense, ...], tuple[Mark, ...]]]:
        """What was carried over under this id, with the marks by which no tick is told of it any
        more and the record to write them to, while nobody ticks; StoreLocked if somebody does. It
        blocks.
        """
        parts = self._parts
        with self._alone() as record:
            found, marks = without_sense(record, parts.who, self._blobs, name, acting=parts.acting)
            yield record, found, marks

    async def _run(
        self,
        given: tuple[Sense, ...],
        record: AgentRecord,
        *,
        emit: Emit,
        strict: bool | None,
        taken: tuple[str, ...],
        only: Collection[str] | None,
        news: tuple[Outcome, ...],
        reading: CancelScope,
    ) -> TickResult:
        parts = self._parts
        present = await to_thread.run_sync(parts.look)
        asking = TickAsker(parts.who, record, parts.models, present)
        desk = StageBuilder(parts.who, parts.models, present.settings, asking, self.cache)
        gather = partial(self._gather, given, news, desk, emit, only=only)
        moment = await to_thread.run_sync(gather)
        limits = self._limits(present, desk, strict=strict)
        over = TickProgress(Tick((), moment.state, TickReport(noop=CUT)))
        try:
            with reading:
                thought = await tick(
                    moment.senses,
                    moment.catalogue,
                    moment.state,
                    stages=desk.stages(),
                    limits=limits,
                    emit=emit,
                )
                report = replace(thought.report, passed=tuple(asking.passed))
                senses = (*moment.held, *thought.senses)
                thought = replace(thought, report=report, senses=senses)
                await self._do(thought, over, moment, asking, emit=emit, taken=taken)
        finally:
            done = _done(moment, over, asking)
            done = replace(done, taken=() if done.again else taken)
            keep = partial(record_tick, record, parts.who, self._blobs, done)
            keep = partial(keep, registry=parts.acting.registry)
            entry = await run_shielded(partial(release_after, asking.reserve, keep))
        ended = partial(self._failing_after, over.thought, moment, recorded=entry is not None)
        unrecorded = await to_thread.run_sync(partial(ended, emit, nothing_told=not given))
        alarms = await to_thread.run_sync(self._alarms, present, emit, unrecorded)
        kept = moment.state if over.unsaved else over.thought.state
        return TickResult(
            over.thought,
            kept,
            done.outcomes,
            done.senses,
            entry,
            alarms,
            over.unsaved,
            moment.carried,
        )

    async def _do(
        self,
        thought: Tick,
        over: TickProgress,
        moment: TickInputs,
        asking: TickAsker,
        *,
        emit: Emit,
        taken: tuple[str, ...],
    ) -> None:
        """Save the state and do the acts; that this is to be done is written down before."""
        thought = _until_sleep(thought)
        before = moment.state.revision
        if thought.acts or thought.state.revision != before:
            write = partial(note_tick, asking.record, self._parts.who, thought)
            calls = [call.entry_fields() for call in asking.calls]
            write = partial(write, before=before, taken=taken, calls=calls)
            words = words_of(await run_shielded(partial(write, told=moment.news)))
            over.unsaved = await self._save(moment.state, thought, emit, words=words)
        over.thought = thought
        if thought.acts:
            told = shown_texts(moment.senses, moment.catalogue, moment.state, thought.reworded)
            await self._act(thought.acts, told, asking, over.outcomes)

    def _news(self, only: Collection[str] | None) -> tuple[Outcome, ...]:
        parts = self._parts
        told = pending_outcomes(parts.record, parts.acting, parts.sources.settings).told
        news = [one for one in told if only is None or sense_of(one).id in only]
        return tuple(news[:_MOST_NEWS])

    def _gather(
        self,
        given: tuple[Sense, ...],
        news: tuple[Outcome, ...],
        desk: StageBuilder,
        emit: Emit,
        *,
        only: Collection[str] | None = None,
    ) -> TickInputs:
        """What there is to think about: what is left over, what came of acts, what is given."""
        parts = self._parts
        left = senses_left(parts.record, parts.who, self._blobs)
        own = [one for one in left if only is None or one.id in only]
        held = tuple([one for one in left if only is not None and one.id not in only])
        told = [replace(sense_of(one), trust=Trust.UNTRUSTED) for one in news]
        carried = (*own, *told)
        window = desk.asking.present.window
        verdict = () if window is None else window.sensed
        senses, refused = self.catalogue.take((*carried, *verdict, *given))
        for one in refused:
            emit(TickEvent("stage_failed", facts={"stage": "catalogue", "reason": one}))
        drives = root_partition(desk.settings.model.cortex.drives)
        state = load_state(self._states, parts.who.agent, drives)
        keys = tuple([one.key for one in news])
        known = self._offered(desk.routes()[0])
        library = desk.asking.present.library.revision
        return TickInputs(senses, known, state, left, held, carried, keys, library)

    def _offered(self, route: Route) -> Catalogue:
        """What this route's model is told of: a small one not of the acts every agent has."""
        known, acting = self.catalogue.current(), self._parts.acting
        told = {one.name for one in acting.offered_tools_in_tick(route)}
        hidden = {one.key for one in acting.registry.descriptors() if one.name not in told}
        if not hidden:
            return known
        entries = [one for one in known.entries if one.key not in hidden]
        return replace(known, entries=tuple(entries))

    def _limits(
        self, present: TurnSnapshot, desk: StageBuilder, *, strict: bool | None
    ) -> TickLimits:
        chosen = present.settings.model.cortex
        return TickLimits(
            seconds=chosen.seconds,
            shares=Shares(chosen.input_share, chosen.primary_share),
            strict=chosen.strict if strict is None else strict,
            rules=self._parts.acting.rules(present.settings.model.acts),
            patches=chosen.patch_limits(),
            expand=desk.expand(),
            holds_back=present.settings.holds_back,
        )

    async def _save(self, before: CognitionState, thought: Tick, emit: Emit, *, words: str) -> str:
        """Keep the new state; why it could not be, if somebody else was first or the disk failed.
        The tick goes on: the old state stays, and its acts were decided all the same.
        """
        if thought.state.revision == before.revision:
            return ""
        reports = (*thought.report.goal_ops, *thought.report.memory_ops)
        review = REVIEW if any(one.applied and one.op.review for one in reports) else ""
        save = partial(
            self._states.save,
            self._parts.who.agent,
            thought.state,
            expected=before.revision,
            words=f"{words}{review}",
        )
        try:
            await run_shielded(save)
        except MentisError as error:
            facts = {"code": error.code, "reason": error.message, "revision": before.revision}
            emit(TickEvent("state_save_refused", facts=facts))
            return f"{error.code}: {error.message}"
        return ""

    async def _act(
        self,
        acts: Sequence[ActDraft],
        told: Iterable[Told],
        asking: TickAsker,
        outcomes: list[Outcome],
    ) -> None:
        acting = self._parts.acting
        gate = await acting.gate(acting.rules(asking.present.settings.model.acts))
        actions = [Action(one.name, one.payload, "output_ir") for one in acts]
        act = partial(acting.dispatch, mode="beat", session=SESSION, outcomes=outcomes)
        act = partial(
            act, places=[one.endpoint for one in acts], hooks=DispatchHooks(asking.record.lease)
        )
        await act(actions, gate=gate, see=partial(seen_of, told))

    def _failing_after(
        self, thought: Tick, moment: TickInputs, emit: Emit, *, recorded: bool, nothing_told: bool
    ) -> Streaks:
        """What has failed in ticks that no entry tells of, with this one."""
        nothing_told = nothing_told and not moment.carried
        ticks = ticks_of(self._parts.record)
        hint = hint_for(thought.report, moment.state, ticks) if nothing_told else ""
        try:
            return self._failing.after(thought.report.stages, recorded=recorded, hint=hint)
        except MentisError as error:
            emit(TickEvent("stage_failed", facts={"stage": "health", "reason": error.message}))
            return NO_STREAKS

    def _alarms(self, present: TurnSnapshot, emit: Emit, unrecorded: Streaks) -> tuple[Alarm, ...]:
        streaks = streaks_in(ticks_of(self._parts.record)).plus(unrecorded)
        alarms = streaks.alarms(present.settings.model.cortex.alarm_failures)
        for one in alarms:
            facts = {"stage": one.stage, "failures": one.failures, "reason": one.reason}
            facts |= {"hint": one.hint} if one.hint else {}
            emit(TickEvent("helper_alarm", facts=facts))
        return alarms

    def secrets(self) -> tuple[str, ...]:
        """Keys that the settings name, as far as they are in the environment."""
        settings, _ = self._parts.sources.settings.current()
        return tuple(known_keys(settings, self._environ).values())


def _tell_end(span: LiveSpan, result: TickResult) -> TickResult:
    report = result.tick.report
    span.tell({names.ACTS: len(result.tick.acts), names.NOOP: report.noop})
    span.tell({names.REVISION: result.state.revision})
    if result.entry is not None:
        span.tell(entry_attributes(result.entry))
    for stage in report.stages:
        if stage.stage == "primary" and stage.state in ("failed", "timeout"):
            span.fail(stage.state, stage.reason)
    return result


@dataclass(frozen=True, slots=True)
class Backlog(Value):
    """What an agent has to think about by itself: senses that a tick left, outcomes of acts that
    nobody told it of, goals, drives. `owed` are outcomes to be told to whoever asked, not to a
    tick; `carried` are the ids of those senses and outcomes.
    """

    left: int = 0
    news: int = 0
    goals: int = 0
    drives: int = 0
    owed: int = 0
    carried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TickInputs(Value):
    """What one tick is given. `left` are the senses that an earlier one left; those of them that
    are `held` back go on to the next one, and `carried` are the others, with what came of acts.
    `news` are the keys of the acts of which it is told for the first time.
    """

    senses: tuple[Sense, ...]
    catalogue: Catalogue
    state: CognitionState
    left: tuple[Sense, ...]
    held: tuple[Sense, ...]
    carried: tuple[Sense, ...]
    news: tuple[str, ...]
    library: str


@dataclass(slots=True)
class TickProgress:
    """How far a tick came, wherever it ends."""

    thought: Tick
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    unsaved: str = ""


def _done(moment: TickInputs, over: TickProgress, asking: TickAsker) -> FinishedTick:
    """A primary that did not answer has not been told anything: what was left is left again."""
    thought, outcomes = over.thought, over.outcomes
    heard = thought.report.noop not in UNHEARD
    late = () if outcomes else _blocked(thought.acts, 0, "the tick ended before it was begun")
    undone = dropped_senses(late, thought.state.revision)
    return FinishedTick(
        tick=thought,
        given=moment.senses,
        before=moment.state.revision,
        saved=not over.unsaved,
        library=moment.library,
        calls=tuple(asking.calls),
        outcomes=tuple(outcomes),
        senses=(*thought.senses, *undone, *map(_carried, outcomes)) if heard else moment.left,
        told=moment.news if heard else (),
        again=not heard,
        window=asking.present.window,
        degraded=(*_without_window(asking.present), *asking.degraded),
    )


def _carried(outcome: Outcome) -> Sense:
    """What came of an act says again what was asked for: it clears nothing in the next tick."""
    return replace(sense_of(outcome), trust=least_trusted((Trust.SELF, outcome.trust)))


def _without_window(present: TurnSnapshot) -> Iterator[Degradation]:
    """Why no window could be asked for at all."""
    return (one for one in present.degraded if one.part == PART)


def _until_sleep(thought: Tick) -> Tick:
    """Nothing is done after the agent lay down to sleep; what it wanted to do then is told."""
    own = SLEEP.place, SLEEP.name
    asked = [(one.endpoint, one.name) for one in thought.acts]
    place = asked.index(own) if own in asked else None
    if place is None or place + 1 == len(thought.acts):
        return thought
    acts, late = thought.acts[: place + 1], thought.acts[place + 1 :]
    dropped = _blocked(late, place + 1, "it came after a sleep act")
    report = replace(thought.report, dropped=(*thought.report.dropped, *dropped))
    senses = (*thought.senses, *dropped_senses(dropped, thought.state.revision))
    return replace(thought, acts=acts, report=report, senses=senses)


def _blocked(acts: Sequence[ActDraft], start: int, why: str) -> tuple[DroppedElement, ...]:
    told = enumerate(acts, start)
    return tuple([DroppedElement("acts", n, "blocked", f"{one.name}: {why}") for n, one in told])
