"""Asking a model: budget, cache, call, reading; and the next route where one gives no answer.

Nothing else opens a provider, but for the wrappers inside `call` and the making of named caches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mentis.call.faults import may_cost
from mentis.errors import MentisError, ProviderRefused, ReplyError
from mentis.telemetry.spans import chat_span
from mentis.values.reply import Delta, Reply
from mentis.values.route import Route

from .attempt import RouteAttempt
from .calls import prompt_tokens
from .inquiry import Inquiry
from .lessons import lesson_of

OnDelta: TypeAlias = Callable[[Delta], None]
OnEvent: TypeAlias = Callable[[str], None]


async def ask(
    inquiry: Inquiry,
    on_delta: OnDelta | None = None,
    *,
    on_event: OnEvent | None = None,
    fall_back: bool = True,
) -> MentisError | None:
    """Read an answer to its end, or to where it broke off: then the error that ended it.

    Where nobody heard anything yet, routes to fall back on are asked in their order; one that says
    what its model does not take is asked once more without it, and that is learned. The answer is
    in `inquiry.attempt.reader`. Cancelling it leaves what came so far there.
    """
    if not fall_back:
        return await _ask_once(inquiry, on_delta, on_event)
    failure = await _ask_taught(inquiry, on_delta, on_event)
    while failure is not None and await inquiry.fall_back(failure):
        failure = await _ask_taught(inquiry, on_delta, on_event)
    return failure


async def _ask_taught(
    inquiry: Inquiry, on_delta: OnDelta | None, on_event: OnEvent | None
) -> MentisError | None:
    """Where a refusal says what its model does not have, once more without it."""
    failure = await _ask_once(inquiry, on_delta, on_event)
    if failure is None or inquiry.heard:
        return failure
    lesson = lesson_of(failure, inquiry.attempt)
    if lesson is None or not await inquiry.ask_without(failure, lesson):
        return failure
    return await _ask_once(inquiry, on_delta, on_event)


async def _ask_once(
    inquiry: Inquiry, on_delta: OnDelta | None, on_event: OnEvent | None
) -> MentisError | None:
    attempt, inquiry.sent = inquiry.attempt, False
    tokens = prompt_tokens(attempt.composed.trace)
    try:
        async with inquiry.budget.reserving(attempt.route, tokens, inquiry.used):
            inquiry.attempt = await _on_cache(inquiry)
            inquiry.sent, inquiry.asked_at = True, inquiry.models.clock.now()
            return await _exchange_in_span(inquiry, on_delta, on_event)
    except MentisError as error:
        return error


async def _on_cache(inquiry: Inquiry) -> RouteAttempt:
    """The attempt as it is sent: on top of a cache, where its route asks for one to be made."""
    attempt, models = inquiry.attempt, inquiry.models
    if not inquiry.named_caches:
        return attempt
    make = models.caching.named.prepare
    rendering = await make(attempt.rendering, attempt.route, models.provider, models.clock)
    return attempt.rendered_as(rendering)


async def _exchange_in_span(
    inquiry: Inquiry, on_delta: OnDelta | None, on_event: OnEvent | None
) -> MentisError | None:
    attempt, composed = inquiry.attempt, inquiry.attempt.composed
    with chat_span(
        attempt.route,
        composed.request,
        composed.trace,
        attempt.rendering,
        correction=inquiry.correction,
    ) as span:
        failure = await _exchange(inquiry, on_delta, on_event)
        if span.recording:
            span.tell_reply(attempt.reader.finish())
        if failure is not None:
            span.fail_with(failure)
        return failure


async def _exchange(
    inquiry: Inquiry, on_delta: OnDelta | None, on_event: OnEvent | None
) -> MentisError | None:
    attempt, failure, over = inquiry.attempt, None, False

    def tell(deltas: tuple[Delta, ...]) -> None:
        for delta in deltas:
            if on_delta is not None:
                inquiry.heard = True
                on_delta(delta)

    try:
        async with inquiry.models.provider.open(attempt.rendering, attempt.route) as events:
            async for event in events:
                if on_event is not None:
                    on_event(event)
                tell(attempt.reader.feed(event))
        tell(attempt.reader.rest())
        over = True
        if not inquiry.as_it_came:
            failure = fault_in(attempt.reader.finish(), attempt.route)
    except MentisError as error:
        over, failure = True, error
        inquiry.models.caching.named.forget(attempt.rendering)
        inquiry.sent = bool(attempt.reader.finish().raw) or may_cost(error)
    finally:
        if inquiry.on_attempt is not None:
            # Also when the time is over: what was sent may be charged for.
            inquiry.on_attempt(attempt, attempt.reader.finish(interrupted=not over), failure)
    return failure


def fault_in(reply: Reply, route: Route) -> MentisError | None:
    """The fault of an answer that came without an error of its own."""
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
