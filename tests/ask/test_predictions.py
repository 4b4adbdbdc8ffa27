"""What the plan predicted beside what was reported: in exchanges made for it, and by a real engine.

The exchanges in `recorded/` were made, not taken from a provider: two turns for each wire format,
with usage told as each provider tells it and tokens counted by another counter than ours (the
o200k tokenizer, times 1.15 for Claude and 1.05 for Gemini, plus four for each message).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.ask.caching import Caching
from mentis.call.replay import ReplayProvider
from mentis.facts.abilities import wire_of
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.render.wires import render_for
from mentis.settle.readers import reader_for
from mentis.values.part import TextPart
from mentis.values.rendering import Rendering
from mentis.values.reply import Usage
from mentis.values.request import PromptRequest, RuntimeContext
from mentis.values.route import Backend, Route
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

pytestmark = pytest.mark.anyio

RECORDED = Path(__file__).parent / "recorded"
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
TOLERANCE = 0.15
MODELS: dict[Backend, str] = {
    "anthropic": "claude-opus-5",
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "gemini": "gemini-2.5-flash",
}
RULES = "\n".join(
    f"{number}. Before you answer question {number} of a sailor, look at the tide table, say which "
    f"harbour you mean, and name the hour in local time; if the wind is above force {number % 8}, "
    "say so first, in one plain sentence, and leave out everything that nobody asked for."
    for number in range(1, 31)
)
TALK = (
    Turn("user", (TextPart("When does the tide turn in Husum tomorrow?"),)),
    Turn("assistant", (TextPart("At 11:40 and again at 23:58, local time."),)),
)


def rendered(backend: Backend, turn: int) -> tuple[Rendering, Route]:
    folder = str(RECORDED / backend)
    route = Route("r", "replay", MODELS[backend], replays=backend, folder=folder, match="order")
    request = PromptRequest(
        system_instruction=(Span(RULES, block="rules"),),
        tool_declarations=(ToolDeclaration("tides", "The tide table of a harbour."),),
        conversation_history=TALK[: 2 * turn],
        current_text="And the day after?" if turn else TALK[0].text,
        runtime_ctx=RuntimeContext(spans=(Span(f"Turn {turn}.", stability=Stability.TURN),)),
    )
    return render_for(wire_of(route), request, route.for_rendering()), route


async def answered(rendering: Rendering, route: Route, provider: ReplayProvider) -> Usage:
    reader = reader_for(rendering.wire, rendering.name_map, model=route.model)
    async with provider.open(rendering, route) as events:
        async for event in events:
            reader.feed(event)
    usage = reader.finish().usage
    assert usage is not None
    return usage


@pytest.mark.parametrize("backend", list(MODELS))
async def test_the_second_turn_finds_what_the_plan_said_it_would(backend: Backend) -> None:
    known, provider = Caching(list), ReplayProvider()
    for turn in range(2):
        rendering, route = rendered(backend, turn)
        now = NOW + timedelta(seconds=40 * turn)
        expected = known.forecast(rendering, route, now=now).expected.tokens
        usage = await answered(rendering, route, provider)
        settled = known.reconcile(rendering, route, usage, session="s", now=now).reconciled
        assert settled.verdict == "as-expected", settled
        assert settled.expected.tokens == expected
        assert settled.read == pytest.approx(expected, rel=TOLERANCE)
        assert settled.input == pytest.approx(settled.prompt.tokens, rel=0.3)
        assert bool(settled.read) == bool(turn)


@pytest.mark.model
async def test_the_embedded_model_reports_the_tokens_the_plan_predicted(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    chosen = {"THREADS": "1", "MAX_TOKENS": "8", "TEMPERATURE": "0"}  # the same words each time
    environ = {f"MENTIS_ROUTES__DEFAULT__{name}": value for name, value in chosen.items()}
    async with Agent.open(home, parts=Parts(environ=environ)) as agent:
        results = [await agent.chat(text) for text in ("Hello!", "What is the sea?", "And salt?")]
    first, *later = [settled for result in results for settled in result.caching]
    assert first.expected.tokens == 0
    for settled in later:
        assert settled.verdict == "as-expected", settled
        assert settled.read == pytest.approx(settled.expected.tokens, rel=TOLERANCE)
        assert settled.input == pytest.approx(settled.prompt.tokens, rel=TOLERANCE)
