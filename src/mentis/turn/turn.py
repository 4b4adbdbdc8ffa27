"""One turn: begin, snapshot, recall, compose, ask, act, end. The order stands in `run_turn`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Generic, TypeVar

from anyio import CancelScope, to_thread

from mentis.act.briefs import short
from mentis.act.dispatch import DispatchHooks
from mentis.act.gate import GateRules
from mentis.ask.ask import OnDelta, ask
from mentis.ask.calls import ModelCall
from mentis.ask.inquiry import PassedOver, may_pass
from mentis.ask.models import Models
from mentis.ask.reservation import release_after
from mentis.compose.compose import Composition
from mentis.compose.history import number_beyond
from mentis.errors import (
    BadInput,
    BudgetReached,
    Defect,
    MentisError,
    NotCanonical,
    OutputInvalid,
)
from mentis.home.identity import Identity
from mentis.record.agent_record import AgentRecord
from mentis.record.clock_entries import note_jump
from mentis.record.inputs import ComposedPrompt, ConversationHistory, PromptInputs, compose_inputs
from mentis.record.other_sessions import with_other_sessions
from mentis.record.recent_thread import read_thread
from mentis.record.stored_turns import answer_turns
from mentis.record.turn_steps import JournalledCall, JournalledStep, StepJournal
from mentis.settings.sources import LiveSettings
from mentis.telemetry.names import MODE
from mentis.telemetry.spans import AgentScope, LiveSpan, agent_span
from mentis.tools.acting import ActRunner
from mentis.values.act import ActCall, ActSpec
from mentis.values.action import Action, Outcome
from mentis.values.caching import CacheReconciliation
from mentis.values.entry import Entry
from mentis.values.mark import Mark
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import AgainDelta, CallDelta, EndDelta, Reply, ResultDelta, TextDelta
from mentis.values.route import Route
from mentis.values.trust import Trust
from mentis.values.turn import Turn
from mentis.values.value import Value

from .agent_parts import AgentParts
from .correction import asks_again, judge
from .deliveries import news_for_turn
from .ending import TurnRecorder, record_unasked, recorder_of, stimulus_fields, store_message
from .news import news_spans, told_in
from .news_lock import claim_news
from .output import OutputForm
from .placement import place_recall, with_residency
from .recaller import Recaller, RecallResult, RecallScope
from .resume import result_turns, resumed_history, resumed_keys, turns_told_now
from .run import TurnRun
from .snapshot import TurnSnapshot
from .steps import TurnStep, TurnStop, answer_lineage
from .turn_context import TurnContext, going_on
from .window import window_values
from .witnesses import seen_by

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TurnResult(Value):
    """Result of a turn: what was told, what came back and was done, the entry that binds it.

    `steps` are the answers of the model, each with what was done on it; `stop` says why there is no
    other. `reply` is the last of them, with the usage of all. `passed_over` names the routes that
    failed before they said anything. `model_calls` are all answered calls, corrections too;
    `composed` and `rendering` are of the first. `repeats` is the entry whose answer was given once
    more, because nobody answered. `caching` says, for each call, what its provider's cache was
    expected to hold and what it held. `inner` are the turns of other agents that it asked for.
    """

    session: str
    composed: Composition
    rendering: Rendering
    reply: Reply
    outcomes: tuple[Outcome, ...]
    entry: Entry
    passed_over: tuple[PassedOver, ...] = ()
    model_calls: tuple[ModelCall, ...] = ()
    repeats: int | None = None
    caching: tuple[CacheReconciliation, ...] = ()
    steps: tuple[TurnStep, ...] = ()
    stop: TurnStop = "answer"
    inner: tuple[TurnResult, ...] = ()

    @property
    def text(self) -> str:
        """The answer: the words of the last step, or of the agent it was handed to."""
        handed = [one.turn.hash for one in self.outcomes if one.turn and one.turn.handoff]
        answers = [one.text for one in self.inner if one.entry.hash in handed]
        return answers[-1] if self.stop == "handoff" and answers else self.reply.text

    @property
    def pending(self) -> tuple[Outcome, ...]:
        """What waits for a person to say yes."""
        return tuple(outcome for outcome in self.outcomes if outcome.state == "waiting")

    @property
    def calls(self) -> tuple[Action, ...]:
        """What the caller is to execute: `agent.chat(results=...)` brings the results."""
        return tuple(outcome.action for outcome in self.outcomes if outcome.state == "deferred")


@dataclass(frozen=True, slots=True)
class TypedResult(TurnResult, Generic[T]):
    """The result of a turn whose answer has a form. `parsed` holds its value, or nothing where the
    turn stopped before the final answer: `stop` says why.
    """

    parsed: tuple[T, ...] = ()

    @property
    def output(self) -> T:
        """The answer as what was asked for; OutputInvalid where the turn stopped before it."""
        if not self.parsed:
            raise OutputInvalid(
                f"there is no final answer: the turn stopped with {self.stop!r}",
                hint="look at `result.stop`, `result.pending` and `result.calls` first",
                stop=self.stop,
            )
        return self.parsed[0]


async def run_turn(
    parts: AgentParts,
    stimulus: Stimulus,
    *,
    session: str,
    on_delta: OnDelta,
    reading: CancelScope,
    form: OutputForm[Any] | None = None,
    outer: TurnContext | None = None,
) -> TurnResult:
    """Every stage in its order. Cancelling `reading` ends the answer; what came of it is kept.

    The last piece that `on_delta` gets is the end, once, also of a turn that fails or is cancelled.
    An answer that has a `form` opens with no window: nothing may stand beside it. `outer` is the
    turn of an agent that asks for this one.
    """
    record, acting, route = parts.record, parts.acting, parts.models.route
    find_news = partial(news_for_turn, record, acting, parts.sources.settings)
    find_news = partial(find_news, session=session, stimulus=stimulus)
    with (
        turn_span(parts.who, parts.models.route, stimulus.mode, session) as span,
        _stream(on_delta) as stream,
    ):
        look = partial(look_around, parts, stimulus, find_news=find_news)
        async with begin(record, acting, stimulus, session, route=route, look=look) as place:
            around = place.around or await to_thread.run_sync(look, place)
            now, history, scope = around.now, around.history, around.scope
            async with claim_news(parts.who, parts.claims, around.news, find_news) as news:
                now = now if form is None else replace(now, window=None)
                span.scope.content = now.settings.model.telemetry.content
                recalled = await parts.recaller.recall(stimulus, scope.joined_by(history.turns))
                compose = partial(
                    compose_turn, parts, now, history=history, news=news, recalled=recalled
                )
                opening = result_turns(stimulus)
                run = await TurnRun.begin(
                    parts,
                    stimulus,
                    compose,
                    present=now,
                    opening=opening,
                    outer=outer and outer.allowance,
                )
                run.form = form
                run.resumed = resumed_keys(history) & {one.key for one in news}
                context = _context(run, place, stream, outer)
                async with end(run, place, stream) as ended:
                    with going_on(context):
                        ended.failure = await ask_and_act(run, place, stream, reading)
                    if ended.failure is None and not place.interrupted:
                        ended.failure = run.read_output()
                ended.trace(span)
                return replace(ended.result(), inner=tuple(context.inner))


async def run_prepared(
    run: TurnRun, *, session: str, on_delta: OnDelta, reading: CancelScope
) -> TurnResult:
    """From the first call on, for a prompt that was put together elsewhere."""
    with (
        turn_span(run.parts.who, run.parts.models.route, run.stimulus.mode, session) as span,
        _stream(on_delta) as stream,
    ):
        span.scope.content = run.present.settings.model.telemetry.content
        number = await run_shielded(partial(store_message, run.parts.record, session, run.stimulus))
        async with end(run, Place(session, number), stream) as ended:
            ended.failure = await ask_and_act(run, ended.place, stream, reading)
        ended.trace(span)
        return ended.result()


def turn_span(
    who: Identity, route: Route, mode: str, session: str
) -> AbstractContextManager[LiveSpan]:
    """The span of one invocation of the agent; what is asked and done in it is below it."""
    scope = AgentScope(who.agent, who.persona.name or who.persona.id, session)
    return agent_span(scope, route, {MODE: mode})


def _context(run: TurnRun, place: Place, stream: _Stream, outer: TurnContext | None) -> TurnContext:
    deepest = run.present.settings.model.turn.depth
    return TurnContext(
        run.stimulus,
        place.session,
        run.allowance,
        stream.tell,
        depth=outer.depth + 1 if outer else 0,
        most=min(deepest, outer.most) if outer else deepest,
    )


class _Stream:
    """Tells the pieces on; how it will say that there are no more is known when there are none."""

    def __init__(self, on_delta: OnDelta) -> None:
        self.tell = on_delta
        self.last = EndDelta("error")  # until there is an answer, whose end this would be

    def ends_with(self, reply: Reply, *, failed: bool) -> None:
        self.last = EndDelta("error" if failed else reply.stop, reply.usage)


@contextmanager
def _stream(on_delta: OnDelta) -> Generator[_Stream]:
    stream = _Stream(on_delta)
    try:
        yield stream
    finally:
        on_delta(stream.last)


# Begin


@dataclass(slots=True)
class Place:
    """Where a turn stands. `asking`: from then on it is the run that is recorded. `around` is how
    things stood when it began, if nothing had to be done before anybody could look.
    """

    session: str
    number: int
    around: TurnOutset | None = None
    asking: bool = False
    interrupted: bool = False


@asynccontextmanager
async def begin(
    record: AgentRecord,
    acting: ActRunner,
    stimulus: Stimulus,
    session: str,
    *,
    route: Route,
    look: Callable[[Place], TurnOutset],
) -> AsyncGenerator[Place]:
    """Store the message first. Whatever ends the turn before anybody could be asked, the message
    stays and an entry says so.

    Where not even that can be written the message is pending, and who talks next finds it so.
    """

    def store() -> tuple[Place, frozenset[str] | None]:
        note_jump(record)
        place, due = Place(session, store_message(record, session, stimulus)), None
        with suppress(Exception):  # it is looked for again, where a failure is recorded
            due = acting.look_for_due()
            if not due and due is not None and acting.is_idle:
                place.around = look(place)  # another thread would take longer to begin than this
        return place, due

    place, due = await run_shielded(store)
    failure: MentisError | None = None
    try:
        await acting.begin(session, due)
        yield place
    except MentisError as error:
        failure = error
        raise
    finally:
        if not place.asking:
            keep = partial(record_unasked, record, session, place.number, stimulus)
            keep = partial(keep, route=route, failure=failure)
            with suppress(MentisError):
                await run_shielded(keep)


def read_history(
    record: AgentRecord, live: LiveSettings, models: Models, stimulus: Stimulus, *, place: Place
) -> ConversationHistory:
    """The conversation so far, and what is told of others. It blocks."""
    if stimulus.resumes is not None:
        told = resumed_history(record, place.session, stimulus.resumes)
    else:
        own = None if stimulus.inner else place.number
        told = told_history(record, live, models, place.session, before=stimulus.replaces, own=own)
    return with_others(record, live, told, stimulus)


def with_others(
    record: AgentRecord, live: LiveSettings, history: ConversationHistory, stimulus: Stimulus
) -> ConversationHistory:
    """The conversation, and what is told of others. It blocks."""
    chosen = live.current()[0].model.conversations
    return with_other_sessions(record, history, stimulus, chosen)


def told_history(
    record: AgentRecord,
    live: LiveSettings,
    models: Models,
    session: str,
    *,
    before: int | None = None,
    own: int | None = None,
) -> ConversationHistory:
    """The conversation so far, as the model is told it now; up to `before`, if given, and without
    the message that is its `own`. Of a long one only the end is read that a prompt has room for
    and the settings let it tell. It blocks.
    """
    most = live.current()[0].policies.history_tokens
    thread = read_thread(record, session, partial(_fills, models, most), before)
    numbers = tuple([number for number in thread.told if number != own])
    told = turns_told_now(record, thread.turns, numbers)
    return ConversationHistory(session, *told, earlier=thread.earlier)


def _fills(models: Models, most: int | None, turns: Sequence[Turn]) -> int:
    """How many of the newest are more than any route has room for, or than is told of any; 0 where
    all of them are not.
    """
    routes = {route.name: route for route in (models.route, *models.fallbacks)}
    if models.correction is not None:
        routes[models.correction.name] = models.correction
    enough = [
        number_beyond(
            turns,
            min(most or route.context_tokens, route.context_tokens),
            models.counter(route),
        )
        for route in routes.values()
    ]
    return max(enough) if all(enough) else 0


# Recall


@dataclass(frozen=True, slots=True)
class TurnOutset:
    """How things stand when a turn begins, what was said before, what there is to recall from and
    what came of acts since.
    """

    now: TurnSnapshot
    history: ConversationHistory
    scope: RecallScope
    news: tuple[Outcome, ...] = ()


def look_around(
    parts: AgentParts,
    stimulus: Stimulus,
    place: Place,
    *,
    find_news: Callable[[], tuple[Outcome, ...]],
) -> TurnOutset:
    """All of it at once: to go to another thread and back takes longer than to look. It blocks."""
    record, live = parts.record, parts.sources.settings
    with record.ledger.together():
        history = read_history(record, live, parts.models, stimulus, place=place)
        news = find_news()
    now = parts.look()
    scope = recall_scope(parts.recaller, parts.acting, now, stimulus, session=place.session)
    return TurnOutset(now, history, scope, news)


def recall_scope(
    recaller: Recaller,
    acting: ActRunner,
    present: TurnSnapshot,
    stimulus: Stimulus,
    *,
    session: str,
) -> RecallScope:
    """What there is to recall from. It blocks."""
    acting.tools.follow_skills()
    mode = stimulus.mode
    tools = acting.allowed_tools(mode, asked=stimulus.asked)
    return recaller.scope(session, tools, present.settings.model.recall, mode=mode)


# Compose


def inputs_now(
    who: Identity,
    models: Models,
    present: TurnSnapshot,
    recalled: RecalledContext,
    *,
    history: ConversationHistory,
    variables: Mapping[str, object],
) -> PromptInputs:
    """All that a prompt is made from, as it is at this moment."""
    return PromptInputs(
        present.library,
        who.persona,
        who.profile,
        present.policies,
        models.route,
        models.caching.applied_calibration(models.route),
        recalled,
        history,
        variables,
        models.clock.now(),
    )


def compose_turn(
    parts: AgentParts,
    present: TurnSnapshot,
    route: Route,
    stimulus: Stimulus,
    *,
    history: ConversationHistory,
    news: tuple[Outcome, ...],
    recalled: RecallResult,
) -> ComposedPrompt:
    """What came to mind in its place, and the prompt as it would be sent to `route` now."""
    who, models = parts.who, parts.models.on(route)
    offered = parts.acting.offered_tools(route, asked=stimulus.asked)
    placed = place_recall(who, models, stimulus, recalled, offered=offered)
    told, window = _with_declared(placed.recalled, parts.declared), present.window
    asked, notes = window_values(window, route, tools=bool(told.tools))
    known = resumed_keys(history)  # told where they were asked for
    spans = news_spans([one for one in news if one.key not in known])
    spans = (*spans, *(window.verdict if window else ()))
    degraded = (*present.degraded, *told.degraded, *notes)
    counter = models.counter(route)
    inputs = inputs_now(
        who,
        models,
        present,
        replace(told, news=spans, degraded=degraded),
        history=_for_whom(stimulus, history),
        variables={**present.variables_for(stimulus.mode), **asked},
    )
    composed = compose_inputs(inputs, counter, who.secret)
    if recalled.outlook.passing:
        return ComposedPrompt(composed, inputs)
    return ComposedPrompt(with_residency(composed, placed.residency, counter), inputs)


def _with_declared(recalled: RecalledContext, declared: Sequence[ActSpec]) -> RecalledContext:
    """All of the caller's tools, whatever the message is about: the caller relies on them."""
    if not declared:
        return recalled
    names = {spec.name for spec in declared}
    own = (tool for tool in recalled.tools if tool.name not in names)
    revealed = tuple(tool for tool in recalled.revealed if tool.name not in names)
    tools = (*own, *(spec.declaration for spec in declared))
    return replace(recalled, tools=tools, revealed=revealed)


def _for_whom(stimulus: Stimulus, history: ConversationHistory) -> ConversationHistory:
    """What the agent thought to itself is nothing for a guest's turn, nor to be read aloud."""
    if stimulus.mode != "live" and stimulus.trust is not Trust.UNTRUSTED:
        return history
    places = [place for place, turn in enumerate(history.turns) if turn.kind != "thought"]
    return replace(
        history,
        turns=tuple(history.turns[place] for place in places),
        numbers=tuple(history.numbers[place] for place in places),
        amended=tuple(new for new, place in enumerate(places) if place in history.amended),
        sessions=tuple(history.sessions[place] for place in places) if history.sessions else (),
    )


# Ask and act


async def ask_and_act(
    run: TurnRun, place: Place, stream: _Stream, reading: CancelScope
) -> MentisError | None:
    """Ask, do what the answer asks for, tell what came of it and ask again, until nothing is left
    to be done; the error that ended an answer early, if one did.
    """
    failure: MentisError | None = None
    with reading:
        failure = await ask(run.inquiry, stream.tell)
        if failure is not None:
            await _repeat_earlier(run, place, stream, failure)
        while failure is None and not run.dry:
            await _act_and_correct(run, place, stream)
            step = run.next_step()
            if step is None:
                break
            stream.tell(step)
            failure = await ask(run.inquiry, stream.tell)
            if isinstance(failure, BudgetReached):
                run.inquiry.withdraw()
                run.stop, failure = "budget", None
                break
    place.interrupted = reading.cancelled_caught
    return None if place.interrupted else failure


async def _act_and_correct(run: TurnRun, place: Place, stream: _Stream) -> None:
    """Do what the answer asks for, and ask again for what can be mended."""
    while (again := await act(run, place, stream.tell)) is not None:
        stream.tell(again)
        late = await ask(run.inquiry, stream.tell, fall_back=False)
        if late is not None:
            # There is an answer already: this turn does not fail with its correction.
            reply = run.attempt.reader.finish()
            run.inquiry.close(reply, failed=(late.message,), then=late.code)
            return


async def _repeat_earlier(
    run: TurnRun, place: Place, stream: _Stream, failure: MentisError
) -> None:
    """Where nobody answered: an earlier answer to the same message, if the settings allow it."""
    if run.inquiry.heard or not may_pass(failure):
        return
    await to_thread.run_sync(run.look_back, place.session)
    if run.repeat is not None:
        run.inquiry.pass_over(failure)
        stream.tell(TextDelta(run.repeat.reply.text))


async def act(run: TurnRun, place: Place, on_delta: OnDelta) -> AgainDelta | None:
    """Do what the answer asks for; what failed and can be mended is to be asked for again."""
    judged, outcomes = judge(run), list[Outcome]()
    acting = run.parts.acting
    try:
        if judged.actions:
            for told in _written_calls(judged.actions):
                on_delta(told)
            run.settle_allowance(judged.reply)
            run.gate = run.gate or await acting.gate(_rules(run))
            await acting.dispatch(
                judged.actions,
                gate=run.gate,
                see=partial(seen_by, run),
                mode=run.stimulus.mode,
                session=place.session,
                outcomes=outcomes,
                offered=frozenset(tool.name for tool in run.attempt.offered),
                hooks=DispatchHooks(
                    run.parts.record.lease,
                    on_begin=partial(_journalled, run, place, judged.reply),
                    on_outcome=lambda outcome: on_delta(_result_delta(outcome)),
                    on_media=partial(_journalled_media, run),
                    declared={spec.name: spec for spec in run.parts.declared},
                ),
            )
    finally:
        run.outcomes.extend(outcomes)
    return asks_again(run, judged, outcomes)


def _journalled(
    run: TurnRun, place: Place, reply: Reply, calls: Sequence[ActCall]
) -> tuple[Mark, ...]:
    """The answer, to be found by whoever comes after a kill. Without a secret nobody could trust
    what is found, and what has no JSON form is not journalled.
    """
    who, record = run.parts.who, run.parts.record
    due = [Outcome(call.action, "unknown") for call in calls]
    call = run.inquiry.call_of(reply)
    lineage = answer_lineage([*run.step_calls, call], run.stimulus.trust)
    said = answer_turns(reply, due, at_once=True, lineage=lineage)
    if not who.secret or not said:
        return ()
    listed = tuple(JournalledCall(c.action.call_id, c.action.type, c.key) for c in calls)
    turn, asked = stimulus_fields(run.stimulus)
    fields, told = call.entry_fields(), () if run.dry else told_keys(run)
    step = JournalledStep(said[0], listed, turn, asked, fields, run.opening, told)
    journal = StepJournal(record.ledger, record.agent, who.secret)
    with suppress(BadInput, NotCanonical, UnicodeError):
        mark = journal.mark(place.session, place.number, run.journal, step)
        run.journal.append(mark)
        return (mark,)
    return ()


def _journalled_media(run: TurnRun, outcome: Outcome) -> tuple[Mark, ...]:
    """What came with a result, for whoever closes the turn after a kill; nothing, where its step is
    not journalled.
    """
    if not run.journal:
        return ()
    record = run.parts.record
    journal = StepJournal(record.ledger, record.agent, run.parts.who.secret)
    with suppress(BadInput, NotCanonical, UnicodeError):
        mark = journal.media_mark(run.journal[0], outcome.key, outcome.media)
        run.journal.append(mark)
        return (mark,)
    return ()


def _written_calls(actions: Sequence[Action]) -> Iterator[CallDelta]:
    """Calls that stood among the words: nobody was told of them while they came."""
    written = [action for action in actions if action.origin != "native"]
    for number, action in enumerate(written, len(actions) - len(written)):
        yield CallDelta(number, action.type, json.dumps(dict(action.payload), ensure_ascii=False))


def _result_delta(outcome: Outcome) -> ResultDelta:
    text = outcome.text if outcome.state == "done" else outcome.reason or outcome.text
    return ResultDelta(outcome.action.type, outcome.state, short(text), outcome.key)


def _rules(run: TurnRun) -> GateRules:
    rules = run.parts.acting.rules(run.present.settings.model.acts)
    return replace(rules, asked=run.stimulus.asked)


# End


@dataclass(slots=True)
class TurnEnd:
    """The end of a turn: the reply and the entry are there once it is recorded."""

    run: TurnRun
    place: Place
    failure: MentisError | None = None
    recorded: tuple[Reply, Entry] | None = None

    def trace(self, span: LiveSpan) -> None:
        """Say on the span how it ended, also where it failed."""
        if self.recorded is not None:
            reply, entry = self.recorded
            span.tell_end(reply, entry, stop=self.run.stop, steps=len(self.run.steps))

    def result(self) -> TurnResult:
        """What it came to; the failure, where nothing stands in for an answer."""
        if self.failure is not None and self.run.repeat is None:
            raise self.failure
        if self.recorded is None:
            raise Defect("a turn has no result before it is recorded")
        return _result(self.run, self.place.session, *self.recorded)


@asynccontextmanager
async def end(run: TurnRun, place: Place, stream: _Stream) -> AsyncGenerator[TurnEnd]:
    """Record the turn, whatever happens in it: its entry and what was said, as one."""
    ended, place.asking, place.interrupted = TurnEnd(run, place), True, True
    try:
        yield ended
    finally:
        run.close_step(interrupted=place.interrupted)
        run.settle_allowance()
        run.stop = _stop(run, place, ended.failure)
        keep = partial(release_after, run.reserve, partial(_record, ended))
        ended.recorded = await run_shielded(keep)
        run.let_go()
        reply, failed = ended.recorded[0], ended.failure is not None and run.repeat is None
        stream.ends_with(reply, failed=failed)


def _record(ended: TurnEnd) -> tuple[Reply, Entry]:
    """It blocks."""
    run, place = ended.run, ended.place
    run.reconcile_cache(place.session)
    reply, recorder = run.final_reply(), _recorder(run, place.session)
    entry = recorder.end(run.stimulus, place.number, reply, failure=ended.failure)
    return reply, entry


def _stop(run: TurnRun, place: Place, failure: MentisError | None) -> TurnStop:
    if place.interrupted:
        return "interrupted"
    if run.repeat is not None:
        return "repeated"
    if failure is not None:
        return "failed"
    waits = any(outcome.state == "waiting" for outcome in run.all_outcomes)
    return "pending" if waits and run.stop == "answer" else run.stop


def _result(run: TurnRun, session: str, reply: Reply, entry: Entry) -> TurnResult:
    calls, first = run.inquiry.calls, run.inquiry.calls[0]
    trace = replace(first.composed.trace, attempts=tuple(call.attempt() for call in calls))
    result = TurnResult(
        session,
        replace(first.composed, trace=trace),
        first.rendering,
        reply,
        run.all_outcomes,
        entry,
        passed_over=run.inquiry.passed,
        model_calls=tuple(calls),
        steps=tuple(run.steps),
        stop=run.stop,
        repeats=run.repeat.index if run.repeat else None,
        caching=tuple(settled.reconciled for settled in run.settled),
    )
    if run.form is None:
        return result
    told = {one.name: getattr(result, one.name) for one in fields(TurnResult)}
    return TypedResult(**told, parsed=run.parsed)


def _recorder(run: TurnRun, session: str) -> TurnRecorder:
    recorder = recorder_of(run.parts.record, run.parts.inputs, run.inquiry, session)
    return replace(
        recorder,
        repeat=run.repeat,
        opening=run.opening,
        steps=tuple(run.steps),
        stop=run.stop,
        journal=tuple(run.journal),
        settled=run.settled,
        told=() if run.dry else told_keys(run),
        about=run.about,
        window=None if run.dry else run.present.window,
    )


def told_keys(run: TurnRun) -> tuple[str, ...]:
    """The acts whose outcome is news to the model: told beside the message, or in the thread."""
    first = run.inquiry.calls[0].composed if run.inquiry.calls else run.attempt.composed
    return (*told_in(first.request), *sorted(run.resumed))


async def run_shielded(keep: Callable[[], T]) -> T:
    """An answer cut short is kept and marked, whoever cut it."""
    with CancelScope(shield=True):
        return await to_thread.run_sync(keep)
    raise Defect("what shields the record from being cancelled was cancelled itself")
