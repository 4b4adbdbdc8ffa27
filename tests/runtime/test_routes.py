"""Which route a name means, what it falls back on, and whether it is ready."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from mentis.call.scripted import ScriptedProvider
from mentis.errors import (
    BadInput,
    BudgetReached,
    ProviderRefused,
    ProviderUnreachable,
    RouteError,
    SettingsError,
)
from mentis.runtime.agent import Agent
from mentis.runtime.calls import call_route
from mentis.runtime.homes import create_home
from mentis.runtime.routes import check_routes
from mentis.runtime.settings import Settings
from mentis.runtime.settings_sources import load_settings
from mentis.runtime.wiring import Parts
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio


def settings_of(toml: str, environ: dict[str, str] | None = None, *, home: Path) -> Settings:
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    return load_settings(home, environ or {})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("anthropic/claude-opus-5", ("anthropic", "claude-opus-5", "ANTHROPIC_API_KEY")),
        ("gemini/gemini-3-pro", ("gemini", "gemini-3-pro", "GEMINI_API_KEY")),
        ("openai-responses/gpt-6", ("openai-responses", "gpt-6", "OPENAI_API_KEY")),
        ("openrouter/vendor/model", ("openai", "vendor/model", "OPENROUTER_API_KEY")),
        ("ollama/llama:8b", ("openai", "llama:8b", "")),
    ],
)
def test_a_direct_name_is_a_route(home: Path, name: str, meant: tuple[str, str, str]) -> None:
    route = settings_of("", home=home).route(name)
    assert (route.backend, route.model, route.key_env) == meant
    assert route.name == name
    assert route.url


def test_a_route_of_ones_own_comes_before_a_direct_name(home: Path) -> None:
    toml = '[routes."anthropic/x"]\nreplies = ["Hi"]\n'
    assert settings_of(toml, home=home).route("anthropic/x").backend == "scripted"


def test_a_known_provider_needs_no_address(home: Path) -> None:
    toml = '[routes.a]\nbackend = "anthropic"\nmodel = "claude-opus-5"\n'
    route = settings_of(toml, home=home).route("a")
    assert (route.url, route.key_env) == ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")


def test_the_key_of_a_provider_does_not_go_to_another_address(home: Path) -> None:
    toml = '[routes.a]\nbackend = "anthropic"\nmodel = "m"\nurl = "https://else.example/v1"\n'
    assert settings_of(toml, home=home).route("a").key_env == ""


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('backend = "anthropic"', "needs a model"),
        ('backend = "replay"', "folder"),
        ('folder = "x"\nbackend = "scripted"', "folder"),
        ('backend = "embedded"\nurl = "http://127.0.0.1/v1"', "url is for a server"),
        ("attempts = 0", "greater than or equal to 1"),
        ("facts = {vison = true}", "did you mean 'vision'"),
    ],
)
def test_a_route_that_makes_no_sense_is_named(home: Path, toml: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        settings_of(f"[routes.a]\n{toml}\n", home=home)


def test_a_chain_is_the_route_and_its_fallbacks_once_each(home: Path) -> None:
    toml = '[routes.a]\nreplies = ["x"]\nfallback = ["b", "ollama/m", "a", "b"]\n[routes.b]\n'
    chain = settings_of(toml, home=home).chain("a")
    assert [route.name for route in chain] == ["a", "b", "ollama/m"]


def test_a_fallback_that_is_not_there_is_named(home: Path) -> None:
    with pytest.raises(RouteError, match="'nope'"):
        settings_of('[routes.a]\nfallback = ["nope"]\n', home=home).chain("a")


def test_a_replay_falls_back_on_nothing_that_could_reach_the_network(home: Path) -> None:
    toml = '[routes.a]\nfolder = "tape"\nfallback = ["ollama/m"]\n'
    with pytest.raises(RouteError, match="is a replay and falls back on 'ollama/m'"):
        settings_of(toml, home=home).chain("a")


def test_a_stage_has_the_route_with_its_name_or_the_default(home: Path) -> None:
    settings = settings_of('[routes.correction]\nreplies = ["x"]\n', home=home)
    assert settings.stage("correction").name == "correction"
    assert settings.stage("beat").name == "default"


@pytest.mark.parametrize(
    ("environ", "caching"),
    [({}, True), ({"ENABLE_PROMPT_CACHING": "false"}, False)],
)
def test_caching_is_switched_off_everywhere(
    home: Path, environ: dict[str, str], caching: bool
) -> None:
    settings = settings_of("", environ, home=home)
    assert settings.route().caching is caching
    assert settings.route("anthropic/x").caching is caching


class Places:
    """Answers or fails by the name of the route; `half` says something before it fails."""

    def __init__(self, *, half: bool = False, failure: Exception | None = None) -> None:
        self._half = half
        self._failure = failure or ProviderUnreachable("nobody there")
        self.asked: list[tuple[str, str]] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.asked.append((route.name, rendering.wire))
        yield self._events(route)

    async def _events(self, route: Route) -> AsyncIterator[str]:
        if route.name == "other":
            yield json.dumps({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]})
            return
        if self._half:
            text = {"type": "text_delta", "text": "Ha"}
            block = {"type": "text", "text": ""}
            yield json.dumps({"type": "content_block_start", "index": 0, "content_block": block})
            yield json.dumps({"type": "content_block_delta", "index": 0, "delta": text})
        raise self._failure


CHAIN = """
[routes.default]
backend = "anthropic"
model = "claude-opus-5"
fallback = ["nowhere", "other"]
[routes.nowhere]
backend = "gemini"
model = "gemini-3-pro"
[routes.other]
url = "http://127.0.0.1:1/v1"
model = "m"
"""


def open_chain(home: Path, provider: Places, extra: str = "") -> Agent:
    (home / "mentis.toml").write_text(CHAIN + extra, encoding="utf-8")
    return Agent.open(home, parts=Parts(provider=provider, environ={}))


async def test_a_turn_falls_back_and_says_on_whom(home: Path) -> None:
    places = Places()
    async with open_chain(home, places) as agent:
        result = await agent.chat("Hello?")
        (entry,) = agent.entries()
    assert result.reply.text == "Hi."
    assert places.asked == [
        ("default", "anthropic"),
        ("nowhere", "gemini"),
        ("other", "openai-chat"),
    ], "each is told in its own format"
    assert [passed.route for passed in result.passed] == ["default", "nowhere"]
    route = cast("dict[str, object]", entry.body["route"])
    after = cast("list[dict[str, str]]", route["after"])
    assert route["name"] == "other"
    assert [passed["failure"] for passed in after] == ["provider-unreachable"] * 2
    assert result.rendering.wire == "openai-chat"


async def test_nothing_falls_back_once_something_was_said(home: Path) -> None:
    places = Places(half=True)
    async with open_chain(home, places) as agent:
        with pytest.raises(ProviderUnreachable):
            await agent.chat("Hello?")
        assert agent.history()[1].text == "Ha"
    assert len(places.asked) == 1


async def test_a_fault_of_the_user_is_told_and_not_passed_over(home: Path) -> None:
    places = Places(failure=RouteError("no key"))
    async with open_chain(home, places) as agent:
        with pytest.raises(RouteError, match="no key"):
            await agent.chat("Hello?")
    assert len(places.asked) == 1


async def test_when_all_fail_the_last_failure_is_told(home: Path) -> None:
    places = Places(failure=ProviderRefused("busy", status=429))
    toml = CHAIN.replace('"nowhere", "other"', '"nowhere"')
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    async with Agent.open(home, parts=Parts(provider=places, environ={})) as agent:
        with pytest.raises(ProviderRefused):
            await agent.chat("Hello?")
        assert len(agent.entries()) == 1
    assert len(places.asked) == 2


async def test_a_budget_is_checked_before_anything_is_sent(home: Path) -> None:
    places = Places()
    async with open_chain(home, places, "[budgets]\nday_tokens = 1\n") as agent:
        with pytest.raises(BudgetReached, match="day_tokens"):
            await agent.chat("Hello?")
        (entry,) = agent.entries()
    assert places.asked == []
    turn = entry.body["turn"]
    assert isinstance(turn, dict)
    assert turn["failure"] == "budget-reached"


async def test_turns_are_recorded_and_replayed_to_the_byte(home: Path) -> None:
    toml = '[record]\nfolder = "tape"\n[routes.default]\nreplies = ["One.", "Two."]\n'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    async with Agent.open(home, parts=Parts(environ={})) as agent:
        first = await agent.chat("Hello?")
    toml = '[routes.default]\nfolder = "tape"\nreplays = "scripted"\nmatch = "order"\n'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    async with Agent.open(home, parts=Parts(environ={})) as agent:
        again = await agent.chat("Hello?", session="other")
    assert again.reply.raw == first.reply.raw


async def test_every_route_is_checked_and_what_is_missing_is_told(home: Path) -> None:
    toml = (
        '[routes.default]\nreplies = ["x"]\n'
        '[routes.a]\nbackend = "anthropic"\nmodel = "m"\nfallback = ["default"]\n'
        '[routes.b]\nfallback = ["nope"]\nmodel = "no-such.gguf"\n'
        '[routes.c]\nfolder = "tape"\n'
    )
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    checks = await check_routes(home, parts=Parts(environ={}))
    problems = {check.name: " | ".join(check.problems) for check in checks}
    assert problems["default"] == ""
    assert "ANTHROPIC_API_KEY, which is not set" in problems["a"]
    assert "'nope'" in problems["b"]
    assert "no model file" in problems["b"]
    assert "no recordings" in problems["c"]
    (one,) = await check_routes(
        home, only="a", parts=Parts(environ={"ANTHROPIC_API_KEY": "sk-ant-1"})
    )
    assert (one.problems, one.wire) == ((), "anthropic")


async def test_a_live_check_makes_one_small_call(home: Path) -> None:
    (home / "mentis.toml").write_text('[routes.default]\nreplies = ["x"]\n', encoding="utf-8")
    (check,) = await check_routes(home, live=True, parts=Parts(environ={}))
    assert (check.problems, check.said) == ((), "answered, stop: end")
    refused = Parts(provider=Places(), environ={})
    (check,) = await check_routes(home, live=True, parts=refused)
    assert check.problems == ("nobody there",)


async def test_a_payload_a_rendering_and_a_request_are_called_alike(home: Path) -> None:
    (home / "mentis.toml").write_text('[routes.default]\nreplies = ["x"]\n', encoding="utf-8")
    payload = {"messages": [{"role": "user", "content": "Hi"}]}
    request: dict[str, object] = {"system_instruction": [], "current_text": "Hi"}
    sources: tuple[object, ...] = (payload, {"wire": "openai-chat", "payload": payload}, request)
    for source in sources:
        scripted, heard = ScriptedProvider(["Fine."]), list[str]()
        parts = Parts(provider=scripted, environ={})
        reply = await call_route(home, json.dumps(source), parts=parts, hear=heard.append)
        assert (reply.text, reply.stop) == ("Fine.", "end")
        assert len(heard) == 2
        assert scripted.sent[0].payload["messages"] == payload["messages"]


@pytest.mark.parametrize(
    ("source", "said"),
    [("[]", "not a JSON object"), ("{", "JSON"), ('{"wire": "gemini", "payload": {}}', "speaks")],
)
async def test_what_cannot_be_sent_is_named(home: Path, source: str, said: str) -> None:
    (home / "mentis.toml").write_text('[routes.default]\nreplies = ["x"]\n', encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        await call_route(home, source, parts=Parts(environ={}), hear=lambda _: None)
