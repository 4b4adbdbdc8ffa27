"""One question of one stage to a model: the prompt out of the library, sent, read to its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from anyio import Lock, to_thread

from mentis.ask.ask import ask
from mentis.ask.attempt import RouteAttempt, render_request
from mentis.ask.budgets import AgentBudget
from mentis.ask.calls import planned_usage, prompt_tokens
from mentis.ask.inquiry import Inquiry, Skip, UsedOn, may_pass
from mentis.ask.models import Models
from mentis.ask.reservation import BudgetReservation
from mentis.call.faults import may_cost
from mentis.codec.forms import to_json, to_object
from mentis.compose.builders import Builder
from mentis.compose.built import BuiltText
from mentis.compose.compose import Composition
from mentis.compose.computed import Facts
from mentis.compose.input_ir import InputIr
from mentis.compose.notices import notices_of
from mentis.errors import BadInput, ComposeError, LibraryError, MentisError
from mentis.facts.abilities import abilities
from mentis.home.identity import Identity
from mentis.record.agent_record import AgentRecord
from mentis.settle.readers import reader_for
from mentis.turn.snapshot import TurnSnapshot
from mentis.values.digest import Digest, digest
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply, Usage
from mentis.values.request import PromptRequest, ToolChoice
from mentis.values.route import Route
from mentis.values.tick import PassedRoute, Stage
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation, TokenCount, Trace
from mentis.values.value import Value

from .run import refused_by

_FREE = ToolChoice()
_NO_WINDOW: Mapping[str, object] = {}


def block_of(stage: Stage) -> str:
    return f"cortex_{stage}"


@dataclass(frozen=True, slots=True)
class StageQuestion(Value):
    """What a stage asks: `text` is its user message, the system prompt is the library's. `window`
    are the values of the blocks that ask for a status window; without any, none is asked for.
    """

    stage: Stage
    text: str
    tools: tuple[ToolDeclaration, ...] = ()
    choice: ToolChoice = _FREE
    block: str = ""  # where it is not the one that has the name of the stage
    window: Mapping[str, object] = field(default_factory=lambda: _NO_WINDOW)


@dataclass(frozen=True, slots=True)
class TickCall(Value):
    """A call that was made, for the record of the tick. `failed` counts what was wrong with its
    answer, `then` is the block that asked again, or why none did. `whole` are its words where
    they have a window to be judged, or should have.
    """

    stage: Stage
    route: Route
    rendering: Rendering
    request: Digest
    reply: Reply
    usage: Usage
    failure: str = ""
    failed: int = 0
    then: str = ""
    whole: str | None = None

    def entry_fields(self) -> dict[str, object]:
        """As the calls of a turn are recorded, so that budgets count it."""
        route, counted = self.route, "planned" if self.reply.usage is None else "usage"
        return {
            "stage": self.stage,
            "route": {"name": route.name, "backend": route.backend, "model": route.model},
            "stop": self.reply.stop,
            "request": self.request,
            "payload": self.rendering.digest,
            **self._bound(),
            counted: to_object(self.usage),
            **({"failure": self.failure} if self.failure else {}),
            **({"failed": self.failed, "then": self.then} if self.failed else {}),
        }

    def _bound(self) -> dict[str, object]:
        """Nothing can bind what JSON cannot say; that it was asked is told all the same."""
        try:
            return {"reply": digest(to_json(self.reply))}
        except BadInput as refusal:
            return {"unbound": refusal.message}


@dataclass(slots=True)
class TickAsker:
    """Asks for one tick. `calls` are all that were sent, also those that failed; `passed` are the
    routes that gave no answer, `degraded` is what could not be asked for. `reserved` is the most
    that calls which are under way may use: stages run at once, and share one budget; `reserve` says
    so to other processes until the tick is recorded.
    """

    who: Identity
    record: AgentRecord
    models: Models
    present: TurnSnapshot
    calls: list[TickCall] = field(default_factory=list[TickCall])
    passed: list[PassedRoute] = field(default_factory=list[PassedRoute])
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    reserved: list[tuple[Route, Usage]] = field(default_factory=list[tuple[Route, Usage]])
    reserve: BudgetReservation = field(init=False)
    _budget: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.reserve = BudgetReservation.of(self.who)

    def prompt(
        self, block: str, route: Route, window: Mapping[str, object] = _NO_WINDOW
    ) -> BuiltText:
        """The system prompt of a stage: one block of the library, and what asks for a window."""
        built = self._builder().build_cortex_stage(block, route.variant, window)
        if not built.text.strip():
            raise LibraryError(
                f"the block {block!r} says nothing, so a stage of the tick has no prompt",
                hint=f"switch it on, or reset it to how it was shipped: {block}",
            )
        return built

    def message(self, ir: InputIr, route: Route) -> str:
        """What the primary is asked; the sections alone where the owner wants nothing around."""
        return self._builder().build_cortex_input(ir, route.variant).text or ir.text

    def correction(self, block: str, route: Route, values: Mapping[str, object]) -> str:
        """What asks again; nothing where the owner has switched it off."""
        return self._builder().build_correction(block, route.variant, values).text

    def _builder(self) -> Builder:
        who, present = self.who, self.present
        now, policies = self.record.now(), present.policies
        return Builder(present.library, who.persona, who.profile, now, policies=policies)

    def _words(self) -> Mapping[str, str]:
        who, words = self.who, self.present.library.words
        language = who.persona.language.strip().casefold()
        return notices_of(Facts(who.persona, who.profile, self.record.now(), language, words))

    async def ask(self, question: StageQuestion, routes: Sequence[Route]) -> tuple[Reply, Route]:
        """The answer of the first route that gives one, and which that was."""

        async def same(_route: Route) -> StageQuestion:
            return question

        return await self.ask_each(question.stage, same, routes)

    async def ask_each(
        self,
        stage: Stage,
        question_for: Callable[[Route], Awaitable[StageQuestion]],
        routes: Sequence[Route],
    ) -> tuple[Reply, Route]:
        """The same, where each route is asked a question of its own: one may have less room."""
        skipped = list[Skip]()
        try:
            inquiry = await self._begin(stage, question_for, routes, skipped)
            if inquiry is not None:
                inquiry.skipped = skipped  # also what is passed over from now on, however it ends
                failure = await ask(inquiry)
                if failure is None:
                    return inquiry.attempt.reader.finish(), inquiry.attempt.route
                if not _passes(failure):
                    raise failure
                if all(one.route is not inquiry.attempt.route for one in skipped):
                    skipped.append(Skip(inquiry.attempt.route, failure))
        finally:
            self.passed.extend(_passed(stage, one.route, one.error) for one in skipped)
        if not skipped:
            raise LibraryError(f"the stage {stage!r} has no route", hint="name one")
        raise skipped[-1].error

    async def _begin(
        self,
        stage: Stage,
        question_for: Callable[[Route], Awaitable[StageQuestion]],
        routes: Sequence[Route],
        skipped: list[Skip],
    ) -> Inquiry | None:
        """On the first route that has room for its question; None where none has."""

        async def plan(route: Route) -> RouteAttempt:
            question = await question_for(route)
            request, rendering, prompt = self.plan_call(question, route)
            check_room(question.stage, route, prompt)
            reader = reader_for(
                rendering.wire,
                rendering.name_map,
                tools=question.tools,
                model=route.model,
                calls=abilities(route).calls,
            )
            trace = Trace("", route.variant, "", tokens={"total": TokenCount(prompt)})
            return RouteAttempt(route, Composition(request, trace), rendering, reader)

        rest = iter(routes)
        for route in rest:
            try:
                attempt = await plan(self.models.taught(route))
            except MentisError as error:
                if not _passes(error):
                    raise
                skipped.append(Skip(route, error))
                continue
            return Inquiry(
                self.models.on(route),
                plan,
                self,
                attempt,
                rest,
                named_caches=False,
                skips=_passes,
                on_attempt=partial(self._note, stage),
            )
        return None

    def plan_call(
        self, question: StageQuestion, route: Route
    ) -> tuple[PromptRequest, Rendering, int]:
        """What would be sent, and how many tokens it has."""
        block = question.block or block_of(question.stage)
        request = PromptRequest(
            system_instruction=self.prompt(block, route, question.window).spans,
            tool_declarations=question.tools,
            current_text=question.text,
            mode="beat",
            tool_choice=question.choice,
            words=self._words(),
        )
        rendering = render_request(request, route)
        counter = self.models.counter(route)
        return request, rendering, counter.count(rendering.body().decode()).tokens

    @asynccontextmanager
    async def reserving(
        self, route: Route, prompt: int, used: Sequence[UsedOn]
    ) -> AsyncGenerator[None]:
        """Room in the budgets for the most that a call may use, or BudgetReached. One after the
        other: what is looked at has to hold until it is reserved.
        """
        del used  # of this stage alone: the stages of a tick share one budget
        most = (route, planned_usage(prompt, route))
        async with self._budget:
            spent = [*((call.route, call.usage) for call in self.calls), *self.reserved]
            settings, models = self.present.settings, self.models.on(route)
            budget = AgentBudget(self.record, models, settings, self.reserve)
            await to_thread.run_sync(partial(budget.check, route, spent, prompt=prompt))
            self.reserved.append(most)
        try:
            yield
        finally:
            self.reserved.remove(most)

    def _note(
        self, stage: Stage, attempt: RouteAttempt, reply: Reply, failure: MentisError | None
    ) -> None:
        """A call that was made, or may be charged for."""
        if failure is not None and not reply.raw and not may_cost(failure):
            return
        prompt = prompt_tokens(attempt.composed.trace)
        usage = reply.usage or planned_usage(prompt, attempt.route)
        bound, failed = digest(to_json(attempt.composed.request)), failure.code if failure else ""
        self.calls.append(
            TickCall(stage, attempt.route, attempt.rendering, bound, reply, usage, failed)
        )

    def mark(self, whole: str | None, *, failed: int = 0, then: str = "") -> None:
        """What was made of the last answer, for the record."""
        self.calls[-1] = replace(self.calls[-1], whole=whole, failed=failed, then=then)


def _passes(failure: MentisError) -> bool:
    """Whether another route may do better: one of them may have more room, too."""
    return may_pass(failure) or isinstance(failure, ComposeError)


def _passed(stage: Stage, route: Route, error: MentisError) -> PassedRoute:
    return PassedRoute(stage, route.name, error.code, error.message, *refused_by(error))


def check_room(stage: Stage, route: Route, prompt: int) -> None:
    """Nothing is sent that the route has no room for, with the answer it may give."""
    if prompt + route.max_tokens > route.context_tokens:
        raise ComposeError(
            f"the prompt of {stage} has {prompt} tokens; with {route.max_tokens} for the answer"
            f" that is more than the {route.context_tokens} of route {route.name!r}",
            hint="raise its context_tokens if the model has more, or lower its max_tokens",
            route=route.name,
        )
