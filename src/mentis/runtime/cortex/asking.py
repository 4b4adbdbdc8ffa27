"""One question of one stage to a model: the prompt out of the library, sent, read to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from anyio import to_thread

from mentis.call.faults import may_cost
from mentis.codec.forms import to_json, to_object
from mentis.compose.builders import Builder
from mentis.compose.built import Built
from mentis.compose.computed import Facts
from mentis.compose.input_ir import InputIr
from mentis.compose.notices import notices_of
from mentis.errors import BadInput, LibraryError, MentisError
from mentis.facts.abilities import abilities
from mentis.runtime.attempts import planned
from mentis.runtime.budgets import check_asking
from mentis.runtime.legs import may_pass, render_turn
from mentis.runtime.mind import Mind
from mentis.runtime.present import Present
from mentis.runtime.turn import reported
from mentis.settle.readers import reader_for
from mentis.values.digest import Digest, digest
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply, Usage
from mentis.values.request import PromptRequest, ToolChoice
from mentis.values.route import Route
from mentis.values.tick import Stage
from mentis.values.tool import ToolDeclaration
from mentis.values.value import Value

_FREE = ToolChoice()


def block_of(stage: Stage) -> str:
    return f"cortex_{stage}"


@dataclass(frozen=True, slots=True)
class Question(Value):
    """What a stage asks: `text` is its user message, the system prompt is the library's."""

    stage: Stage
    text: str
    tools: tuple[ToolDeclaration, ...] = ()
    choice: ToolChoice = _FREE
    block: str = ""  # where it is not the one that has the name of the stage


@dataclass(frozen=True, slots=True)
class Asked(Value):
    """A call that was made, for the record of the tick."""

    stage: Stage
    route: Route
    rendering: Rendering
    request: Digest
    reply: Reply
    usage: Usage
    failure: str = ""

    def recorded(self) -> dict[str, object]:
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
        }

    def _bound(self) -> dict[str, object]:
        """Nothing can bind what JSON cannot say; that it was asked is told all the same."""
        try:
            return {"reply": digest(to_json(self.reply))}
        except BadInput as refusal:
            return {"unbound": refusal.message}


@dataclass(slots=True)
class Asking:
    """Asks for one tick. `calls` are all that were sent, also those that failed."""

    mind: Mind
    present: Present
    calls: list[Asked] = field(default_factory=list[Asked])

    def prompt(self, block: str, route: Route) -> Built:
        """The system prompt of a stage: one block of the library."""
        built = self._builder().build_cortex_stage(block, route.variant)
        if not built.text.strip():
            raise LibraryError(
                f"the block {block!r} says nothing, so a stage of the tick has no prompt",
                hint=f"switch it on, or take it back to how it was shipped: {block}",
            )
        return built

    def message(self, ir: InputIr, route: Route) -> str:
        """What the primary is asked; the sections alone where the owner wants nothing around."""
        return self._builder().build_cortex_input(ir, route.variant).text or ir.text

    def _builder(self) -> Builder:
        mind, present = self.mind, self.present
        now, policies = mind.clock.now(), present.policies
        return Builder(present.library, mind.persona, mind.profile, now, policies=policies)

    def _words(self) -> Mapping[str, str]:
        mind, library = self.mind, self.present.library
        language = mind.persona.language.strip().casefold()
        now = mind.clock.now()
        return notices_of(Facts(mind.persona, mind.profile, now, language, library.words))

    async def ask(self, question: Question, routes: Sequence[Route]) -> tuple[Reply, Route]:
        """The answer of the first route that gives one, and which that was."""
        failure: MentisError | None = None
        for route in routes:
            try:
                return await self._once(question, route), route
            except MentisError as error:
                if not may_pass(error):
                    raise
                failure = error
        if failure is None:
            raise LibraryError(f"the stage {question.stage!r} has no route", hint="name one")
        raise failure

    def planned(self, question: Question, route: Route) -> tuple[PromptRequest, Rendering, int]:
        """What would be sent, and how many tokens it has."""
        request = PromptRequest(
            system_instruction=self.prompt(question.block or block_of(question.stage), route).spans,
            tool_declarations=question.tools,
            current_text=question.text,
            mode="beat",
            tool_choice=question.choice,
            words=self._words(),
        )
        rendering = render_turn(request, route)
        counter = self.mind.counter(route)
        return request, rendering, counter.count(rendering.body().decode()).tokens

    async def _once(self, question: Question, route: Route) -> Reply:
        request, rendering, prompt = self.planned(question, route)
        mind = replace(self.mind, route=route)
        used = [(call.route, call.usage) for call in self.calls]
        settings = self.present.settings
        await to_thread.run_sync(lambda: check_asking(mind, settings, used, prompt=prompt))
        return await self._sent(question, request, rendering, route=route, prompt=prompt)

    async def _sent(
        self,
        question: Question,
        request: PromptRequest,
        rendering: Rendering,
        *,
        route: Route,
        prompt: int,
    ) -> Reply:
        reader = reader_for(
            rendering.wire,
            rendering.name_map,
            tools=question.tools,
            model=route.model,
            calls=abilities(route).calls,
        )
        failure, over = None, False
        try:
            async with self.mind.provider.open(rendering, route) as events:
                async for event in events:
                    reader.feed(event)
            reader.rest()
            over, failure = True, reported(reader.finish(), route)
        except MentisError as error:
            over, failure = True, error
        finally:
            # Also when the time is over: what was sent may be charged for.
            reply = reader.finish(interrupted=not over)
            if failure is None or reply.raw or may_cost(failure):
                usage = reply.usage or planned(prompt, route)
                bound, failed = digest(to_json(request)), failure.code if failure else ""
                call = Asked(question.stage, route, rendering, bound, reply, usage, failed)
                self.calls.append(call)
        if failure is not None:
            raise failure
        return reply
