"""The embedded model behind its own HTTP endpoint, asked through our call stage."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from mentis.ask.caching import Caching
from mentis.call.http import HttpProvider, key_of
from mentis.engines.engine import EngineKey, serve_engine
from mentis.errors import EngineFailed, ProviderRefused
from mentis.facts.abilities import abilities
from mentis.ports.secrets import ListedSecrets
from mentis.render.wires import render_for
from mentis.settle.readers import Reader, reader_for
from mentis.values.part import TextPart
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, Reply, TextDelta
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

pytestmark = pytest.mark.model
KEY = "loopback-key"
NOW = datetime(2026, 11, 15, tzinfo=UTC)
HELLO = [{"role": "user", "content": "Hi."}]
STORY = (
    "In the garden behind the old house there are three beds. In the first one grow red poppies, "
    "in the second one blue cornflowers, and in the third one nothing at all, because the dog "
    "likes to sleep there when the sun shines, and nobody has the heart to wake him up for roses."
)
# What a user writes under routes.NAME.facts for a llama.cpp server.
LLAMA = {"native_tools": False, "bound_answers": True, "cache": "found", "mid_system": "before"}
WEATHER = ToolDeclaration(
    "get_weather",
    "Tells the weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@dataclass(frozen=True)
class Asked:
    """What a call gave: the reply, and what was told on the way."""

    reply: Reply
    deltas: tuple[Delta, ...]

    @property
    def told(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, TextDelta))


@pytest.fixture(scope="module")
def address(model_file: Path) -> Iterator[str]:
    """One server for the tests of this module."""
    with serve_engine(EngineKey(model_file, 1024, 1), port=0, key=KEY) as url:
        yield url


@pytest.fixture
async def provider() -> AsyncGenerator[HttpProvider, None]:
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY})))
    yield provider
    await provider.aclose()


@pytest.fixture
async def another() -> AsyncGenerator[HttpProvider, None]:
    """This server may hang up after a stream just when the connection is taken again."""
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY})))
    yield provider
    await provider.aclose()


def route_to(address: str) -> Route:
    return Route(
        name="served",
        backend="openai",
        model="smollm2",
        url=address,
        key_env="KEY",
        max_tokens=12,
        temperature=0.0,
        seed=7,
        facts=LLAMA,
    )


def asking(text: str, *tools: ToolDeclaration, past: tuple[Turn, ...] = ()) -> PromptRequest:
    return PromptRequest(
        system_instruction=(Span("You are a helpful gardener. Be brief."),),
        tool_declarations=tools,
        conversation_history=past,
        current_text=text,
    )


def reader_of(rendering: Rendering, route: Route, *tools: ToolDeclaration) -> Reader:
    calls = abilities(route).calls
    return reader_for(rendering.wire, rendering.name_map, tools=tools, calls=calls)


async def ask(provider: HttpProvider, rendering: Rendering, route: Route, reader: Reader) -> Asked:
    deltas: list[Delta] = []
    async with provider.open(rendering, route) as events:
        async for event in events:
            deltas += reader.feed(event)
    return Asked(reader.finish(), (*deltas, *reader.rest()))


async def test_a_chat_is_streamed_and_a_second_turn_reads_what_the_plan_said_it_would(
    address: str, provider: HttpProvider, another: HttpProvider
) -> None:
    route, caching = route_to(address), Caching(tuple)
    first = render_for("openai-chat", asking(f"{STORY} Which flower is red?"), route)
    one = await ask(provider, first, route, reader_of(first, route))
    assert one.reply.stop in ("end", "length")
    assert one.told == one.reply.text
    assert len(one.deltas) > 3
    assert one.reply.usage is not None
    caching.reconcile(first, route, one.reply.usage, session="s", now=NOW)

    past = (
        Turn("user", (TextPart(f"{STORY} Which flower is red?"),)),
        Turn("assistant", (TextPart(one.reply.text),)),
    )
    second = render_for("openai-chat", asking("And which is blue?", past=past), route)
    plan = caching.forecast(second, route, now=NOW)
    two = await ask(another, second, route, reader_of(second, route))
    assert two.reply.usage is not None
    read = two.reply.usage.cache_read
    assert 0 < read < two.reply.usage.input
    # The plan promises the first prompt. What was answered to it is in the cache as well, and the
    # template's marks around a message are not in the texts that are counted.
    assert plan.expected.tokens > 60
    assert 0 <= read - one.reply.usage.output - plan.expected.tokens <= 0.2 * read
    # The server itself: the first prompt and the answer, but for a few tokens at the seam.
    assert abs(read - (one.reply.usage.input + one.reply.usage.output)) <= 8
    made = caching.reconcile(second, route, two.reply.usage, session="s", now=NOW).reconciled
    assert (made.verdict, made.read) == ("as-expected", read)


async def test_an_answer_that_is_not_streamed_is_read_the_same(
    address: str, provider: HttpProvider, another: HttpProvider
) -> None:
    route = route_to(address)
    streamed = render_for("openai-chat", asking("Name a tree."), route)
    whole = replace(
        streamed,
        payload={
            k: v for k, v in streamed.payload.items() if k not in ("stream", "stream_options")
        },
    )
    one = await ask(provider, streamed, route, reader_of(streamed, route))
    two = await ask(another, whole, route, reader_of(whole, route))
    assert two.reply.text == one.reply.text
    assert len(two.reply.raw) == 1


async def test_an_answer_held_to_a_schema_is_json_of_that_schema(
    address: str, provider: HttpProvider
) -> None:
    route = replace(route_to(address), max_tokens=150)
    plain = render_for("openai-chat", asking("Describe a rose."), route)
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 12}, "red": {"type": "boolean"}},
        "required": ["name", "red"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "flower", "schema": schema}}
    bound = replace(plain, payload={**plain.payload, "response_format": form})
    answer = json.loads((await ask(provider, bound, route, reader_of(bound, route))).reply.text)
    assert set(answer) == {"name", "red"}
    assert isinstance(answer["red"], bool)


async def test_a_tool_is_called_by_an_answer_held_to_the_tools(
    address: str, provider: HttpProvider
) -> None:
    route = replace(route_to(address), max_tokens=200)
    rendering = render_for("openai-chat", asking("What is the weather in Rome?", WEATHER), route)
    assert "tools" not in rendering.payload
    asked = await ask(provider, rendering, route, reader_of(rendering, route, WEATHER))
    assert asked.reply.errors == ()
    assert asked.reply.stop == "tool_use"
    first = asked.reply.actions[0]
    assert (first.type, first.origin) == ("get_weather", "json")
    assert isinstance(first.payload["city"], str)
    assert asked.told == ""


async def test_schemas_that_no_grammar_can_say_are_still_answered(
    address: str, provider: HttpProvider
) -> None:
    node = {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}
    hostile = {
        "type": "object",
        "properties": {
            "word": {"type": "string", "pattern": "(?=x)", "maxLength": 10**6},
            "tree": {"$ref": "#/$defs/node"},
            "one": {"enum": [f"v{number}" for number in range(1000)]},
        },
        "$defs": {"node": {"type": "object", "properties": {"next": node}}},
    }
    tool = ToolDeclaration('od"d näme', "Does nothing.", hostile)
    route = replace(route_to(address), max_tokens=8)
    rendering = render_for("openai-chat", asking("Go on.", tool), route)
    short = replace(rendering, payload={**rendering.payload, "messages": HELLO})
    asked = await ask(provider, short, route, reader_of(rendering, route, tool))
    assert asked.reply.stop in ("end", "length", "tool_use")
    assert asked.reply.raw


async def test_a_wrong_key_is_refused(address: str) -> None:
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": "another"})))
    route = route_to(address)
    rendering = render_for("openai-chat", asking("Hello?"), route)
    with pytest.raises(ProviderRefused, match="401"):
        await ask(provider, rendering, route, reader_of(rendering, route))
    await provider.aclose()


def test_a_port_that_is_taken_is_named(model_file: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(EngineFailed, match=f"port {port}"),
            serve_engine(EngineKey(model_file, 256, 1), port=port, key=KEY),
        ):
            pass
