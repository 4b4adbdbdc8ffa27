"""A question on its way: the attempt it is at, the routes it passed over, the answers it got."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol, TypeAlias, get_args

from anyio import to_thread

from mentis.errors import MentisError, ModelError, WorldError
from mentis.settle.correction import CorrectionBlock
from mentis.values.learned import LearnedFact
from mentis.values.reply import Reply, Usage
from mentis.values.route import Route
from mentis.values.trace import Degradation
from mentis.values.value import Value

from .attempt import RouteAttempt
from .calls import ModelCall
from .models import Models

# Makes the prompt for one route; MentisError where it does not fit there.
Plan: TypeAlias = Callable[[Route], Awaitable[RouteAttempt]]
# Told of each attempt that was sent, when it is over: its reply, and what ended it early.
OnAttempt: TypeAlias = Callable[[RouteAttempt, Reply, MentisError | None], None]
UsedOn: TypeAlias = tuple[Route, Usage]
_CORRECTIONS: tuple[str, ...] = get_args(CorrectionBlock)


class Budget(Protocol):
    """Whether a call may be made. It holds while the call is made, and may hold longer."""

    def reserving(
        self, route: Route, prompt: int, used: Sequence[UsedOn]
    ) -> AbstractAsyncContextManager[None]:
        """BudgetReached where a prompt of so many tokens could go over a limit, after `used`."""
        ...


class Unlimited:
    def reserving(
        self, route: Route, prompt: int, used: Sequence[UsedOn]
    ) -> AbstractAsyncContextManager[None]:
        del route, prompt, used
        return nullcontext()


@dataclass(frozen=True, slots=True)
class PassedOver(Value):
    """A route that failed before it said anything, so that the next one was asked."""

    route: str
    failure: str
    message: str


@dataclass(frozen=True, slots=True)
class Skip:
    """The same, with the error itself."""

    route: Route
    error: MentisError

    def told(self) -> PassedOver:
        return PassedOver(self.route.name, self.error.code, self.error.message)


def may_pass(failure: MentisError) -> bool:
    """Whether another route may do better: the world or the model failed, not the user."""
    return isinstance(failure, (WorldError, ModelError))


@dataclass(slots=True)
class Inquiry:
    """`heard`: somebody was told a part of the answer, so that no other route is asked. `sent`: the
    prompt of this attempt went out, so that somebody may charge for it; `unanswered` are the calls
    of which that is so on routes that were passed over. `calls` are the answers that came to an
    end; that of the attempt itself is added by `close`. `named_caches`: a route may ask to have a
    cache made first. `as_it_came`: whatever is wrong with a whole answer is left to whoever reads
    it. `skips` says which routes are passed over because no prompt fits them.
    """

    models: Models
    plan: Plan
    budget: Budget
    attempt: RouteAttempt
    rest: Iterator[Route]
    named_caches: bool = True
    as_it_came: bool = False
    skips: Callable[[MentisError], bool] = lambda _refusal: True
    on_attempt: OnAttempt | None = None
    heard: bool = False
    sent: bool = False
    open: bool = True
    asked_at: datetime | None = None
    skipped: list[Skip] = field(default_factory=list[Skip])
    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    unanswered: list[ModelCall] = field(default_factory=list[ModelCall])

    @classmethod
    async def begin(cls, models: Models, plan: Plan, budget: Budget) -> Inquiry:
        """On the first route; an error where no prompt can be made for it."""
        attempt = await plan(models.taught(models.route))
        return cls(models, plan, budget, attempt, iter(models.fallbacks))

    @property
    def passed(self) -> tuple[PassedOver, ...]:
        return tuple(one.told() for one in self.skipped)

    @property
    def used(self) -> list[UsedOn]:
        """What the calls so far came to, or may have."""
        calls = (*self.calls, *self.unanswered)
        counted = ((call.route, call.reply.usage or call.planned_usage) for call in calls)
        return [(route, usage) for route, usage in counted if usage is not None]

    @property
    def correction(self) -> tuple[str, tuple[str, ...]] | None:
        """The block that asks again and what had failed, where this attempt is a correction."""
        last = self.calls[-1] if self.calls else None
        if last is None or not last.failed or last.then not in _CORRECTIONS:
            return None
        return last.then, last.failed

    async def fall_back(self, failure: MentisError) -> bool:
        """Go on to the next route, if this failure and what was heard so far allow it."""
        if self.heard or not may_pass(failure):
            return False
        passed = False
        for route in self.rest:
            if not passed:
                self._count_unanswered()
                self.pass_over(failure)
                passed = True
            try:
                self.attempt = await self.plan(self.models.taught(route))
            except MentisError as refusal:
                if not self.skips(refusal):
                    raise
                # The prompt does not fit there: this attempt stays the one that is recorded.
                self.skipped.append(Skip(route, refusal))
                continue
            return True
        return False

    def _count_unanswered(self) -> None:
        """What was sent may be charged for, though no answer came: it is counted, once."""
        if self.sent:
            self.unanswered.append(self._call(self.attempt.reader.finish()))
        self.sent = False

    async def ask_without(self, failure: MentisError, lesson: LearnedFact) -> bool:
        """Keep what a refusal taught, and plan the same call on the same route without it."""
        learned, route = self.models.learned, self.attempt.route
        if learned is None:
            return False
        time = self.models.clock.now().isoformat()
        try:
            taught = await to_thread.run_sync(partial(learned.learn, route, lesson, time=time))
            if taught == route:  # the settings say otherwise
                return False
            attempt = await self.plan(taught)
        except MentisError:  # the refusal itself says more
            return False
        self.pass_over(failure)
        note = Degradation("facts", f"{lesson.told} on route {route.name!r}: {lesson.said}")
        self.attempt = attempt.noting(note)
        return True

    def pass_over(self, failure: MentisError) -> None:
        self.skipped.append(Skip(self.attempt.route, failure))

    def go_on(self, attempt: RouteAttempt) -> None:
        """Ask again: with other words, or with more to tell."""
        self.attempt, self.open = attempt, True

    def close(self, reply: Reply, *, failed: tuple[str, ...] = (), then: str = "") -> None:
        """This attempt's answer is final; what comes next is another attempt, or the end."""
        self.calls.append(self._call(reply, failed=failed, then=then))
        self.open = False

    def withdraw(self) -> None:
        """This attempt was not made: the answers that came before it are all there are."""
        self.open = False

    def end(self, *, interrupted: bool) -> None:
        """Close what is still open."""
        if self.open:
            self.close(self.attempt.reader.finish(interrupted=interrupted))

    def call_of(self, reply: Reply) -> ModelCall:
        """The call that this attempt is, with its answer."""
        return self._call(reply)

    def _call(self, reply: Reply, *, failed: tuple[str, ...] = (), then: str = "") -> ModelCall:
        attempt = self.attempt
        return ModelCall(
            attempt.route,
            attempt.composed,
            attempt.rendering,
            reply,
            failed,
            then,
            sent=self.sent,
            inputs=attempt.inputs,
            whole=attempt.opening.whole if attempt.opening is not None else None,
            asked_at=self.asked_at,
        )


def lone_inquiry(models: Models, attempt: RouteAttempt) -> Inquiry:
    """One attempt on one route, as it is: no other route, no cache made for it, no budget."""

    async def none_other(_route: Route) -> RouteAttempt:
        return attempt

    return Inquiry(
        models,
        none_other,
        Unlimited(),
        attempt,
        iter(()),
        named_caches=False,
        as_it_came=True,
    )
