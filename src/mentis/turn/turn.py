"""One turn: the order of the stages stands here, and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

from anyio import CancelScope, to_thread

from mentis.act.gate import Gate, GateRules
from mentis.call.faults import may_cost
from mentis.compose.compose import Composed
from mentis.errors import Defect, MentisError, ProviderRefused, ReplyError
from mentis.record.inputs import History, Inputs, Prompted, compose_inputs
from mentis.record.late_outcomes import up_to_date
from mentis.record.threads import told_numbers
from mentis.turn.ask.attempt import Course, Passed, may_pass
from mentis.turn.ask.budgets import check_turn
from mentis.turn.ask.calls import Call
from mentis.turn.ask.correction import asks_again, judge
from mentis.turn.ask.reservation import recorded_with
from mentis.values.action import Outcome
from mentis.values.caching import Reconciled
from mentis.values.entry import Entry
from mentis.values.recalled import Recalled, Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, EndDelta, Reply, TextDelta
from mentis.values.route import Route
from mentis.values.trust import Trust
from mentis.values.value import Value

from .deliveries import news_for
from .delivery_lock import telling
from .ending import Keeper, begin, record_unasked
from .mind import Mind
from .news import news_spans, told_in
from .placement import as_sent, put_in_place
from .recaller import Brought, Outlook
from .snapshot import Present, look
from .window import window_values
from .witnesses import seen_by

Hear: TypeAlias = Callable[[Delta], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TurnResult(Value):
    """What was told, what came back, what was done, and the entry that binds it.

    `passed_over` names the routes that failed before they said anything. `calls` are all answered
    calls: more than one when something had to be corrected; `composed` and `rendering` are of the
    first. `repeats` is the entry whose answer was given once more, because nobody answered.
    `caching` says, for each call, what its provider's cache was expected to hold and what it held.
    """

    session: str
    composed: Composed
    rendering: Rendering
    reply: Reply
    outcomes: tuple[Outcome, ...]
    entry: Entry
    passed_over: tuple[Passed, ...] = ()
    calls: tuple[Call, ...] = ()
    repeats: int | None = None
    caching: tuple[Reconciled, ...] = ()


async def run_turn(
    mind: Mind, stimulus: Stimulus, *, session: str, hear: Hear, reading: CancelScope
) -> TurnResult:
    """Every stage in its order. Cancelling `reading` ends the answer; what came of it is kept.

    The last piece that `hear` gets is the end, once, also of a turn that fails or is cancelled.
    """
    with _ending(hear) as ending:
        return await _run(ending, mind, stimulus, session=session, reading=reading)


class _Ending:
    """Tells the pieces on; how it will say that there are no more is known when there are none."""

    def __init__(self, hear: Hear) -> None:
        self.hear = hear
        self.last = EndDelta("error")  # until there is an answer, whose end this would be

    def of(self, reply: Reply, *, failed: bool) -> None:
        self.last = EndDelta("error" if failed else reply.stop, reply.usage)


@contextmanager
def _ending(hear: Hear) -> Generator[_Ending]:
    ending = _Ending(hear)
    try:
        yield ending
    finally:
        hear(ending.last)


async def _run(
    ending: _Ending, mind: Mind, stimulus: Stimulus, *, session: str, reading: CancelScope
) -> TurnResult:
    place = Begun(session, await shielded(partial(begin, mind, session, stimulus)))
    async with _kept_unasked(mind, stimulus, place):
        await mind.acting.begin()
        own = None if stimulus.inner else place.number
        history = partial(told_history, mind, session, stimulus.replaces, own=own)
        history = await to_thread.run_sync(history)
        async with telling(mind, partial(news_for, mind, session, stimulus)) as news:
            present = await to_thread.run_sync(look, mind)
            outlook = await to_thread.run_sync(look_out, mind, present, session, stimulus)
            brought = await mind.recaller.bring(stimulus, outlook)
            course = Course.begin(
                mind,
                stimulus,
                lambda mind, stimulus: compose_turn(
                    mind, present, stimulus, history, news=news, brought=brought
                ),
                present=present,
            )
            return await _finish(ending, course, place, reading)


@dataclass(slots=True)
class Begun:
    """A turn that has its number. `asking`: from then on it is the course that is recorded."""

    session: str
    number: int
    asking: bool = False


@asynccontextmanager
async def _kept_unasked(mind: Mind, stimulus: Stimulus, place: Begun) -> AsyncGenerator[None]:
    """Whatever ends the turn before anybody could be asked, its message stays and an entry says so.

    Where not even that can be written the message is pending, and who talks next finds it so.
    """
    failure: MentisError | None = None
    try:
        yield
    except MentisError as error:
        failure = error
        raise
    finally:
        if not place.asking:
            keep = partial(record_unasked, mind, place.session, place.number, stimulus)
            with suppress(MentisError):
                await shielded(partial(keep, failure=failure))


async def run_course(
    course: Course, *, session: str, hear: Hear, reading: CancelScope
) -> TurnResult:
    """From the first call on, for a prompt that was put together elsewhere."""
    with _ending(hear) as ending:
        number = await shielded(partial(begin, course.leg.mind, session, course.stimulus))
        return await _finish(ending, course, Begun(session, number), reading)


async def _finish(
    ending: _Ending, course: Course, place: Begun, reading: CancelScope
) -> TurnResult:
    stimulus, session, number = course.stimulus, place.session, place.number
    place.asking, failure, interrupted = True, None, True
    try:
        failure = await _answer(course, session, hear=ending.hear, reading=reading)
        interrupted = reading.cancelled_caught
    finally:
        reply, outcomes = course.reply(interrupted=interrupted), course.outcomes
        await shielded(partial(course.settle, session))
        end = partial(_keeper(course, session).end, stimulus, number)
        end = partial(end, reply=reply, outcomes=outcomes, failure=failure)
        entry = await shielded(partial(recorded_with, course.reserve, end))
        ending.of(reply, failed=failure is not None and course.repeat is None)
    if failure is not None and course.repeat is None:
        raise failure
    return _result(course, session, reply, entry)


def _result(course: Course, session: str, reply: Reply, entry: Entry) -> TurnResult:
    first = course.calls[0]
    attempts = tuple(call.attempt() for call in course.calls)
    trace = replace(first.composed.trace, attempts=attempts)
    return TurnResult(
        session,
        replace(first.composed, trace=trace),
        first.rendering,
        reply,
        tuple(course.outcomes),
        entry,
        passed_over=tuple(course.passed),
        calls=tuple(course.calls),
        repeats=course.repeat.index if course.repeat else None,
        caching=tuple(settled.reconciled for settled in course.settled),
    )


def _keeper(course: Course, session: str) -> Keeper:
    mind, first = course.leg.mind, course.calls[0] if course.calls else course.leg
    return Keeper(
        mind.asking(mind.models.on(first.route)) if isinstance(first, Call) else mind,
        session,
        first.composed,
        first.rendering,
        tuple(course.passed),
        tuple(course.calls),
        course.repeat,
        course.settled,
        tuple(course.unanswered),
        () if course.dry else told_in(first.composed.request),
        first.inputs,
        course.about,
        None if course.dry else course.present.window,
    )


async def shielded(keep: Callable[[], T]) -> T:
    """An answer cut short is kept and marked, whoever cut it."""
    with CancelScope(shield=True):
        return await to_thread.run_sync(keep)
    raise Defect("what shields the record from being cancelled was cancelled itself")


def told_history(
    mind: Mind, session: str, before: int | None = None, *, own: int | None = None
) -> History:
    """The conversation so far, as the model is told it now; up to `before`, if given, and without
    the message that is its `own`. It blocks.
    """
    turns = mind.record.conversations.turns(mind.who.agent, session)
    numbers = tuple(number for number in told_numbers(turns, before) if number != own)
    kept = tuple(turns[number] for number in numbers)
    told = up_to_date(kept, mind.record.ledger, mind.who.agent)
    pairs = enumerate(zip(kept, told, strict=True))
    amended = tuple(place for place, (then, now) in pairs if now is not then)
    return History(session, told, numbers, amended)


def look_out(mind: Mind, present: Present, session: str, stimulus: Stimulus) -> Outlook:
    """What there is to recall from. It blocks."""
    mind.acting.tools.follow_skills()
    mode = stimulus.mode
    tools = mind.acting.allowed(mode, asked=stimulus.asked)
    return mind.recaller.look(session, tools, present.settings.model.recall, mode=mode)


def inputs_now(
    mind: Mind,
    present: Present,
    recalled: Recalled,
    history: History,
    *,
    variables: Mapping[str, object],
) -> Inputs:
    """All that a prompt is made from, as it is at this moment."""
    return Inputs(
        present.library,
        mind.who.persona,
        mind.who.profile,
        present.policies,
        mind.models.route,
        mind.models.caching.applied(mind.models.route),
        recalled,
        history,
        variables,
        mind.record.clock.now(),
    )


def compose_turn(
    mind: Mind,
    present: Present,
    stimulus: Stimulus,
    history: History,
    *,
    news: tuple[Outcome, ...],
    brought: Brought,
) -> Prompted:
    """What came to mind in its place, and the prompt as it would be sent now."""
    placed = put_in_place(mind, stimulus, brought)
    recalled, window = placed.recalled, present.window
    asked, notes = window_values(window, mind.models.route, tools=bool(recalled.tools))
    spans = (*news_spans(news), *(window.verdict if window else ()))
    degraded = (*present.degraded, *recalled.degraded, *notes)
    counter = mind.models.counter(mind.models.route)
    inputs = inputs_now(
        mind,
        present,
        replace(recalled, news=spans, degraded=degraded),
        _for_whom(stimulus, history),
        variables={**present.told_in(stimulus.mode), **asked},
    )
    composed = compose_inputs(inputs, counter, mind.who.secret)
    if brought.outlook.passing:
        return Prompted(composed, inputs)
    return Prompted(as_sent(composed, placed.residency, counter), inputs)


def _for_whom(stimulus: Stimulus, history: History) -> History:
    """What the agent thought to itself is nothing for a guest's turn, nor to be read aloud."""
    if stimulus.mode != "live" and stimulus.trust is not Trust.UNTRUSTED:
        return history
    places = [place for place, turn in enumerate(history.turns) if turn.kind != "thought"]
    return replace(
        history,
        turns=tuple(history.turns[place] for place in places),
        numbers=tuple(history.numbers[place] for place in places),
        amended=tuple(new for new, place in enumerate(places) if place in history.amended),
    )


async def _answer(
    course: Course, session: str, *, hear: Hear, reading: CancelScope
) -> MentisError | None:
    """Read the answer and do what it asks for; the error that ended it early, if one did."""
    with reading:
        failure = await read_answer(course, hear)
        while failure is not None and course.step(failure):
            failure = await read_answer(course, hear)
        if failure is None and not course.dry:
            await _act(course, session, hear)
        elif failure is not None and not course.heard and may_pass(failure):
            await to_thread.run_sync(course.look_back, session)
            if course.repeat is not None:
                course.pass_over(failure)
                hear(TextDelta(course.repeat.reply.text))
        return failure
    return None


async def _act(course: Course, session: str, hear: Hear) -> None:
    """Do what the answer asks for; what failed and can be mended is asked for again."""
    gate: Gate | None = None
    while True:
        judged, outcomes = judge(course), list[Outcome]()
        acting = course.leg.mind.acting
        try:
            if judged.actions:
                gate = gate or await acting.gate(_rules(course))
                seen = await to_thread.run_sync(seen_by, course)
                mode = course.stimulus.mode
                act = partial(acting.dispatch, mode=mode, session=session, outcomes=outcomes)
                offered = frozenset(tool.name for tool in course.leg.offered)
                await act(judged.actions, gate=gate, seen=seen, offered=offered)
        finally:
            course.outcomes.extend(outcomes)
        again = asks_again(course, judged, outcomes)
        if again is None:
            return
        hear(again)
        failure = await read_answer(course, hear)
        if failure is not None:
            # There is an answer already: this turn does not fail with its correction.
            course.close(course.leg.reader.finish(), failed=(failure.message,), then=failure.code)
            return


def _rules(course: Course) -> GateRules:
    rules = course.leg.mind.acting.rules(course.present.settings.model.acts)
    return replace(rules, asked=course.stimulus.asked)


async def read_answer(course: Course, hear: Hear) -> MentisError | None:
    """Read events to the end of the answer, or to where it broke off."""
    leg, course.sent = course.leg, False
    try:
        await to_thread.run_sync(check_turn, course)
        leg = await course.prepare()
        course.sent = True
        async with leg.mind.models.provider.open(leg.rendering, leg.mind.models.route) as events:
            async for event in events:
                for delta in leg.reader.feed(event):
                    course.heard = True
                    hear(delta)
        for delta in leg.reader.rest():
            course.heard = True
            hear(delta)
    except MentisError as error:
        leg.mind.models.caching.named.forget(leg.rendering)
        course.sent = course.sent and (bool(leg.reader.finish().raw) or may_cost(error))
        return error
    return reported(leg.reader.finish(), leg.mind.models.route)


def reported(reply: Reply, route: Route) -> MentisError | None:
    """What is wrong with an answer that came without an error of its own."""
    if reply.stop == "error":
        return ProviderRefused(f"the provider broke off: {reply.errors[-1].message}")
    if reply.stop != "cut_off" or reply.text or reply.actions:
        return None
    said = reply.errors[0].message if reply.errors else "nothing came at all"
    return ReplyError(
        f"route {route.name!r}: there is no answer in what came back: {said}",
        hint=f"check routes.{route.name}.url and model: this may not be a chat server",
        first=reply.raw[0][:200] if reply.raw else None,
    )
