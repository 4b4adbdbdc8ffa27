"""One turn: the order of the stages stands here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from anyio import CancelScope, to_thread

from mentis.act.dispatch import dispatch
from mentis.compose.compose import Composed, compose
from mentis.errors import Defect, MentisError, ProviderRefused, ReplyError
from mentis.recall.recall import recall
from mentis.values.action import Outcome
from mentis.values.entry import Entry
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, Reply
from mentis.values.route import Route
from mentis.values.turn import Turn
from mentis.values.value import Value

from .budgets import Spent, check_budgets, spent_by
from .keep import Keeper
from .legs import Course, Leg, Passed
from .mind import Mind
from .present import Present, look

Hear: TypeAlias = Callable[[Delta], None]


@dataclass(frozen=True, slots=True)
class TurnResult(Value):
    """What was told, what came back, what was done, and the entry that binds it.

    `passed` names the routes that were asked first and failed before they said anything.
    """

    session: str
    composed: Composed
    rendering: Rendering
    reply: Reply
    outcomes: tuple[Outcome, ...]
    entry: Entry
    passed: tuple[Passed, ...] = ()


async def run_turn(
    mind: Mind, stimulus: Stimulus, *, session: str, hear: Hear, reading: CancelScope
) -> TurnResult:
    """Every stage in its order. Cancelling `reading` ends the answer; what came of it is kept."""
    history = await to_thread.run_sync(mind.conversations.turns, mind.agent, session)
    present = await to_thread.run_sync(look, mind)
    course = Course.begin(mind, lambda mind: compose_turn(mind, present, stimulus, history))
    number = await to_thread.run_sync(_keeper(course, session).begin, stimulus)
    failure, interrupted = None, True
    try:
        failure = await _answer(course, hear=hear, reading=reading)
        interrupted = reading.cancelled_caught
    finally:
        leg, outcomes = course.leg, course.outcomes
        reply = leg.reader.finish(interrupted=interrupted)
        end = partial(_keeper(course, session).end, stimulus, number)
        entry = await _shielded(partial(end, reply=reply, outcomes=outcomes, failure=failure))
    if failure is not None:
        raise failure
    done, passed = tuple(outcomes), tuple(course.passed)
    return TurnResult(session, leg.composed, leg.rendering, reply, done, entry, passed)


def _keeper(course: Course, session: str) -> Keeper:
    leg = course.leg
    return Keeper(leg.mind, session, leg.composed, leg.rendering, tuple(course.passed))


async def _shielded(keep: Callable[[], Entry]) -> Entry:
    """An answer cut short is kept and marked, whoever cut it."""
    with CancelScope(shield=True):
        return await to_thread.run_sync(keep)
    raise Defect("what shields the record from being cancelled was cancelled itself")


def compose_turn(
    mind: Mind, present: Present, stimulus: Stimulus, history: tuple[Turn, ...]
) -> Composed:
    """Recall and compose: the prompt as it would be sent now."""
    tools = tuple(handler.declaration for handler in mind.handlers.values())
    recalled = recall(stimulus, tools=tools)
    return compose(
        present.library,
        persona=mind.persona,
        profile=mind.profile,
        recalled=replace(recalled, degraded=(*present.degraded, *recalled.degraded)),
        history=history,
        now=mind.clock.now(),
        variant=mind.route.variant,
        runtime_vars=present.variables,
        policies=present.policies,
        counter=mind.counter(mind.route),
        context_tokens=mind.route.context_tokens,
        reserve_tokens=mind.route.max_tokens,
    )


async def _answer(course: Course, *, hear: Hear, reading: CancelScope) -> MentisError | None:
    """Read the answer and do what it asks for; the error that ended it early, if one did."""
    with reading:
        failure = await _read(course, hear)
        while failure is not None and course.step(failure):
            failure = await _read(course, hear)
        if failure is None:
            actions, handlers = course.leg.reader.finish().actions, course.leg.mind.handlers
            await dispatch(actions, handlers, mode="chat", outcomes=course.outcomes)
        return failure
    return None


async def _read(course: Course, hear: Hear) -> MentisError | None:
    """Read events to the end of the answer, or to where it broke off."""
    leg = course.leg
    try:
        await to_thread.run_sync(check_spending, leg)
        async with leg.mind.provider.open(leg.rendering, leg.mind.route) as events:
            async for event in events:
                for delta in leg.reader.feed(event):
                    course.heard = True
                    hear(delta)
    except MentisError as error:
        return error
    return _reported(leg.reader.finish(), leg.mind.route)


def check_spending(leg: Leg) -> None:
    """Nothing is sent that could go over a budget. Without budgets the record is not read."""
    settings, _ = leg.mind.settings.current()
    budgets = settings.model.budgets
    lasting = budgets.day_tokens or budgets.agent_tokens or budgets.day_usd
    spent = Spent()
    if lasting:
        entries = leg.mind.ledger.entries(leg.mind.agent)
        spent = spent_by(entries, leg.mind.clock.now(), priced=bool(budgets.day_usd))
    counted = leg.composed.trace.tokens
    prompt = sum(counted[name].tokens for name in ("total", "framing") if name in counted)
    check_budgets(budgets, spent, leg.mind.route, prompt=prompt)


def _reported(reply: Reply, route: Route) -> MentisError | None:
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
