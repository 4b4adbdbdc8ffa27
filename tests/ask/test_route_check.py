"""Which route a name means, what it falls back on, and whether it is ready."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import anyio
import pytest
from tests.model_servers import LLAMACPP, LMSTUDIO, OLLAMA, VLLM, ModelServer, serving

from mentis.app import wiring
from mentis.app.agent import Agent
from mentis.ask.attachments import attach
from mentis.ask.one_call import call_route
from mentis.ask.route_check import check_routes
from mentis.call.scripted import ScriptedProvider
from mentis.codec.forms import to_object
from mentis.compose.compat import as_json_prompt
from mentis.errors import (
    BadInput,
    BudgetReached,
    OutsideHome,
    ProviderRefused,
    ProviderUnreachable,
    RouteError,
    SettingsError,
)
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.values.cognition import Sense
from mentis.values.part import MediaPart
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration

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
        ("vllm/qwen3", ("openai", "qwen3", "")),
        ("llamacpp/qwen3", ("openai", "qwen3", "")),
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
    assert [passed.route for passed in result.passed_over] == ["default", "nowhere"]
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
        reply = await call_route(home, json.dumps(source), parts=parts, on_event=heard.append)
        assert (reply.text, reply.stop) == ("Fine.", "end")
        assert len(heard) == 2
        assert scripted.sent[0].payload["messages"] == payload["messages"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("[]", "not a JSON object"),
        ("{", "JSON"),
        ('{"wire": "gemini", "payload": {}}', "speaks"),
        ('{"wire": "openai-chat", "payload": 5}', "the payload is not a JSON object"),
        ('{"wire": "openai-chat", "payload": {}, "name_map": 5}', "name_map is not"),
        ('{"wire": "openai-chat", "payload": {}, "name_map": {"a": 5}}', "no name"),
        ('{"messages": [{"role": "user", "content": "\\ud800"}]}', "lone surrogate"),
        ('{"system_instruction": [], "current_text": "\\ud800"}', "hex escape"),
    ],
)
async def test_what_cannot_be_sent_is_named(home: Path, source: str, said: str) -> None:
    (home / "mentis.toml").write_text('[routes.default]\nreplies = ["x"]\n', encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        await call_route(home, source, parts=Parts(environ={}), on_event=lambda _: None)


async def test_a_request_and_the_older_dict_around_one_are_called_alike(home: Path) -> None:
    (home / "mentis.toml").write_text('[routes.default]\nreplies = ["x"]\n', encoding="utf-8")
    request = PromptRequest(current_text="Hi", tool_declarations=(ToolDeclaration("note", "n"),))
    older = as_json_prompt(request)
    in_json = {**older, "__prompt_request": to_object(request)}
    composed = {"request": to_object(request), "trace": {}}
    sources = (request, older, json.dumps(in_json), json.dumps(composed))
    bodies = list[bytes]()
    for source in sources:
        scripted = ScriptedProvider(["Fine."])
        parts = Parts(provider=scripted, environ={})
        reply = await call_route(home, source, parts=parts, on_event=lambda _: None)
        assert reply.text == "Fine."
        bodies.append(scripted.sent[0].body())
    assert set(bodies) == {bodies[0]}
    with pytest.raises(BadInput, match="holds no request"):
        await call_route(home, {"a": 1}, parts=Parts(environ={}), on_event=lambda _: None)


async def test_a_path_inside_a_request_is_not_read(home: Path, tmp_path: Path) -> None:
    (home / "mentis.toml").write_text('[routes.default]\nreplies = ["x"]\n', encoding="utf-8")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    part = MediaPart("document", "text/plain", path=str(secret))
    source = json.dumps(to_object(PromptRequest(current_text="Hi", attachments=(part,))))
    with pytest.raises(BadInput, match="no folder is given"):
        await call_route(home, source, parts=Parts(environ={}), on_event=lambda _: None)
    beside = tmp_path / "beside"
    beside.mkdir()
    with pytest.raises(OutsideHome):
        await call_route(
            home, source, parts=Parts(environ={}), folder=beside, on_event=lambda _: None
        )


@pytest.mark.parametrize("name", ["../secret.txt", "link.txt", "~/secret.txt"])
async def test_a_request_reads_nothing_outside_its_folder(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (home / "mentis.toml").write_text('[routes.default]\nreplies = ["x"]\n', encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(folder)
    part = MediaPart("document", "text/plain", path=name)
    source = json.dumps(to_object(PromptRequest(current_text="Hi", attachments=(part,))))
    with pytest.raises((OutsideHome, BadInput)):
        await call_route(
            home, source, parts=Parts(environ={}), folder=Path(), on_event=lambda _: None
        )


async def test_a_file_is_read_beside_a_request_and_wherever_a_program_names_it(
    home: Path, tmp_path: Path
) -> None:
    toml = '[routes.default]\nbackend = "anthropic"\nmodel = "claude-opus-5"\n'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    (tmp_path / "note.txt").write_text("The note.")
    beside = MediaPart("document", "text/plain", path="note.txt")
    read = json.dumps(to_object(PromptRequest(current_text="Hi", attachments=(beside,))))
    own = PromptRequest(current_text="Hi", attachments=(attach(tmp_path / "note.txt"),))
    sent: list[Rendering] = []
    for source in (read, own):
        scripted = ScriptedProvider(["{}"])
        parts = Parts(provider=scripted, environ={})
        await call_route(home, source, parts=parts, folder=tmp_path, on_event=lambda _: None)
        sent += scripted.sent
    assert all(b"The note." in rendering.body() for rendering in sent)
    assert len(sent) == 2


async def test_a_route_that_falls_back_on_itself_is_not_ready(home: Path) -> None:
    toml = (
        '[routes]\nsame = "other"\n'
        '[routes.default]\nreplies = ["x"]\nfallback = ["default"]\n'
        '[routes.other]\nreplies = ["y"]\nfallback = ["same"]\n'
        '[routes.a]\nreplies = ["a"]\nfallback = ["b"]\n'
        '[routes.b]\nreplies = ["b"]\nfallback = ["c"]\n'
        '[routes.c]\nreplies = ["c"]\nfallback = ["a"]\n'
    )
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    checks = {check.name: check for check in await check_routes(home, parts=Parts(environ={}))}
    assert "falls back on itself" in checks["default"].problems[0]
    assert "(as 'same')" in checks["other"].problems[0]
    assert checks["a"].problems == ()
    assert "a -> b -> c -> a" in checks["a"].notes[0]


async def test_what_a_provider_does_not_report_is_counted_as_planned(home: Path) -> None:
    toml = '[routes.default]\nreplies = ["x", "y"]\nmax_tokens = 50\n'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    async with Agent.open(home, parts=Parts(environ={})) as agent:
        await agent.chat("Hello?")
        (entry,) = agent.entries()
    planned = cast("dict[str, int]", entry.body["planned"])
    assert planned["output"] == 50
    assert planned["input"] > 0
    assert "usage" not in entry.body
    used = planned["input"] + 50
    toml += f"[budgets]\nday_tokens = {2 * used - 1}\n"
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    async with Agent.open(home, parts=Parts(environ={})) as agent:
        with pytest.raises(BudgetReached, match=f"{used} \\+ "):
            await agent.chat("Hello?")


class Waiting(ScriptedProvider):
    """Answers once it is let."""

    def __init__(self) -> None:
        super().__init__(["Hello."])
        self.asked, self.may = anyio.Event(), anyio.Event()

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.asked.set()
        await self.may.wait()
        async with super().open(rendering, route) as events:
            yield events


@pytest.mark.parametrize("way", ["chat", "tick"])
async def test_a_budget_of_a_day_holds_over_processes_that_ask_at_once(
    home: Path, way: str
) -> None:
    toml = '[routes.default]\nbackend = "scripted"\nreplies = ["x"]\nmax_tokens = 50\n[budgets]\n'
    (home / "mentis.toml").write_text(f"{toml}day_tokens = 20000\n", encoding="utf-8")
    slow, rain = Waiting(), Sense("s", "input", {"text": "It rains."})
    places = home / "owners" / "budget" / "ada"
    async with (
        Agent.open(home, parts=Parts(environ={}, provider=slow)) as one,
        Agent.open(home, parts=Parts(environ={}, provider=ScriptedProvider(["Hi."]))) as other,
        anyio.create_task_group() as beside,
    ):
        if way == "tick":
            beside.start_soon(one.tick, [rain])
        else:
            beside.start_soon(one.chat, "Hi")
        await slow.asked.wait()
        (held,) = places.glob("*.held")
        most = json.loads(held.read_text(encoding="utf-8"))["tokens"]
        (places / "killed.held").write_text(json.dumps({"tokens": 9**9, "usd": "0"}))
        (home / "mentis.toml").write_text(f"{toml}day_tokens = {most + 60}\n", encoding="utf-8")
        with pytest.raises(BudgetReached, match=rf"{most} of it under way elsewhere"):
            await other.chat("Hello?", session="other")
        slow.may.set()
    assert list(places.iterdir()) == []


async def test_an_answer_that_breaks_off_is_counted_and_one_never_sent_is_not(home: Path) -> None:
    async with open_chain(home, Places(half=True)) as agent:
        with pytest.raises(ProviderUnreachable):
            await agent.chat("Hello?")
        (entry,) = agent.entries()
        assert "planned" in entry.body
    refused = ProviderRefused("no", status=401)
    for failure in (refused, ProviderUnreachable("no", sent=False)):
        async with open_chain(home, Places(failure=failure)) as agent:
            await agent.chat("Hello?", session="fresh")
            assert "unanswered" not in agent.entries()[-1].body
    async with open_chain(home, Places()) as agent:
        await agent.chat("Hello?", session="fresh")
        told = cast("list[dict[str, object]]", agent.entries()[-1].body["unanswered"])
    assert cast("dict[str, str]", told[0]["route"])["name"] == "default"
    assert all("planned" in one for one in told)


async def test_a_record_is_priced_with_the_routes_of_the_settings_and_the_right_one_named(
    home: Path,
) -> None:
    toml = (
        '[routes.default]\nbackend = "openai"\nurl = "http://127.0.0.1:9/v1"\nmodel = "mine"\n'
        "max_tokens = 50\n{facts}"
        '[routes.free]\nreplies = ["x"]\n[budgets]\nagent_usd = 1\n'
    )
    (home / "mentis.toml").write_text(toml.format(facts="").replace("agent_usd = 1", ""))
    parts = Parts(provider=ScriptedProvider(["One.", "Two."]), environ={})
    async with Agent.open(home, parts=parts) as agent:
        await agent.chat("Hello?")
    (home / "mentis.toml").write_text(toml.format(facts=""))
    async with Agent.open(home, route="free", parts=parts) as agent:
        with pytest.raises(BudgetReached, match="'default', which entry 0") as caught:
            await agent.chat("Hello?")
    assert "routes.default.facts" in caught.value.hint
    facts = "facts = { input_price = 1.0, output_price = 1.0 }\n"
    (home / "mentis.toml").write_text(toml.format(facts=facts))
    async with Agent.open(home, route="free", parts=parts) as agent:
        assert (await agent.chat("Hello?")).reply.text == "One."


async def test_a_call_is_held_to_the_budgets(home: Path) -> None:
    toml = '[routes.default]\nreplies = ["x"]\nmax_tokens = 50\n[budgets]\nturn_tokens = 60\n'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    scripted = ScriptedProvider(["Fine."])
    parts = Parts(provider=scripted, environ={})
    long = PromptRequest(current_text="word " * 100)
    with pytest.raises(BudgetReached, match="turn_tokens"):
        await call_route(home, long, parts=parts, on_event=lambda _: None)
    toml = toml.replace("turn_tokens = 60", "day_tokens = 1000")
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    short = PromptRequest(current_text="Hi")
    assert (await call_route(home, short, parts=parts, on_event=lambda _: None)).text == "Fine."


def test_a_name_may_stand_for_another_route(home: Path) -> None:
    toml = (
        '[routes]\ndefault = "fast"\ncorrection = "anthropic/claude-x"\n'
        'fast = { replies = ["x"] }\n'
    )
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    settings = load_settings(home, {})
    assert (settings.route().name, settings.route().replies) == ("default", ("x",))
    assert settings.stage("correction").model == "claude-x"
    assert settings.stage("beat").name == "default"


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('default = "a"\na = "b"\nb = "a"', "leads in a circle"),
        ('default = "default"', "leads in a circle"),
        ('default = "nowhere"', "there is no route 'nowhere'"),
    ],
)
def test_an_alias_that_leads_nowhere_is_named(home: Path, toml: str, said: str) -> None:
    (home / "mentis.toml").write_text(f"[routes]\n{toml}\n", encoding="utf-8")
    with pytest.raises(RouteError, match=said):
        load_settings(home, {}).route()


async def test_the_check_says_what_each_route_is_used_for(home: Path) -> None:
    toml = '[routes]\ndefault = { replies = ["x"] }\ncorrection = "default"\n'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")
    checks = await check_routes(home, parts=Parts(environ={}))
    used = {check.name: check.stages for check in checks}
    assert used == {
        "correction": ("correction",),
        "default": ("turn", "beat", "afterthought", "persona_update", "primary"),
    }


def test_a_replay_is_not_corrected_over_the_network(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = '[routes]\ndefault = { folder = "tape" }\ncorrection = "ollama/llama3.2"\n'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")

    def opened(*_: object, **__: object) -> None:
        pytest.fail("it was opened, and nobody would close it")

    monkeypatch.setattr(wiring, "open_database", opened)
    with pytest.raises(RouteError, match="is a replay"):
        Agent.open(home, parts=Parts(environ={}))


def test_a_direct_name_opens_an_agent_like_any_other_route(home: Path) -> None:
    agent = Agent.open(home, route="ollama/llama3.2", parts=Parts(environ={}))
    agent.close()
    assert (agent.route.backend, agent.route.model) == ("openai", "llama3.2")


def at_server(home: Path, server: ModelServer, model: str = "m", extra: str = "") -> None:
    toml = f'[routes.default]\nurl = "{server.url}"\nmodel = "{model}"\n{extra}'
    (home / "mentis.toml").write_text(toml, encoding="utf-8")


async def test_a_route_is_ready_only_if_its_server_answered(home: Path) -> None:
    with serving(VLLM) as server:
        at_server(home, server, "Qwen/Qwen3-8B")
        (there,) = await check_routes(home, contact=True, parts=Parts(environ={}))
        assert server.asked == [("GET", "/v1/models")]
        (unasked,) = await check_routes(home, parts=Parts(environ={}))
    (gone,) = await check_routes(home, contact=True, parts=Parts(environ={}))
    assert (there.reached, there.problems) == (True, ())
    assert unasked.reached is None
    assert gone.reached is False
    assert "is the server running" in gone.problems[0]


async def test_a_model_that_the_server_has_not_is_told_with_those_it_has(home: Path) -> None:
    with serving(OLLAMA) as server:
        at_server(home, server, "mistral")
        (check,) = await check_routes(home, contact=True, parts=Parts(environ={}))
        assert "it has: llama3.2:latest, qwen3:8b (ollama pull mistral)" in check.problems[0]
        at_server(home, server, "llama3.2")
        (check,) = await check_routes(home, contact=True, parts=Parts(environ={}))
    assert check.problems == ()
    with serving(LMSTUDIO) as server:
        at_server(home, server, "other")
        (check,) = await check_routes(home, contact=True, parts=Parts(environ={}))
    assert (check.problems, check.reached) == ((), True)
    assert "it has: meta-llama-3.1-8b-instruct" in check.notes[0]


async def test_a_server_without_a_list_answered_and_one_that_refuses_the_key_is_not_ready(
    home: Path,
) -> None:
    with serving({}) as server:
        at_server(home, server)
        (check,) = await check_routes(home, contact=True, parts=Parts(environ={}))
    assert (check.reached, check.problems) == (True, ())
    assert "has no list of models" in check.notes[0]
    with serving(VLLM, key="k-1") as server:
        at_server(home, server)
        (check,) = await check_routes(home, contact=True, parts=Parts(environ={}))
    assert "the key was not accepted" in check.problems[0]


async def test_the_room_that_a_server_lists_counts_for_the_next_turn(home: Path) -> None:
    with serving(LLAMACPP, room=2048) as server:
        at_server(home, server)
        (check,) = await check_routes(home, contact=True, parts=Parts(environ={}))
        assert check.context_tokens == 2048
        assert any("it holds 2048 tokens" in note for note in check.notes)
        async with Agent.open(home, parts=Parts(environ={})) as agent:
            assert agent.route.context_tokens == 2048
            result = await agent.chat("Hello?")
    assert (result.reply.text, result.passed_over) == ("Hello.", ())
    assert server.bodies[0]["max_tokens"] == 512, "an answer leaves room for the prompt"


async def test_the_room_of_a_model_that_got_more_of_it_is_learned_anew(home: Path) -> None:
    with serving(LLAMACPP) as server:
        at_server(home, server)
        await check_routes(home, contact=True, parts=Parts(environ={}))
        roomy = LLAMACPP["/v1/models"].replace(b'"n_ctx":2048', b'"n_ctx":65536')
        server.pages = {"/v1/models": roomy}
        (check,) = await check_routes(home, contact=True, parts=Parts(environ={}))
    assert check.context_tokens == 32768, "as the settings say"


async def test_a_prompt_that_does_not_fit_is_made_again_for_the_room_that_the_refusal_names(
    home: Path,
) -> None:
    with serving({}, room=2048) as server:
        at_server(home, server)
        async with Agent.open(home, parts=Parts(environ={})) as agent:
            result = await agent.chat("The sea is wide and blue. " * 100)
    assert result.reply.text == "Hello."
    assert [one.failure for one in result.passed_over] == ["provider-refused"]
    first, second = server.bodies
    assert len(json.dumps(second)) < 2048 * 4 < len(json.dumps(first))
    (learned,) = json.loads((home / "learned.json").read_text(encoding="utf-8"))
    assert (learned["fact"], learned["value"]) == ("context_tokens", 2048)


async def test_the_embedded_model_is_called_a_test_engine_and_its_language_is_told(
    home: Path,
) -> None:
    (home / "mentis.toml").write_text("", encoding="utf-8")
    persona = home / "personas" / "ada" / "persona.toml"
    (check,) = await check_routes(home, parts=Parts(environ={}))
    assert "test engine" in check.notes[0]
    assert len(check.notes) == 1
    text = persona.read_text(encoding="utf-8")
    persona.write_text(re.sub(r'language = ".*"', 'language = "German"', text), encoding="utf-8")
    (check,) = await check_routes(home, parts=Parts(environ={}))
    assert check.notes[1] == "ada: smollm2-135m speaks English only, and not German"
