"""The ways a turn may take: its route, and those it falls back on, each with its own prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from mentis.compose.compose import Composed
from mentis.errors import MentisError, ModelError, WorldError
from mentis.facts.abilities import wire_of
from mentis.render.wires import render_for
from mentis.settle.readers import Reader, reader_for
from mentis.values.action import Outcome
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.value import Value

from .mind import Mind


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


Compose = Callable[[Mind], Composed]


def render_turn(request: PromptRequest, route: Route) -> Rendering:
    """The request in the format the route speaks."""
    return render_for(wire_of(route), request, route.spoken())


@dataclass(slots=True)
class Course:
    """Where a turn is: the leg it is on, what it heard there, and what it passed over."""

    compose: Compose
    rest: Iterator[Route]
    leg: Leg
    heard: bool = False
    passed: list[Passed] = field(default_factory=list[Passed])
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    @classmethod
    def begin(cls, mind: Mind, compose: Compose) -> Course:
        return cls(compose, iter(mind.fallbacks), _leg(mind, compose))

    def step(self, failure: MentisError) -> bool:
        """Go on to the next route, if this failure and what was heard so far allow it."""
        if self.heard or not may_pass(failure):
            return False
        for route in self.rest:
            here = self.leg.mind
            self.passed.append(Passed(here.route.name, failure.code, failure.message))
            try:
                self.leg = _leg(replace(here, route=route), self.compose)
            except MentisError as refusal:
                # The prompt does not fit there: this leg stays the one that is recorded.
                self.passed.append(Passed(route.name, refusal.code, refusal.message))
                continue
            return True
        return False


def may_pass(failure: MentisError) -> bool:
    """Whether another route may do better: the world or the model failed, not the user."""
    return isinstance(failure, (WorldError, ModelError))


def _leg(mind: Mind, compose: Compose) -> Leg:
    composed = compose(mind)
    rendering = render_turn(composed.request, mind.route)
    tools = composed.request.tool_declarations
    reader = reader_for(rendering.wire, rendering.name_map, tools=tools, model=mind.route.model)
    return Leg(mind, composed, rendering, reader)
