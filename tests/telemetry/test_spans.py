"""Spans of an agent, as the SDK of OpenTelemetry collects them from a program that uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode
from tests import rounds
from tests.rounds import Rounds

from mentis import ActFailed, Agent, Parts, Sense, create_home, tool
from mentis.errors import ProviderUnreachable
from mentis.settle.output_ir import write_output_ir
from mentis.telemetry.spans import block_digests, provider_name
from mentis.testing import HashEmbedder
from mentis.values.digest import digest
from mentis.values.route import Backend, Route
from mentis.values.span import Span

pytestmark = pytest.mark.anyio
USED: object = {
    "choices": [],
    "model": "m-2026",
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 60},
    },
}
SAID = "The secret of the lighthouse"


says, calls = partial(rounds.says, used=USED), partial(rounds.calls, used=USED)


@tool
def temperature(city: str) -> str:
    """How warm it is somewhere.

    Args:
        city: Where.
    """
    if city == "Atlantis":
        raise ActFailed("there is no such city", state="refused")
    with trace.get_tracer("of the tool").start_as_current_span(f"looking at {city}"):
        return f"17 degrees in {city} on {threading.current_thread().name}"


BERLIN = ("a", "temperature", {"city": "Berlin"})
PARIS = ("b", "temperature", {"city": "Paris"})


class Traced:
    """What the SDK has collected."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def spans(self, start: str = "") -> list[ReadableSpan]:
        ended = self._exporter.get_finished_spans()
        found = [one for one in ended if one.name.startswith(start)]
        return sorted(found, key=lambda one: one.start_time or 0)

    def one(self, start: str) -> ReadableSpan:
        (span,) = self.spans(start)
        return span

    def texts(self) -> str:
        """All that our own spans say."""
        scopes = ((one.instrumentation_scope, one) for one in self.spans())
        return "".join(one.to_json() for scope, one in scopes if scope and scope.name == "mentis")


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Traced:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)  # can be set only once otherwise
    return Traced(exporter)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = create_home(tmp_path / "home")
    with (made / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    return made


def opened(home: Path, provider: Rounds, **settings: str) -> Agent:
    chosen = {f"MENTIS_{name.upper()}": value for name, value in settings.items()}
    parts = Parts(environ={**os.environ, **chosen}, embedder=HashEmbedder())
    return Agent.open(home, tools=[temperature], provider=provider, parts=parts)


def about(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def parent(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def ident(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


async def test_two_turns_are_two_invocations_of_the_agent_with_a_chat_each(
    traced: Traced, home: Path
) -> None:
    async with opened(home, Rounds(says("Hello."), says("Still here."))) as agent:
        results = [await agent.chat(text, session="kitchen") for text in ("Hi!", "And now?")]
    invoked, chats = traced.spans("invoke_agent"), traced.spans("chat")
    assert [one.name for one in chats] == ["chat m", "chat m"]
    assert [parent(one) for one in chats] == [ident(one) for one in invoked]
    assert {one.kind for one in chats} == {SpanKind.CLIENT}
    for span, result in zip(invoked, results, strict=True):
        told = about(span)
        assert span.name == f"invoke_agent {told['gen_ai.agent.name']}"
        assert told["gen_ai.operation.name"] == "invoke_agent"
        assert told["gen_ai.conversation.id"] == "kitchen"
        assert told["gen_ai.agent.id"] == result.entry.agent
        assert told["mentis.entry.hash"] == result.entry.hash
        assert (told["mentis.entry.index"], told["mentis.stop"]) == (result.entry.index, "answer")
        assert span.status.status_code is StatusCode.UNSET


async def test_a_chat_says_which_model_was_asked_and_what_it_used(
    traced: Traced, home: Path
) -> None:
    provider = Rounds(says("Hello."))
    async with opened(home, provider, routes__default__temperature="0.5") as agent:
        result = await agent.chat("Hi!")
    told = about(traced.one("chat"))
    blocks = told.pop("mentis.blocks")
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.agent.id": result.entry.agent,
        "gen_ai.agent.name": about(traced.one("invoke_agent"))["gen_ai.agent.name"],
        "gen_ai.conversation.id": "main",
        "gen_ai.request.model": "m",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": result.model_calls[0].route.max_tokens,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.model": "m-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "server.address": "127.0.0.1",
        "server.port": 9,
        "mentis.route": "default",
        "mentis.payload.digest": provider.renderings[0].digest,
        "mentis.library.digest": result.composed.trace.library,
    }
    included = {one.block for one in result.composed.trace.blocks if one.included}
    assert {one.split(" ")[0] for one in blocks} <= included
    assert all(one.split(" ")[1].startswith("sha256:") for one in blocks)


async def test_a_loop_of_three_steps_has_its_chats_and_tools_under_one_invocation(
    traced: Traced, home: Path
) -> None:
    provider = Rounds(calls(BERLIN, PARIS), calls(("c", *BERLIN[1:])), says("Both 17."))
    async with opened(home, provider) as agent:
        result = await agent.chat("How warm is it?")
    invoked = traced.one("invoke_agent")
    below = [one for one in traced.spans() if parent(one) == ident(invoked)]
    names = [one.name for one in below if not one.name.startswith("embeddings")]
    tool_name = "execute_tool temperature"
    assert names == ["chat m", tool_name, tool_name, "chat m", tool_name, "chat m"]
    assert about(invoked)["gen_ai.usage.input_tokens"] == 300
    assert about(invoked)["mentis.steps"] == 3
    tools = traced.spans("execute_tool")
    assert [about(one)["gen_ai.tool.call.id"] for one in tools] == ["a", "b", "c"]
    assert [about(one)["mentis.act.key"] for one in tools] == [one.key for one in result.outcomes]
    assert {about(one)["gen_ai.tool.type"] for one in tools} == {"function"}
    reasons = [about(one)["gen_ai.response.finish_reasons"] for one in traced.spans("chat")]
    assert reasons == [("tool_call",), ("tool_call",), ("stop",)]


async def test_what_a_tool_traces_in_its_worker_thread_is_below_it(
    traced: Traced, home: Path
) -> None:
    async with opened(home, Rounds(calls(BERLIN, PARIS), says("Both 17."))) as agent:
        result = await agent.chat("How warm is it?")
    assert all("MainThread" not in one.text for one in result.outcomes)
    tools = {about(one)["gen_ai.tool.call.id"]: ident(one) for one in traced.spans("execute_tool")}
    assert parent(traced.one("looking at Berlin")) == tools["a"]
    assert parent(traced.one("looking at Paris")) == tools["b"]


async def test_a_tool_that_fails_is_an_error_of_its_own_span_alone(
    traced: Traced, home: Path
) -> None:
    asked = calls(("a", "temperature", {"city": "Atlantis"}))
    async with opened(home, Rounds(asked, says("There is none."))) as agent:
        await agent.chat("How warm is it?")
    span = traced.one("execute_tool")
    assert span.status.status_code is StatusCode.ERROR
    assert about(span)["error.type"] == about(span)["mentis.act.state"] == "refused"
    assert traced.one("invoke_agent").status.status_code is StatusCode.UNSET


async def test_a_failed_turn_is_an_error_of_its_chat_and_of_its_invocation(
    traced: Traced, home: Path
) -> None:
    async with opened(home, Rounds(ProviderUnreachable(f"nobody there: {SAID}"))) as agent:
        with pytest.raises(ProviderUnreachable):
            await agent.chat("Hi!")
        entry = agent.entries()[-1]
    for span in (traced.one("chat"), traced.one("invoke_agent")):
        assert span.status.status_code is StatusCode.ERROR
        assert about(span)["error.type"] == ProviderUnreachable.code
        assert [one.name for one in span.events if one.name == "exception"] == ["exception"]
    assert about(traced.one("invoke_agent"))["mentis.entry.hash"] == entry.hash
    assert SAID not in traced.texts()


async def test_a_fallback_is_a_chat_of_its_own_after_the_one_that_failed(
    traced: Traced, home: Path
) -> None:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('fallback = ["second"]\n[routes.second]\n')
        file.write('url = "https://api.deepseek.com"\nmodel = "other"\n')
    async with opened(home, Rounds(ProviderUnreachable("gone"), says("Hello."))) as agent:
        await agent.chat("Hi!")
    first, second = traced.spans("chat")
    assert (first.name, first.status.status_code) == ("chat m", StatusCode.ERROR)
    assert (second.name, second.status.status_code) == ("chat other", StatusCode.UNSET)
    assert about(second)["gen_ai.provider.name"] == "deepseek"
    assert parent(first) == parent(second) == ident(traced.one("invoke_agent"))
    assert traced.one("invoke_agent").status.status_code is StatusCode.UNSET


async def test_a_correction_is_a_chat_of_its_own_that_says_what_asks_again(
    traced: Traced, home: Path
) -> None:
    wrong = calls(("a", "temperature", {"town": "Berlin"}))
    async with opened(home, Rounds(wrong, calls(BERLIN), says("17 degrees."))) as agent:
        await agent.chat("How warm is it?")
    chats = traced.spans("chat")
    assert [about(one).get("mentis.correction") for one in chats] == [None, "correction", None]
    assert about(chats[1])["mentis.correction.failures"] == 1


async def test_a_turn_that_is_interrupted_is_no_error(traced: Traced, home: Path) -> None:
    begun: object = {"choices": [{"delta": {"content": "Well"}}]}
    async with opened(home, Rounds([begun, "wait"])) as agent:
        result = await agent.chat("Hi!", on_delta=lambda _delta: agent.interrupt())
    assert result.stop == "interrupted"
    assert about(traced.one("chat"))["mentis.interrupted"] is True
    assert about(traced.one("invoke_agent"))["mentis.stop"] == "interrupted"
    states = {one.status.status_code for one in traced.spans()}
    assert states == {StatusCode.UNSET}


async def test_texts_are_embedded_under_the_invocation_that_recalls_with_them(
    traced: Traced, home: Path
) -> None:
    async with opened(home, Rounds(says("Hello.")), recall__max_tools="1") as agent:
        await agent.chat("How warm is it?")
    invoked, embeddings = traced.one("invoke_agent"), traced.spans("embeddings")
    assert embeddings
    assert {parent(one) for one in embeddings} == {ident(invoked)}
    told = about(embeddings[0])
    assert embeddings[0].name == f"embeddings {told['gen_ai.request.model']}"
    assert told["gen_ai.embeddings.dimension.count"] > 0
    assert told["mentis.embeddings.texts"] >= 1


WEATHER = {
    "endpoint_id": "python",
    "neural_signal_descriptor_id": "temperature",
    "payload": {"city": "Rome"},
}


async def test_a_tick_is_an_invocation_too_with_what_it_asks_and_does(
    traced: Traced, home: Path
) -> None:
    acts = write_output_ir({"acts": [WEATHER], "goal-tree-patch": [], "l1-memory-patch": []})
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write("facts = {native_tools = false}\n")
    async with opened(home, Rounds(says(acts))) as agent:
        done = await agent.tick([Sense("s1", "message", {"text": SAID}, endpoint="post")])
    invoked = traced.one("invoke_agent")
    told = about(invoked)
    assert done.entry is not None
    assert (told["mentis.mode"], told["mentis.entry.hash"]) == ("tick", done.entry.hash)
    assert (told["mentis.tick.senses"], told["mentis.tick.acts"]) == (1, 1)
    for span in (traced.one("chat"), traced.one("execute_tool")):
        assert parent(span) == ident(invoked)
    assert "tick_completed" in [one.name for one in invoked.events]
    assert SAID not in traced.texts()


async def test_a_tick_whose_model_fails_is_an_error(traced: Traced, home: Path) -> None:
    async with opened(home, Rounds(ProviderUnreachable("gone"))) as agent:
        await agent.tick([Sense("s1", "message", {"text": "Hi!"}, endpoint="post")])
    assert traced.one("invoke_agent").status.status_code is StatusCode.ERROR


async def test_nothing_that_was_said_is_told_unless_the_settings_allow_it(
    traced: Traced, home: Path
) -> None:
    asked = calls(("a", "temperature", {"city": SAID}))
    async with opened(home, Rounds(asked, says(SAID))) as agent:
        await agent.chat(SAID)
    assert len(traced.spans("chat")) == 2
    assert SAID not in traced.texts()


async def test_with_content_a_chat_tells_messages_and_a_tool_its_arguments_and_result(
    traced: Traced, home: Path
) -> None:
    provider = Rounds(calls(BERLIN), says("17 degrees."))
    async with opened(home, provider, telemetry__content="true") as agent:
        await agent.chat("How warm is it with sk-abcdefghijklmnopqrstuvwx?")
    _, last = traced.spans("chat")
    messages = json.loads(about(last)["gen_ai.input.messages"])
    assert [one["role"] for one in messages[-3:]] == ["user", "assistant", "tool"]
    asked, called, told = (one["parts"][0] for one in messages[-3:])
    assert asked == {"type": "text", "content": "How warm is it with [redacted]?"}
    assert (called["type"], called["arguments"]) == ("tool_call", {"city": "Berlin"})
    assert (told["type"], told["id"]) == ("tool_call_response", "a")
    assert "17 degrees in Berlin" in told["response"]
    (answer,) = json.loads(about(last)["gen_ai.output.messages"])
    assert answer["parts"] == [{"type": "text", "content": "17 degrees."}]
    assert json.loads(about(last)["gen_ai.system_instructions"])[0]["content"]
    executed = about(traced.one("execute_tool"))
    assert json.loads(executed["gen_ai.tool.call.arguments"]) == {"city": "Berlin"}
    assert executed["gen_ai.tool.call.result"].startswith("17 degrees in Berlin")


async def test_what_is_not_sampled_is_not_reckoned_either(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider(sampler=ALWAYS_OFF)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr("mentis.telemetry.spans.block_digests", None)
    async with opened(home, Rounds(says("Hello."))) as agent:
        assert (await agent.chat("Hi!")).text == "Hello."
    assert not exporter.get_finished_spans()


PROGRAM = """
import sys
from pathlib import Path
import anyio
from mentis import Agent
from mentis.testing import ScriptedProvider

async def main():
    async with Agent.open(Path(sys.argv[1]), provider=ScriptedProvider(["Hello."])) as agent:
        await agent.chat("Hi!")

anyio.run(main)
sys.exit(any(name.startswith("opentelemetry") for name in sys.modules))
"""


def test_a_program_that_does_not_trace_never_loads_opentelemetry(home: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(home)], check=False)
    assert done.returncode == 0


def test_a_provider_is_named_by_its_address_and_else_by_its_format() -> None:
    def named(url: str, backend: Backend = "openai") -> str:
        return provider_name(Route("r", backend, "m", url))

    assert named("https://eu-aiplatform.googleapis.com/v1") == "gcp.vertex_ai"
    assert named("https://mine.openai.azure.com/openai/v1") == "azure.ai.openai"
    assert named("https://notapi.x.ai.example.org") == "openai"
    assert named("https://api.anthropic.com/v1", "anthropic") == "anthropic"
    assert named("", "gemini") == "gcp.gemini"


def test_a_block_has_the_digest_of_all_of_its_text() -> None:
    spans = (Span("a", "one"), Span("b", "two"), Span("c", "one"), Span("free"))
    assert block_digests(spans) == (f"one {digest(b'ac')}", f"two {digest(b'b')}")


async def test_a_title_and_a_streamed_answer_stand_below_invocations_of_their_own(
    traced: Traced, home: Path
) -> None:
    async with opened(home, Rounds(says("Hello."), says("A greeting"))) as agent:
        async with agent.stream("Hi!") as answer:
            assert [delta.kind async for delta in answer][-1] == "end"
        await agent.make_title()
    invoked, chats = traced.spans("invoke_agent"), traced.spans("chat")
    assert [about(one)["mentis.mode"] for one in invoked] == ["chat", "title"]
    assert [parent(one) for one in chats] == [ident(one) for one in invoked]
    assert all(about(one)["mentis.entry.hash"] for one in invoked)
