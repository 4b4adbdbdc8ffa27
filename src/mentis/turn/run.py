"""A turn on its way: what it asks, what was done, and how its prompt is made for each route."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mentis.act.gate import Gate
from mentis.act.registry import Registry
from mentis.ask.attempt import RouteAttempt, attempt_on
from mentis.ask.budgets import AgentBudget
from mentis.ask.caching import CacheReport, settle_calls
from mentis.ask.calls import combine_replies
from mentis.ask.inquiry import Inquiry
from mentis.ask.reservation import BudgetReservation
from mentis.library.acts import DOORWAY
from mentis.record.inputs import ComposedPrompt
from mentis.settle.correction import Attempts
from mentis.values.action import Outcome
from mentis.values.recalled import Stimulus
from mentis.values.reply import Reply
from mentis.values.route import Route

from .agent_parts import AgentParts
from .repeat import Repeat, repeat_for
from .snapshot import TurnSnapshot
from .window import opening_for

# The prompt for a route, of a message: that of the turn, or the words that ask again.
Compose: TypeAlias = Callable[[Route, Stimulus], ComposedPrompt]


@dataclass(slots=True)
class TurnRun:
    """`corrections` is how often it may still ask again. `dry`: what the answer asks for is not
    done, and nothing is asked again. `about` is what else the entry says. Whoever began it lets
    `reserve` go once it is recorded.
    """

    parts: AgentParts
    stimulus: Stimulus
    compose: Compose
    present: TurnSnapshot
    inquiry: Inquiry
    corrections: Attempts
    reserve: BudgetReservation
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    gate: Gate | None = None
    repeat: Repeat | None = None
    settled: tuple[CacheReport, ...] = ()
    dry: bool = False
    about: Mapping[str, object] = field(default_factory=dict[str, object])

    @classmethod
    async def begin(
        cls, parts: AgentParts, stimulus: Stimulus, compose: Compose, *, present: TurnSnapshot
    ) -> TurnRun:
        reserve = BudgetReservation.of(parts.who)
        budget = AgentBudget(parts.record, parts.models, present.settings, reserve)

        async def plan(route: Route) -> RouteAttempt:
            return _attempt(parts.acting.registry, compose, route, stimulus)

        inquiry = await Inquiry.begin(parts.models, plan, budget)
        corrections = Attempts(present.settings.model.correction.calls)
        return cls(parts, stimulus, compose, present, inquiry, corrections, reserve)

    @property
    def attempt(self) -> RouteAttempt:
        return self.inquiry.attempt

    def correction(self, text: str) -> RouteAttempt:
        """An attempt with other words, on the route for corrections if there is one."""
        route = self.parts.models.correction or self.attempt.route
        stimulus = replace(self.stimulus, text=text, reply_to=None)
        return _attempt(self.parts.acting.registry, self.compose, route, stimulus)

    def ask_once_more(self) -> None:
        """Another attempt on the same route, with what has to be told by now."""
        again = _attempt(
            self.parts.acting.registry, self.compose, self.attempt.route, self.stimulus
        )
        self.inquiry.go_on(again)

    def look_back(self, session: str) -> None:
        """Note which earlier answer to repeat, if there is one and the settings allow it."""
        self.repeat = repeat_for(
            self.parts.record,
            self.stimulus,
            session,
            library=self.attempt.composed.trace.library,
            limits=self.present.settings.model.fallback,
        )

    def reconcile_cache(self, session: str) -> None:
        """Hold what every call was expected to find in its cache against what was reported."""
        now, calls = self.parts.record.clock.now, self.inquiry.calls
        self.settled = settle_calls(self.parts.models.caching, calls, session=session, now=now)

    def reply(self, *, interrupted: bool) -> Reply:
        """What the turn comes to, from all of its calls."""
        self.inquiry.end(interrupted=interrupted)
        return combine_replies(self.inquiry.calls) if self.repeat is None else self.repeat.reply


def _attempt(
    registry: Registry, compose: Compose, route: Route, stimulus: Stimulus
) -> RouteAttempt:
    prompted = compose(route, stimulus)
    return attempt_on(
        route,
        prompted.composed,
        inputs=prompted.inputs,
        opening=opening_for(prompted.composed.request),
        doorway="" if registry.spec(DOORWAY) else DOORWAY,
    )
