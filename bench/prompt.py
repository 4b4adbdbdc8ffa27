"""What a prompt costs that knows where each byte came from, against one glued from strings.

The clock moves between calls, as it does between turns: what it touches is made anew each time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

from mentis.compose.compose import Composition, compose
from mentis.engines.estimate import EstimatingCounter
from mentis.library.load import load_persona, load_shipped, shipped_persona
from mentis.ports.clock import FixedClock
from mentis.render.openai_chat import render
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.rendering import Rendering
from mentis.values.route import Route

from .harness import Pair, Run, benchmark

ROUTE = Route("default", "embedded", "smollm2-135m", variant="compact", context_tokens=4096)
MESSAGE = "Good morning! What do you plan to do today?"
PERSONA = "ada"


def composer() -> Callable[[Persona], Composition]:
    library, profile, counter = load_shipped(), Profile(), EstimatingCounter()
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=7))

    def run(persona: Persona) -> Composition:
        return compose(
            library,
            persona=persona,
            profile=profile,
            recalled=RecalledContext(Stimulus(MESSAGE)),
            history=(),
            now=clock.now(),
            variant=ROUTE.variant,
            counter=counter,
            context_tokens=ROUTE.context_tokens,
            reserve_tokens=ROUTE.max_tokens,
        )

    return run


def demo_persona() -> Persona:
    return load_persona(shipped_persona(PERSONA), f"{PERSONA}/persona.toml")


def joiner(rendering: Rendering) -> Run:
    """The same strings, joined and put into the same JSON, by somebody who keeps no record."""
    pieces = [[span.text for span in spans] for spans in rendering.sources.values()]
    payload = dict(rendering.payload)

    def run() -> bytes:
        texts = ["".join(texts) for texts in pieces]
        messages = [{"role": "system", "content": text} for text in texts]
        body = json.dumps(payload | {"messages": messages}, ensure_ascii=False)
        return body.encode()

    return run


@benchmark("compose and render", against="join the same strings", gate=100)
def compose_and_render() -> Pair:
    composed, persona = composer(), demo_persona()

    def run() -> bytes:
        return render(composed(persona).request, ROUTE).body()

    return run, joiner(render(composed(persona).request, ROUTE))


@benchmark("compose and render, new persona", against="join the same strings", gate=250)
def compose_and_render_anew() -> Pair:
    """Nothing was prepared before: the first turn with this persona."""
    composed, persona, numbers = composer(), demo_persona(), count()

    def run() -> bytes:
        stranger = replace(persona, name=f"Ada {next(numbers)}")
        return render(composed(stranger).request, ROUTE).body()

    return run, joiner(render(composed(persona).request, ROUTE))


@benchmark("source map", against="join the same strings", gate=40)
def source_map() -> Pair:
    """Only made when somebody asks where a byte came from."""
    rendering = render(composer()(demo_persona()).request, ROUTE)
    return rendering.source_map, joiner(rendering)
