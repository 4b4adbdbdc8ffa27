"""What a provider refuses in so many words is learned, and it is asked once more without it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.errors import ProviderRefused
from mentis.home.create import create_home
from mentis.home.learned_facts import FILE, LearnedFacts
from mentis.home.parts import Parts
from mentis.home.routes import open_routes
from mentis.ports.clock import FixedClock
from mentis.ports.screener import ListedScreener
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home
from mentis.values.json import JsonObject
from mentis.values.options import CallOptions
from mentis.values.part import MediaPart
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
HELLO = '{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}'
ROUTE = """
[routes.default]
url = "http://127.0.0.1:9/v1"
model = "some-model"
context_tokens = 60000
{more}
[recall]
embedder = "off"
"""
SEEN = Stimulus("What is this?", attachments=(MediaPart("image", "image/png", PNG),))


class Choosy:
    """Refuses every payload of a kind, in a provider's words; answers all others."""

    answer = HELLO

    def __init__(
        self, refuses: Callable[[JsonObject], bool], said: str, status: int = 400, **facts: object
    ) -> None:
        self.refuses, self.said, self.status, self.facts = refuses, said, status, facts
        self.sent: list[JsonObject] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering.payload)
        if self.refuses(rendering.payload):
            message = f"route {route.name!r}: the server answered {self.status}: {self.said}"
            raise ProviderRefused(message, status=self.status, **self.facts)  # pyright: ignore[reportArgumentType]  # facts only

        async def events() -> AsyncIterator[str]:
            yield self.answer

        yield events()


def home_in(folder: Path, more: str = "") -> Path:
    home = create_home(folder / "home")
    with (home / "mentis.toml").open("a") as file:
        file.write(ROUTE.format(more=more))
    return home


def opened(home: Path, provider: Choosy) -> Agent:
    return Agent.open(home, parts=Parts(provider=provider, screener=ListedScreener({})))


def has(name: str) -> Callable[[JsonObject], bool]:
    return lambda payload: name in payload


def has_image(payload: JsonObject) -> bool:
    return "image_url" in str(payload["messages"])


OPTIONS: dict[str, tuple[CallOptions, str, str]] = {
    "openai": (
        CallOptions(temperature=0.2),
        "temperature",
        "Unsupported value: 'temperature' does not support 0.2 with this model.",
    ),
    "openai, unknown": (CallOptions(top_k=4), "top_k", "Unrecognized request argument: top_k"),
    "groq": (CallOptions(min_p=0.1), "min_p", "property 'min_p' is unsupported"),
    "anthropic's words": (
        CallOptions(top_p=0.5),
        "top_p",
        "top_p: Extra inputs are not permitted",
    ),
    "the first named": (
        CallOptions(stop=("x",), seed=1),
        "stop",
        "Unsupported parameter: 'stop'. seed is fine.",
    ),
}


@pytest.mark.parametrize("name", list(OPTIONS))
async def test_an_option_that_is_refused_is_left_out_from_then_on(
    tmp_path: Path, name: str
) -> None:
    options, option, said = OPTIONS[name]
    home, provider = home_in(tmp_path), Choosy(has(option), said)
    async with opened(home, provider) as agent:
        result = await agent.chat("Hello", options=options)
        again = await agent.chat("Hello", options=options)
    assert (result.reply.text, again.reply.text) == ("Hi", "Hi")
    assert [option in sent for sent in provider.sent] == [True, False, False]
    note = result.composed.trace.degraded[-1]
    assert (note.part, f"it takes no {option}" in note.reason, said in note.reason) == (
        "facts",
        True,
        True,
    )
    assert [passed.failure for passed in result.passed_over] == ["provider-refused"]
    assert again.passed_over == ()
    async with opened(home, provider) as agent:  # and after a restart
        await agent.chat("Hello", options=options)
        replayed = agent.replay(0)
    assert len(provider.sent) == 4
    assert replayed.identical


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("This model does not support image input", 400),
        ("No endpoints found that support image input", 404),
        ("messages[1]: unknown variant `image_url`, expected `text`", 422),
        ("some-model is not a multimodal model", 400),
    ],
)
async def test_a_model_that_nobody_knows_is_shown_a_picture_until_it_refuses_one(
    tmp_path: Path, said: str, status: int
) -> None:
    home, provider = home_in(tmp_path), Choosy(has_image, said, status)
    async with opened(home, provider) as agent:
        result = await agent.chat(SEEN)
    assert [has_image(sent) for sent in provider.sent] == [True, False]
    assert "media-not-sent" in [loss.code for loss in result.rendering.losses]
    assert "vision is off" in result.composed.trace.degraded[-1].reason


async def test_a_model_without_tools_is_told_of_them_in_words(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    provider = Choosy(has("tools"), "registry/some-model does not support tools")
    async with opened(home, provider) as agent:
        await agent.chat("Hello")
    assert ["tools" in sent for sent in provider.sent] == [True, False]


async def test_another_name_of_the_limit_is_learned(tmp_path: Path) -> None:
    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    home, provider = home_in(tmp_path), Choosy(has("max_tokens"), said, param="max_tokens")
    async with opened(home, provider) as agent:
        assert (await agent.chat("Hello")).reply.text == "Hi"
    assert "max_completion_tokens" in provider.sent[-1]


@pytest.mark.parametrize(
    ("said", "status", "facts"),
    [
        ("Invalid schema for function 'x': 'format' is not supported", 400, {}),
        ("temperature must be between 0 and 1", 400, {}),
        ("Unsupported parameter: 'temperature'", 500, {}),
        ("Unsupported parameter: 'temperature'", 400, {"about": "content"}),
        ("Unsupported parameter: 'logprobs'", 400, {}),
    ],
)
async def test_what_is_no_refusal_of_something_sent_teaches_nothing(
    tmp_path: Path, said: str, status: int, facts: dict[str, object]
) -> None:
    home, provider = home_in(tmp_path), Choosy(lambda _payload: True, said, status, **facts)
    async with opened(home, provider) as agent:
        with pytest.raises(ProviderRefused):
            await agent.chat("Hello", options=CallOptions(temperature=0.2))
    assert len(provider.sent) == 1
    assert not (home / FILE).exists()


async def test_it_is_asked_once_more_and_not_for_ever(tmp_path: Path) -> None:
    provider = Choosy(lambda _payload: True, "Unsupported: 'temperature' and 'top_p'")
    async with opened(home_in(tmp_path), provider) as agent:
        with pytest.raises(ProviderRefused):
            await agent.chat("Hello", options=CallOptions(temperature=0.2, top_p=0.1))
    assert len(provider.sent) == 2


async def test_the_settings_go_before_what_was_learned(tmp_path: Path) -> None:
    home = home_in(tmp_path, "facts = { vision = true }")
    provider = Choosy(has_image, "This model does not support image input")
    async with opened(home, provider) as agent:
        with pytest.raises(ProviderRefused):
            await agent.chat(SEEN)
    assert [has_image(sent) for sent in provider.sent] == [True]


async def test_what_was_learned_is_of_the_model_and_its_place_and_can_be_forgotten(
    tmp_path: Path,
) -> None:
    home = home_in(tmp_path)
    provider = Choosy(has("temperature"), "Unsupported parameter: 'temperature'")
    async with opened(home, provider) as agent:
        await agent.chat("Hello", options=CallOptions(temperature=0.2))
    settings, place = load_settings(home, {}), Home(home)
    (route,) = open_routes(settings, place, "default")
    assert route.facts == {"refuses": ["temperature"]}
    toml = (home / "mentis.toml").read_text()
    (home / "mentis.toml").write_text(toml.replace("some-model", "other-model"))
    assert open_routes(load_settings(home, {}), place, "default")[0].facts == {}
    assert [one.value for one in LearnedFacts(home).forget(route)] == ["temperature"]
    assert open_routes(settings, place, "default")[0].facts == {}


def test_the_time_of_a_lesson_is_kept(tmp_path: Path) -> None:
    from mentis.values.learned import LearnedFact

    now = FixedClock().now().isoformat()
    facts, route = LearnedFacts(tmp_path), Route("r", "openai", "m", url="https://h.example/v1")
    facts.learn(route, LearnedFact("vision", value=False, said="No."), time=now)
    (kept,) = LearnedFacts(tmp_path).of(route)
    assert (kept.time, kept.place) == (now, "openai m https://h.example:443")


CALLED = (
    '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":'
    '{"name":"final_answer","arguments":"{\\"city\\":\\"Ulm\\"}"}}]},'
    '"finish_reason":"tool_calls"}]}'
)


async def test_a_server_without_schemas_for_its_words_is_asked_by_a_tool(tmp_path: Path) -> None:
    class Formless(Choosy):
        answer = CALLED

    home = home_in(tmp_path)
    settings = (home / "mentis.toml").read_text("utf-8").replace("some-model", "gpt-4o")
    (home / "mentis.toml").write_text(settings, "utf-8")
    provider = Formless(
        has("response_format"),
        "`response_format` of type json_schema is not supported",
    )
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    async with opened(home, provider) as agent:
        result = await agent.chat("Where?", output=schema)
    assert result.output == {"city": "Ulm"}
    assert [one.route for one in result.passed_over] == ["default"]
