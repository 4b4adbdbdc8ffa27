"""The ways a turn may take: its route, those it falls back on, and each time it asks again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from mentis.compose.compose import Composed
from mentis.errors import MentisError, ModelError, WorldError
from mentis.facts.abilities import abilities, wire_of
from mentis.library.acts import DOORWAY
from mentis.record.inputs import Inputs, Prompted
from mentis.render.wires import render_for
from mentis.settle.correction import Attempts
from mentis.settle.readers import Reader, reader_for
from mentis.settle.window import Opening
from mentis.turn.mind import Mind
from mentis.turn.snapshot import Present
from mentis.turn.window import opening_for
from mentis.values.action import Outcome
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration
from mentis.values.value import Value

from .caching import Settled, settle_calls
from .calls import Call, combined
from .repeat import Repeat, repeat_for
from .reservation import Reserve


@dataclass(frozen=True, slots=True)
class Passed(Value):
    """A route that failed before it said anything, so that the next one was asked."""

    route: str
    failure: str
    message: str


@dataclass(frozen=True, slots=True)
class Leg:
    """One route, with the prompt made for it and the reader of its answer."""

    mind: Mind
    composed: Composed
    rendering: Rendering
    reader: Reader
    inputs: Inputs | None = None
    opening: Opening | None = None

    @property
    def offered(self) -> tuple[ToolDeclaration, ...]:
        """What the model may call: declared, or told of in the text."""
        return offered_by(self.composed)


Compose = Callable[[Mind, Stimulus], Prompted]


def render_turn(request: PromptRequest, route: Route) -> Rendering:
    """The request in the format the route speaks."""
    return render_for(wire_of(route), request, route.spoken())


@dataclass(slots=True)
class Course:
    """Where a turn is: the leg it is on, what it heard there, and what it passed over.

    `calls` are the answers that came to an end; the answer of the leg itself is added by `close`.
    `sent`: the prompt of this leg went out, so that somebody may charge for it; `unanswered` are
    the calls of which that is so on the routes that were passed over. `dry`: what the answer asks
    for is not done, and nothing is asked again. `about` is what else the entry says. Whoever began
    it lets `reserve` go once it is recorded.
    """

    stimulus: Stimulus
    compose: Compose
    present: Present
    rest: Iterator[Route]
    leg: Leg
    attempts: Attempts
    reserve: Reserve
    heard: bool = False
    sent: bool = False
    open: bool = True
    passed: list[Passed] = field(default_factory=list[Passed])
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    calls: list[Call] = field(default_factory=list[Call])
    unanswered: list[Call] = field(default_factory=list[Call])
    repeat: Repeat | None = None
    settled: tuple[Settled, ...] = ()
    dry: bool = False
    about: Mapping[str, object] = field(default_factory=dict[str, object])

    @classmethod
    def begin(cls, mind: Mind, stimulus: Stimulus, compose: Compose, *, present: Present) -> Course:
        leg = _leg(mind, stimulus, compose)
        attempts = Attempts(present.settings.model.correction.calls)
        rest, reserve = iter(mind.models.fallbacks), Reserve.of(mind)
        return cls(stimulus, compose, present, rest, leg, attempts, reserve)

    async def prepare(self) -> Leg:
        """The leg as it is sent: on top of a cache, where its route asks for one to be made."""
        mind = self.leg.mind
        make = mind.models.caching.named.prepared
        rendering = await make(
            self.leg.rendering, mind.models.route, mind.models.provider, mind.record.clock
        )
        self.leg = replace(self.leg, rendering=rendering)
        return self.leg

    def step(self, failure: MentisError) -> bool:
        """Go on to the next route, if this failure and what was heard so far allow it."""
        if self.heard or not may_pass(failure):
            return False
        here, told = self.leg.mind, False
        for route in self.rest:
            if not told:
                self._count_unanswered()
                self.pass_over(failure)
                told = True
            try:
                self.leg = _leg(here.asking(here.models.on(route)), self.stimulus, self.compose)
            except MentisError as refusal:
                # The prompt does not fit there: this leg stays the one that is recorded.
                self.passed.append(Passed(route.name, refusal.code, refusal.message))
                continue
            return True
        return False

    def _count_unanswered(self) -> None:
        """What was sent may be charged for, though no answer came: it is counted, once."""
        if self.sent:
            self.unanswered.append(self._call(self.leg.reader.finish()))
        self.sent = False

    def pass_over(self, failure: MentisError) -> None:
        self.passed.append(Passed(self.leg.mind.models.route.name, failure.code, failure.message))

    def leg_for(self, text: str) -> Leg:
        """A leg with other words, on the route for corrections if there is one."""
        mind = self.leg.mind
        mind = mind.asking(mind.models.on(mind.models.correction or mind.models.route))
        return _leg(mind, replace(self.stimulus, text=text, reply_to=None), self.compose)

    def once_more(self) -> None:
        """Another leg on the same route, with what has to be told by now."""
        self.go_on(_leg(self.leg.mind, self.stimulus, self.compose))

    def go_on(self, leg: Leg) -> None:
        self.leg, self.open = leg, True

    def close(self, reply: Reply, *, failed: tuple[str, ...] = (), then: str = "") -> None:
        """This leg's answer is final; what comes next is another leg, or the end."""
        self.calls.append(self._call(reply, failed=failed, then=then))
        self.open = False

    def _call(self, reply: Reply, *, failed: tuple[str, ...] = (), then: str = "") -> Call:
        leg = self.leg
        return Call(
            leg.mind.models.route,
            leg.composed,
            leg.rendering,
            reply,
            failed,
            then,
            sent=self.sent,
            inputs=leg.inputs,
            whole=leg.opening.whole if leg.opening is not None else None,
        )

    def look_back(self, session: str) -> None:
        """Note which earlier answer to repeat, if there is one and the settings allow it."""
        self.repeat = repeat_for(
            self.leg.mind,
            self.stimulus,
            session,
            library=self.leg.composed.trace.library,
            limits=self.present.settings.model.fallback,
        )

    def settle(self, session: str) -> None:
        """Hold what every call was expected to find in its cache against what was reported."""
        mind = self.leg.mind
        now = mind.record.clock.now
        self.settled = settle_calls(mind.models.caching, self.calls, session=session, now=now)

    def reply(self, *, interrupted: bool) -> Reply:
        """What the turn comes to, from all of its calls."""
        if self.open:
            self.close(self.leg.reader.finish(interrupted=interrupted))
        return combined(self.calls) if self.repeat is None else self.repeat.reply


def may_pass(failure: MentisError) -> bool:
    """Whether another route may do better: the world or the model failed, not the user."""
    return isinstance(failure, (WorldError, ModelError))


def offered_by(composed: Composed) -> tuple[ToolDeclaration, ...]:
    return (*composed.request.tool_declarations, *composed.revealed)


def _leg(mind: Mind, stimulus: Stimulus, compose: Compose) -> Leg:
    prompted = compose(mind, stimulus)
    composed = prompted.composed
    rendering = render_turn(composed.request, mind.models.route)
    opening = opening_for(composed.request)
    reader = reader_for(
        rendering.wire,
        rendering.name_map,
        tools=offered_by(composed),
        model=mind.models.route.model,
        place=composed.request.runtime_ctx.interface_path,
        calls=abilities(mind.models.route).calls,
        doorway="" if mind.acting.registry.spec(DOORWAY) else DOORWAY,
        opening=opening,
    )
    return Leg(mind, composed, rendering, reader, prompted.inputs, opening)
