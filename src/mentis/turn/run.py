"""A turn on its way: what it asks, what was done, and how its prompt is made for each route."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from mentis.act.gate import Gate
from mentis.ask.allowance import TurnAllowance
from mentis.ask.attempt import RouteAttempt, attempt_on
from mentis.ask.budgets import AgentBudget
from mentis.ask.caching import CacheReport, settle_calls
from mentis.ask.calls import ModelCall, combine_replies, total
from mentis.ask.inquiry import Inquiry
from mentis.ask.reservation import BudgetReservation
from mentis.errors import ComposeError, Defect, OutputInvalid, RenderError
from mentis.library.acts import DOORWAY
from mentis.ports.token_counter import TokenCounter
from mentis.record.inputs import ComposedPrompt, continue_inputs
from mentis.settle.correction import Attempts
from mentis.values.action import Outcome
from mentis.values.mark import Mark
from mentis.values.part import TextPart
from mentis.values.recalled import Stimulus
from mentis.values.reply import Reply, StepDelta
from mentis.values.route import Route
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .agent_parts import AgentParts
from .output import OutputForm
from .repeat import Repeat, repeat_for
from .snapshot import TurnSnapshot
from .steps import TurnStep, TurnStop, make_step, stop_after
from .window import opening_for

# The prompt for a route, of a message: that of the turn, or the words that ask again.
Compose: TypeAlias = Callable[[Route, Stimulus], ComposedPrompt]


@dataclass(frozen=True, slots=True)
class RoutePrompt:
    """The prompt of a turn for one route, without its steps."""

    route: Route
    prompt: ComposedPrompt


@dataclass(slots=True)
class TurnRun:
    """`opening` is what comes before its first answer: results that the caller brings. `steps` are
    over, `outcomes` are those of the step it is at; `stop` is why it ends. `corrections` is how
    often it may still ask again. `dry`: what the answer asks for is not done, and nothing is asked
    again. `journal` are the marks that tell of it as long as it has no entry, `resumed` the keys of
    acts that it waited for, `about` is what else the entry says. `form` is what the answer is held
    to, and `parsed` the one value of it, once it is there. Whoever began it lets `reserve` go once
    it is recorded.
    """

    parts: AgentParts
    stimulus: Stimulus
    compose: Compose
    present: TurnSnapshot
    inquiry: Inquiry
    corrections: Attempts
    reserve: BudgetReservation
    prompt: RoutePrompt
    opening: tuple[Turn, ...] = ()
    steps: list[TurnStep] = field(default_factory=list[TurnStep])
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    stop: TurnStop = "answer"
    journal: list[Mark] = field(default_factory=list[Mark])
    resumed: frozenset[str] = frozenset()
    gate: Gate | None = None
    repeat: Repeat | None = None
    settled: tuple[CacheReport, ...] = ()
    dry: bool = False
    form: OutputForm[Any] | None = None
    parsed: tuple[object, ...] = ()
    about: Mapping[str, object] = field(default_factory=dict[str, object])
    allowance: TurnAllowance | None = None

    @classmethod
    async def begin(
        cls,
        parts: AgentParts,
        stimulus: Stimulus,
        compose: Compose,
        *,
        present: TurnSnapshot,
        opening: tuple[Turn, ...] = (),
        outer: TurnAllowance | None = None,
    ) -> TurnRun:
        """`outer` is what the turn that asks for this one may use."""
        prompts: list[RoutePrompt] = []

        async def plan(route: Route) -> RouteAttempt:
            prompts.append(RoutePrompt(route, compose(route, stimulus)))
            return _attempt(parts, prompts[-1], opening)

        reserve = BudgetReservation.of(parts.who)
        allowance = TurnAllowance(present.settings.model.budgets, outer)
        budget = AgentBudget(parts.record, parts.models, present.settings, reserve, allowance)

        inquiry = await Inquiry.begin(parts.models, plan, budget)
        corrections = Attempts(present.settings.model.correction.calls)
        run = cls(
            parts, stimulus, compose, present, inquiry, corrections, reserve, prompts[-1], opening
        )
        inquiry.plan, run.allowance = run.plan, allowance
        return run

    async def plan(self, route: Route) -> RouteAttempt:
        """The prompt for a route, with the steps so far."""
        self.prompt = RoutePrompt(route, self.compose(route, self.stimulus))
        return _attempt(self.parts, self.prompt, self.continuation)

    @property
    def attempt(self) -> RouteAttempt:
        return self.inquiry.attempt

    @property
    def continuation(self) -> tuple[Turn, ...]:
        """What followed the message so far, as the model is told it."""
        return (*self.opening, *(turn for step in self.steps for turn in step.turns))

    @property
    def step_calls(self) -> list[ModelCall]:
        """The answered calls of the step it is at."""
        return self.inquiry.calls[sum(len(step.calls) for step in self.steps) :]

    @property
    def all_outcomes(self) -> tuple[Outcome, ...]:
        return (*(one for step in self.steps for one in step.outcomes), *self.outcomes)

    def settle_allowance(self, reply: Reply | None = None) -> None:
        """Count what was used, with the call of this `reply`, before agents are asked for more."""
        used = self.inquiry.used
        if reply is not None:
            call = self.inquiry.call_of(reply)
            usage = reply.usage or call.planned_usage
            used += [] if usage is None else [(call.route, usage)]
        if self.allowance is not None:
            self.allowance.settle(used)

    def correction(self, text: str) -> RouteAttempt:
        """An attempt with other words, on the route for corrections if there is one."""
        route = self.parts.models.correction or self.attempt.route
        before, inputs = self.continuation, self.prompt.prompt.inputs
        if before or (inputs is not None and inputs.history.thread):
            other = RoutePrompt(route, self.compose(route, self.stimulus))
            prompt = self.prompt if route == self.prompt.route else other
            asked = Turn("user", (TextPart(text),), Trust.UNTRUSTED)
            return _attempt(self.parts, prompt, (*before, asked))
        stimulus = replace(self.stimulus, text=text, reply_to=None)
        return _attempt(self.parts, RoutePrompt(route, self.compose(route, stimulus)))

    def ask_once_more(self) -> None:
        """Another attempt on the same route, with what has to be told by now."""
        route = self.attempt.route
        prompt = RoutePrompt(route, self.compose(route, self.stimulus))
        self.inquiry.go_on(_attempt(self.parts, prompt))

    def next_step(self) -> StepDelta | None:
        """Ready to tell the results and ask again; None where the turn is over: `stop` says why."""
        self.close_step()
        most = 1 if self.stimulus.mode == "delivery" else self.present.settings.model.turn.max_steps
        if stop := stop_after(self.steps, most=most):
            self.stop = stop
            return None
        try:
            # The prompt is that of the first step: nothing that stands before the steps changes.
            self.inquiry.go_on(_attempt(self.parts, self.prompt, self.continuation))
        except (ComposeError, RenderError):  # no room for the results, or no way to say them
            self.stop = "context"
            return None
        self.inquiry.heard = False
        return StepDelta(len(self.steps) + 1)

    def close_step(self, *, interrupted: bool = False) -> None:
        """The step it is at is over, if one is open."""
        self.inquiry.end(interrupted=interrupted)
        if calls := self.step_calls:
            repeated = self.repeat.reply if self.repeat is not None else None
            step = make_step(calls, self.outcomes, said=self.stimulus.trust, repeated=repeated)
            self.steps.append(step)
            self.outcomes = []

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

    def let_go(self) -> None:
        """Nothing is asked any more. What plans the next attempt holds the run, and the run holds
        it: a turn that is over would wait for whoever looks for circles.
        """
        self.inquiry.plan = _nothing_more

    def final_reply(self) -> Reply:
        """The answer of the last step; what was used is of all."""
        last = self.steps[-1].reply
        if len(self.steps) == 1:
            return last
        return replace(last, usage=total(call.reply.usage for call in self.inquiry.calls))

    def read_output(self) -> OutputInvalid | None:
        """Take the value of a final answer; why it is not in its form, where that is so."""
        if self.form is None or self.stop != "answer" or not self.steps:
            return None
        try:
            self.parsed = (self.form.read(self.steps[-1].reply.text),)
        except OutputInvalid as error:
            error.facts["text"] = self.steps[-1].reply.text
            return error
        return None

    def reply(self, *, interrupted: bool) -> Reply:
        """What the turn comes to, from all of its calls."""
        self.inquiry.end(interrupted=interrupted)
        return combine_replies(self.inquiry.calls) if self.repeat is None else self.repeat.reply


async def _nothing_more(route: Route) -> RouteAttempt:
    raise Defect(f"a turn that is over asks route {route.name!r}")


def _attempt(
    parts: AgentParts, prompt: RoutePrompt, continuation: tuple[Turn, ...] = ()
) -> RouteAttempt:
    prompted = prompt.prompt
    if continuation:
        counter = parts.models.counter(prompt.route)
        prompted = _continued(prompted, continuation, counter, parts.who.secret)
    return attempt_on(
        prompt.route,
        prompted.composed,
        inputs=prompted.inputs,
        opening=opening_for(prompted.composed.request),
        doorway="" if parts.acting.registry.spec(DOORWAY) else DOORWAY,
    )


def _continued(
    prompted: ComposedPrompt, continuation: tuple[Turn, ...], counter: TokenCounter, secret: bytes
) -> ComposedPrompt:
    """The same prompt, and after it the steps of the turn."""
    if prompted.inputs is None:
        raise Defect("a prompt whose inputs are not known cannot be gone on with")
    inputs = replace(prompted.inputs, continuation=continuation)
    composed = continue_inputs(prompted.composed, inputs, counter, secret)
    return ComposedPrompt(replace(composed, residency=prompted.composed.residency), inputs)
