"""One turn: the order of the stages stands here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from anyio import CancelScope, move_on_after, to_thread

from mentis.act.dispatch import dispatch
from mentis.compose.compose import Composed, compose
from mentis.errors import (
    Defect,
    MentisError,
    ProviderRefused,
    ProviderUnreachable,
    ReplyError,
)
from mentis.recall.recall import recall
from mentis.render.openai_chat import render
from mentis.settle.openai_chat import ChatReader
from mentis.values.action import Outcome
from mentis.values.entry import Entry
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, Reply
from mentis.values.route import Route
from mentis.values.turn import Turn
from mentis.values.value import Value

from .keep import Keeper
from .mind import Mind
from .present import Present, look

Hear: TypeAlias = Callable[[Delta], None]


@dataclass(frozen=True, slots=True)
class TurnResult(Value):
    """What was told, what came back, what was done, and the entry that binds it."""

    session: str
    composed: Composed
    rendering: Rendering
    reply: Reply
    outcomes: tuple[Outcome, ...]
    entry: Entry


async def run_turn(
    mind: Mind, stimulus: Stimulus, *, session: str, hear: Hear, reading: CancelScope
) -> TurnResult:
    """Every stage in its order. Cancelling `reading` ends the answer; what came of it is kept."""
    history = await to_thread.run_sync(mind.conversations.turns, mind.agent, session)
    present = await to_thread.run_sync(look, mind)
    composed = compose_turn(mind, present, stimulus, history)
    rendering = render(composed.request, mind.route)
    keeper = Keeper(mind, session, composed, rendering)
    number = await to_thread.run_sync(keeper.begin, stimulus)
    reader, outcomes = ChatReader(), list[Outcome]()
    failure, interrupted = None, True
    try:
        failure = await _answer(mind, rendering, reader, outcomes, hear=hear, reading=reading)
        interrupted = reading.cancelled_caught
    finally:
        reply = reader.finish(interrupted=interrupted)
        end = partial(keeper.end, reply=reply, outcomes=outcomes, failure=failure)
        entry = await _shielded(partial(end, stimulus, number))
    if failure is not None:
        raise failure
    return TurnResult(session, composed, rendering, reply, tuple(outcomes), entry)


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
        counter=mind.counter,
        context_tokens=mind.route.context_tokens,
        reserve_tokens=mind.route.max_tokens,
    )


async def _answer(
    mind: Mind,
    rendering: Rendering,
    reader: ChatReader,
    outcomes: list[Outcome],
    *,
    hear: Hear,
    reading: CancelScope,
) -> MentisError | None:
    """Read the answer and do what it asks for; the error that ended it early, if one did."""
    with reading:
        failure = await _read(mind, rendering, reader, hear)
        if failure is None:
            actions = reader.finish().actions
            await dispatch(actions, mind.handlers, mode="chat", outcomes=outcomes)
        return failure
    return None


async def _read(
    mind: Mind, rendering: Rendering, reader: ChatReader, hear: Hear
) -> MentisError | None:
    """Read events to the end of the answer, or to where it broke off."""
    with move_on_after(mind.route.timeout_seconds) as deadline:
        try:
            async with mind.provider.open(rendering, mind.route) as events:
                async for event in events:
                    for delta in reader.feed(event):
                        hear(delta)
        except MentisError as error:
            return error
    if deadline.cancelled_caught:
        seconds = mind.route.timeout_seconds
        return ProviderUnreachable(
            f"route {mind.route.name!r}: no complete answer within {seconds:g} seconds",
            hint=f"raise routes.{mind.route.name}.timeout_seconds, or ask for less",
        )
    return _reported(reader.finish(), mind.route)


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
