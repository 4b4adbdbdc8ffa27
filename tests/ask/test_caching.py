"""The cache plan counted and priced, held against what providers report, and what is learned."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from mentis.app.agent import Agent
from mentis.ask.caching import REMEMBERED, Caching, span_name
from mentis.ask.prices import input_rate
from mentis.engines.counters import counter_for
from mentis.errors import ProviderRefused, SettingsError
from mentis.facts.abilities import wire_of
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.home.system import RandomIds
from mentis.ledger.chain import make_stamp
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.provider import Provider
from mentis.record.record import open_record
from mentis.render.wires import render_for
from mentis.settings.sources import load_settings
from mentis.values.entry import Draft, Entry
from mentis.values.part import MediaPart, TextPart
from mentis.values.rendering import Rendering
from mentis.values.reply import Usage
from mentis.values.request import PromptRequest, RuntimeContext
from mentis.values.route import Backend, Route
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
CLAUDE = Route("r", "anthropic", "claude-opus-5")
LONG = "The tide turns at noon, and we go out with it. " * 120
MODELS: list[tuple[Backend, str]] = [
    ("anthropic", "claude-opus-5"),
    ("openai", "gpt-5.6"),
    ("openai-responses", "gpt-5.1"),
    ("gemini", "gemini-2.5-flash"),
]


def told(
    route: Route, turns: Sequence[Turn] = (), *, system: str = LONG, now: str = ""
) -> Rendering:
    request = PromptRequest(
        system_instruction=(Span(system, block="identity"),),
        tool_declarations=(ToolDeclaration("look_up", "Look a word up."),),
        conversation_history=tuple(turns),
        current_text="And then?",
        runtime_ctx=RuntimeContext(spans=(Span(f"Now: {now}", stability=Stability.TURN),)),
    )
    return render_for(wire_of(route), request, route)


def talk(count: int) -> list[Turn]:
    pair = (Turn("user", (TextPart("Hm?"),)), Turn("assistant", (TextPart("Yes."),)))
    return [turn for _ in range(count) for turn in pair]


def caching(entries: Sequence[Entry] = ()) -> Caching:
    return Caching(lambda: entries)


# --- Prices -----------------------------------------------------------------------------------


def test_a_boundary_costs_a_tenth_when_hit_and_its_lifetime_when_missed() -> None:
    forecast = caching().forecast(told(CLAUDE, talk(1)), CLAUDE, now=NOW)
    tools, stable, history = forecast.boundaries
    assert [each.boundary.ttl for each in forecast.boundaries] == ["1h", "1h", "5m"]
    assert stable.hit.units == pytest.approx(stable.tokens.tokens * 0.1, abs=0.1)
    assert stable.missed.units == pytest.approx(stable.tokens.tokens * 2, abs=0.1)
    later = history.tokens.tokens - stable.tokens.tokens
    assert history.missed.units == pytest.approx(stable.missed.units + later * 1.25, abs=0.1)
    assert stable.hit.usd == pytest.approx(stable.tokens.tokens * 0.5 / 1e6)
    assert stable.missed.usd == pytest.approx(stable.tokens.tokens * 10 / 1e6)
    assert (tools.enough, stable.enough, forecast.minimum) == (False, True, 512)
    assert "genai-prices" in forecast.rate


def test_writing_costs_more_on_openai_models_that_are_marked_only() -> None:
    for model, write in (("gpt-5.6", 1.25), ("gpt-5.1", 1.0)):
        route = Route("r", "openai", model, url="https://h/v1")
        stable = caching().forecast(told(route), route, now=NOW).boundaries[1]
        assert stable.missed.units == pytest.approx(stable.tokens.tokens * write, abs=0.1)


def test_without_the_price_table_it_is_said_and_tokens_remain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    forecast = caching().forecast(told(CLAUDE), CLAUDE, now=NOW)
    assert "mentis[prices]" in forecast.rate
    assert forecast.boundaries[1].hit.usd is None
    assert forecast.boundaries[1].hit.units > 0


def test_a_route_sets_its_own_price_minimum_and_multiples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    facts = {"input_price": 3.0, "cache_minimum": 5000, "cache_read_price": 0.5}
    route = replace(CLAUDE, facts=facts)
    forecast = caching().forecast(told(route), route, now=NOW)
    stable = forecast.boundaries[1]
    assert (forecast.minimum, stable.enough) == (5000, False)
    assert stable.hit.usd == pytest.approx(stable.tokens.tokens * 1.5 / 1e6)


@pytest.mark.parametrize(
    ("route", "usd", "words"),
    [
        (Route("r", "embedded", "smollm2-135m"), 0.0, "free"),
        (
            Route("r", "openai", "some-model", url="http://127.0.0.1:1/v1"),
            None,
            "facts.input_price",
        ),
        (Route("r", "anthropic", "claude-of-tomorrow"), None, "no price is known"),
    ],
)
def test_what_has_no_price_says_why(route: Route, usd: float | None, words: str) -> None:
    rate = input_rate(route, 1000)
    assert rate.usd == usd
    assert words in rate.told


def test_the_price_of_a_long_prompt_is_that_of_its_tier() -> None:
    route = Route("r", "gemini", "gemini-3-pro-preview")
    short, long = input_rate(route, 1000).usd, input_rate(route, 500_000).usd
    assert short is not None
    assert long is not None
    assert long > short


# --- Tokens -----------------------------------------------------------------------------------


def test_counts_are_exact_where_a_tokenizer_is_and_the_text_is_sent_as_it_is() -> None:
    route = Route("r", "openai", "gpt-5.1", url="https://h/v1")
    request = PromptRequest(system_instruction=(Span(LONG),), current_text="Hello")
    rendering = render_for("openai-chat", request, route)
    (stable,) = caching().forecast(rendering, route, now=NOW).boundaries
    assert stable.tokens == counter_for("gpt-5.1").count(LONG)
    assert stable.tokens.exact
    # Schemas are written anew by the provider, in a form that nobody outside knows.
    assert not caching().forecast(told(route), route, now=NOW).boundaries[1].tokens.exact
    assert not caching().forecast(told(CLAUDE), CLAUDE, now=NOW).prompt.exact


# --- Before: what differs ----------------------------------------------------------------------


def test_what_changed_is_named_with_its_byte_its_tokens_and_its_price() -> None:
    before, after = told(CLAUDE, talk(2)), told(CLAUDE, talk(2), system=f"X{LONG}")
    broken = caching().forecast(after, CLAUDE, now=NOW, before=before).broken
    assert broken is not None
    assert span_name(broken.span) == "block identity"
    assert (broken.kept, broken.lost) == (1, 2)
    assert broken.tokens.tokens > 1000
    assert broken.cost.usd is not None
    assert broken.cost.usd > 0
    grown = caching().forecast(told(CLAUDE, talk(3)), CLAUDE, now=NOW, before=before).broken
    assert grown is not None
    assert (grown.lost, grown.tokens.tokens, grown.cost.units) == (0, 0, 0.0)


# --- After: what came of it --------------------------------------------------------------------


@pytest.mark.parametrize(("backend", "model"), MODELS)
def test_the_next_turn_is_expected_to_find_what_the_last_one_sent(
    backend: Backend, model: str
) -> None:
    route, known = Route("r", backend, model, url="https://h/v1"), caching()
    usage = Usage(input=1900)
    first = known.reconcile(told(route, talk(2)), route, usage, session="s", now=NOW).reconciled
    assert (first.expected.tokens, first.verdict) == (0, "as-expected")
    later = NOW + timedelta(seconds=30)
    rendering = told(route, talk(3), now="later")
    expected = known.forecast(rendering, route, now=later).expected.tokens
    assert expected > 1000
    hit = replace(usage, cache_read=expected)
    second = known.reconcile(rendering, route, hit, session="s", now=later).reconciled
    assert (second.expected.tokens, second.verdict, second.reasons) == (expected, "as-expected", ())


def test_a_miss_comes_with_what_may_explain_it() -> None:
    known = caching()
    known.reconcile(told(CLAUDE), CLAUDE, Usage(input=1900), session="s", now=NOW)
    missed = known.reconcile(
        told(CLAUDE), CLAUDE, Usage(input=1900), session="s", now=NOW
    ).reconciled
    assert missed.verdict == "less"
    assert "dropped it" in missed.reasons[-1]


def test_what_expired_is_not_expected_and_the_hour_outlives_the_minutes() -> None:
    known, usage = caching(), Usage(input=1900)
    known.reconcile(told(CLAUDE, talk(2)), CLAUDE, usage, session="s", now=NOW)
    rendering = told(CLAUDE, talk(3))
    soon, later, late = (
        known.forecast(rendering, CLAUDE, now=NOW + timedelta(minutes=minutes)).expected.tokens
        for minutes in (1, 20, 70)
    )
    assert soon > later > late == 0
    after = NOW + timedelta(minutes=70)
    gone = known.reconcile(rendering, CLAUDE, usage, session="s", now=after).reconciled
    assert gone.verdict == "as-expected"
    assert "kept for 5m" in " ".join(gone.reasons)


def test_below_the_minimum_nothing_is_expected_and_the_plan_says_so() -> None:
    known, usage = caching(), Usage(input=300)
    small = told(CLAUDE, system="Short.")
    known.reconcile(small, CLAUDE, usage, session="s", now=NOW)
    settled = known.reconcile(small, CLAUDE, usage, session="s", now=NOW).reconciled
    assert settled.expected.tokens == 0
    assert "below the minimum of 512" in settled.reasons[0]


def test_a_span_that_changed_is_named_after_the_call() -> None:
    known, usage = caching(), Usage(input=1900)
    known.reconcile(told(CLAUDE), CLAUDE, usage, session="s", now=NOW)
    changed = told(CLAUDE, system=f"X{LONG}")
    settled = known.reconcile(changed, CLAUDE, usage, session="s", now=NOW).reconciled
    assert settled.expected.tokens == 0
    assert settled.reasons[-1].startswith("block identity changed: ")


def test_another_conversation_with_the_same_beginning_finds_it_too() -> None:
    known, usage = caching(), Usage(input=1900)
    known.reconcile(told(CLAUDE, talk(2)), CLAUDE, usage, session="one", now=NOW)
    assert known.forecast(told(CLAUDE), CLAUDE, now=NOW).expected.tokens > 1000


def test_a_mark_too_many_blocks_away_is_not_found() -> None:
    known, usage = caching(), Usage(input=1900)
    known.reconcile(told(CLAUDE, talk(1)), CLAUDE, usage, session="s", now=NOW)
    near = known.forecast(told(CLAUDE, talk(10)), CLAUDE, now=NOW).expected.tokens
    far = known.forecast(told(CLAUDE, talk(13)), CLAUDE, now=NOW).expected.tokens
    assert near > far > 1000, "what is marked before the messages is still found"


def test_more_than_was_known_is_told_too() -> None:
    usage = Usage(input=1900, cache_read=1800)
    settled = caching().reconcile(told(CLAUDE), CLAUDE, usage, session="s", now=NOW).reconciled
    assert settled.verdict == "unforeseen"
    assert settled.reasons


# --- What is learned ---------------------------------------------------------------------------


def test_estimates_are_corrected_by_what_is_reported() -> None:
    known, rendering = caching(), told(CLAUDE)
    plain = known.forecast(rendering, CLAUDE, now=NOW).prompt.tokens
    for _ in range(3):
        usage = Usage(input=round(plain * 1.4))
        known.reconcile(rendering, CLAUDE, usage, session="s", now=NOW)
    assert known.calibration("claude-opus-5").seen == 3
    assert known.forecast(rendering, CLAUDE, now=NOW).prompt.tokens == pytest.approx(
        plain * 1.4, rel=0.01
    )
    counted = known.counter(CLAUDE).count(LONG)
    assert counted.tokens > counter_for("claude-opus-5").count(LONG).tokens
    assert not counted.exact
    assert known.counter(CLAUDE) is known.counter(CLAUDE)


def test_a_prompt_with_pictures_teaches_nothing() -> None:
    known, rendering = caching(), told(CLAUDE)
    usage = Usage(input=3000)
    known.reconcile(rendering, CLAUDE, usage, session="s", now=NOW, media=True)
    assert known.calibration("claude-opus-5").seen == 0


# --- Through an agent --------------------------------------------------------------------------


class ReportingProvider:
    """Answers like a chat server that reports usage, with what it is told to have cached."""

    def __init__(self, cached: Sequence[int]) -> None:
        self._cached = list(cached)
        self.sent: list[Rendering] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering)
        yield self._play()

    async def _play(self) -> AsyncIterator[str]:
        details = {"cached_tokens": self._cached.pop(0)}
        usage = {"prompt_tokens": 1700, "completion_tokens": 1, "prompt_tokens_details": details}
        choice = {"delta": {"content": "Yes."}, "finish_reason": "stop"}
        yield json.dumps({"choices": [choice], "usage": usage})


TOML = """[routes.default]
backend = "openai"
url = "https://h.invalid/v1"
model = "gpt-5.6"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    file = path / "mentis.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("[routes]", TOML), encoding="utf-8")
    return path


def open_agent(home: Path, provider: Provider, **environ: str) -> Agent:
    clock = FixedClock(NOW, timedelta(seconds=1))
    plain = {"MENTIS_ACTS__BUILTIN": "[]", **environ}  # what is reported fits a prompt without them
    return Agent.open(
        home, parts=Parts(provider=provider, clock=clock, ids=CountingIds(), environ=plain)
    )


@pytest.mark.anyio
async def test_what_was_done_since_does_not_crowd_out_what_was_sent(home: Path) -> None:
    async with open_agent(home, ReportingProvider([0])) as agent:
        await agent.chat("Hello!")
    with open_record(home) as record:
        acts = [Draft("act", "act", {"n": n}) for n in range(REMEMBERED + 1)]
        record.store.append(record.agent, acts, make_stamp(lambda: NOW, RandomIds().salt))
    async with open_agent(home, ReportingProvider([0])) as agent:
        (settled,) = (await agent.chat("And now?")).caching
    assert settled.expected.tokens > 1024


@pytest.mark.anyio
async def test_a_restart_forgets_nothing_that_was_sent(home: Path) -> None:
    async with open_agent(home, ReportingProvider([0])) as agent:
        (first,) = (await agent.chat("Hello!")).caching
    assert first.expected.tokens == 0
    async with open_agent(home, ReportingProvider([1400, 0])) as agent:
        second = await agent.chat("And now?")
        (settled,) = second.caching
        assert settled.expected.tokens > 1024
        assert settled.verdict == "as-expected", settled
        (recorded,) = cast("list[dict[str, object]]", second.entry.body["cache"])
        assert recorded["expected"] == settled.expected.tokens
        (missed,) = (await agent.chat("Still there?")).caching
        assert missed.verdict == "less"
        assert agent.verify().intact


@pytest.mark.anyio
async def test_pictures_in_a_turn_do_not_spoil_the_correction(home: Path) -> None:
    toml = (home / "mentis.toml").read_text(encoding="utf-8").replace("gpt-5.6", "some-model")
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    from mentis.values.recalled import Stimulus

    picture = MediaPart("image", "image/png", b"\x89PNG\r\n\x1a\n" + bytes(8))
    async with open_agent(home, ReportingProvider([0])) as agent:
        result = await agent.chat(Stimulus("See?", attachments=(picture,)))
    (recorded,) = cast("list[dict[str, object]]", result.entry.body["cache"])
    assert recorded["input"] == 0


@pytest.mark.anyio
@pytest.mark.parametrize("model", [f"{backend}/{model}" for backend, model in MODELS])
async def test_with_prompt_caching_off_no_mark_goes_out_and_nothing_is_expected(
    home: Path, model: str
) -> None:
    for off in ({"ENABLE_PROMPT_CACHING": "false"}, {"MENTIS_FEATURES__PROMPT_CACHING": "false"}):
        route = load_settings(home, off).route(model)
        assert not route.caching
        rendering = told(route, talk(2))
        body = rendering.body()
        for mark in (b"cache_control", b"prompt_cache", b"cachedContent"):
            assert mark not in body
        assert rendering.cache_plan.boundaries == ()
        known = caching()
        known.reconcile(rendering, route, Usage(input=1900), session="s", now=NOW)
        settled = known.reconcile(rendering, route, Usage(input=1900), session="s", now=NOW)
        assert (settled.reconciled.expected.tokens, settled.reconciled.verdict) == (
            0,
            "as-expected",
        )


# --- Caches that are made and named -------------------------------------------------------------


class GeminiServer:
    """Makes caches and answers on top of them, as a Gemini server would."""

    def __init__(self, *, makes: bool = True, knows: bool = True) -> None:
        self.sent: list[Rendering] = []
        self._makes, self._knows = makes, knows

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering)
        if rendering.wire == "gemini-cache" and not self._makes:
            raise ProviderRefused("route 'default': status 429: too many caches", status=429)
        if rendering.payload.get("cachedContent") and not self._knows:
            raise ProviderRefused("route 'default': status 403: no such cache", status=403)
        yield self._answer(rendering)

    async def _answer(self, rendering: Rendering) -> AsyncIterator[str]:
        if rendering.wire == "gemini-cache":
            made = sum(each.wire == "gemini-cache" for each in self.sent)
            yield json.dumps({"name": f"cachedContents/{made}", "model": "models/m"})
            return
        cached = 1500 if "cachedContent" in rendering.payload else 0
        usage = {"promptTokenCount": 1600, "cachedContentTokenCount": cached}
        candidate = {"content": {"role": "model", "parts": [{"text": "Yes."}]}}
        stop = {**candidate, "finishReason": "STOP"}
        yield json.dumps({"candidates": [stop], "usageMetadata": usage})


EXPLICIT = """[routes.default]
backend = "gemini"
model = "gemini-2.5-flash"
cache = "explicit"
cache_seconds = 600
"""


@pytest.fixture
def explicit(home: Path) -> Path:
    file = home / "mentis.toml"
    file.write_text(file.read_text(encoding="utf-8").replace(TOML, EXPLICIT), encoding="utf-8")
    return home


@pytest.mark.anyio
async def test_a_cache_is_made_once_and_used_until_it_ends(explicit: Path) -> None:
    server = GeminiServer()
    async with open_agent(explicit, server) as agent:
        first = await agent.chat("Hello!")
        second = await agent.chat("And now?")
        assert [agent.replay(index).identical for index in (0, 1)] == [True, True]
        fork = agent.fork(1, {"style": "Speak like a pirate."})
        assert b"pirate" in fork.shown.rendering.body(), "what the cache holds is not forked"
    assert [each.wire for each in server.sent] == ["gemini-cache", "gemini", "gemini"]
    assert server.sent[0].payload["ttl"] == "600s"
    for each in server.sent[1:]:
        assert each.payload["cachedContent"] == "cachedContents/1"
        assert not {"systemInstruction", "tools", "toolConfig"} & set(each.payload)
    for result in (first, second):
        (settled,) = result.caching
        assert settled.verdict == "as-expected", settled
        assert settled.expected.tokens > 1024
        digests = cast("dict[str, str]", result.entry.body["digests"])
        assert digests["payload"] == result.rendering.digest, "what is recorded is what was sent"


@pytest.mark.anyio
async def test_a_cache_that_cannot_be_made_is_told_and_the_whole_is_sent(explicit: Path) -> None:
    server = GeminiServer(makes=False)
    async with open_agent(explicit, server) as agent:
        result = await agent.chat("Hello!")
    assert "systemInstruction" in result.rendering.payload
    (loss,) = (loss for loss in result.rendering.losses if loss.code == "cache-not-made")
    assert "429" in loss.message


@pytest.mark.anyio
async def test_a_cache_the_server_lost_is_made_anew(explicit: Path) -> None:
    server = GeminiServer(knows=False)
    async with open_agent(explicit, server) as agent:
        with pytest.raises(ProviderRefused):
            await agent.chat("Hello!")
        with pytest.raises(ProviderRefused):
            await agent.chat("Hello?")
    assert [each.wire for each in server.sent].count("gemini-cache") == 2


@pytest.mark.anyio
async def test_too_little_text_is_sent_without_a_cache(explicit: Path) -> None:
    server = GeminiServer()
    environ = {"MENTIS_ROUTES__DEFAULT__VARIANT": "compact"}
    async with open_agent(explicit, server, **environ) as agent:
        result = await agent.chat("Hello!")
    assert [each.wire for each in server.sent] == ["gemini"]
    assert any("below the minimum" in loss.message for loss in result.rendering.losses)


@pytest.mark.anyio
async def test_switched_off_no_cache_is_made(explicit: Path) -> None:
    server = GeminiServer()
    async with open_agent(explicit, server, ENABLE_PROMPT_CACHING="false") as agent:
        await agent.chat("Hello!")
    assert [each.wire for each in server.sent] == ["gemini"]


def test_a_backend_without_such_caches_refuses_the_setting(home: Path) -> None:
    with pytest.raises(SettingsError, match="no cache that is made and named"):
        load_settings(home, {"MENTIS_ROUTES__DEFAULT__CACHE": "explicit"})
