"""A provider that is asked what changed for its cache is heard, beside our own plan."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mentis.app.agent import Agent
from mentis.ask.cache_diagnosis import disagreement_of
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.screener import ListedScreener
from mentis.prompts.prompts import Prompts
from mentis.render.cuts import CutRegion, PrefixCut
from mentis.render.wires import render_for
from mentis.values.json import JsonObject
from mentis.values.options import CallOptions
from mentis.values.rendering import Rendering
from mentis.values.reply import CacheDiagnosis
from mentis.values.request import PromptRequest
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
SETTINGS = """
[routes.default]
backend = "{backend}"
model = "{model}"
context_tokens = 60000
options = {{ cache_diagnostics = true }}
[recall]
embedder = "off"
"""
MODELS = {"anthropic": "claude-opus-5", "openai-responses": "gpt-5.6"}


def anthropic(number: int, said: object) -> list[JsonObject]:
    usage = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 0}
    message: JsonObject = {
        "id": f"msg_{number}",
        "content": [],
        "usage": usage,
        "diagnostics": said,
    }
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": f"Answer {number}."},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
    ]


def responses(number: int, said: object) -> list[JsonObject]:
    text: JsonObject = {"type": "output_text", "text": f"Answer {number}.", "annotations": []}
    item: JsonObject = {"type": "message", "id": "m", "role": "assistant", "content": [text]}
    return [
        {
            "type": "response.completed",
            "response": {
                "id": f"resp_{number}",
                "status": "completed",
                "output": [item],
                "usage": {"input_tokens": 9, "output_tokens": 1},
                "prompt_cache_diagnostics": said,
            },
        }
    ]


class Diagnosing:
    """Says of each call what it is told to, and keeps what it was sent."""

    def __init__(self, backend: str, *said: object) -> None:
        self.answer = anthropic if backend == "anthropic" else responses
        self.said = list(said)
        self.sent: list[Any] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        del route
        self.sent.append(json.loads(rendering.body()))
        answer = self.answer(len(self.sent), self.said.pop(0))

        async def events() -> AsyncIterator[str]:
            for event in answer:
                yield json.dumps(event)

        yield events()


def home_in(folder: Path, backend: str) -> Path:
    home = create_home(folder / "home")
    with (home / "mentis.toml").open("a") as file:
        file.write(SETTINGS.format(backend=backend, model=MODELS[backend]))
    return home


def opened(home: Path, provider: Diagnosing) -> Agent:
    return Agent.open(home, parts=Parts(provider=provider, screener=ListedScreener({})))


async def test_anthropic_is_asked_to_compare_with_the_reply_before_also_after_a_restart(
    tmp_path: Path,
) -> None:
    home, provider = home_in(tmp_path, "anthropic"), Diagnosing("anthropic", None, None, None, None)
    async with opened(home, provider) as agent:
        await agent.chat("One.")
        await agent.chat("Two.")
        await agent.chat("Elsewhere.", session="other")
    async with opened(home, provider) as agent:
        result = await agent.chat("Three.")
        replayed = [agent.replay(index).identical for index in range(4)]
    asked = [sent["diagnostics"]["previous_message_id"] for sent in provider.sent]
    assert asked == [None, "msg_1", None, "msg_2"]
    assert replayed == [True] * 4
    assert result.caching[0].diagnosis == CacheDiagnosis("same")


async def test_responses_compares_once_there_is_something_to_compare_with(tmp_path: Path) -> None:
    said = {"type": "cache_miss", "reason": "reasoning_effort_changed", "cache_missed_tokens": 7}
    home = home_in(tmp_path, "openai-responses")
    provider = Diagnosing("openai-responses", None, said)
    async with opened(home, provider) as agent:
        await agent.chat("One.")
        result = await agent.chat("Two.")
    assert "prompt_cache_options" not in provider.sent[0]
    assert provider.sent[1]["prompt_cache_options"] == {"comparison_response_id": "resp_1"}
    diagnosis = CacheDiagnosis("changed", "reasoning_effort_changed", 7)
    assert result.reply.diagnosis == result.caching[0].diagnosis == diagnosis
    expected = "the provider says reasoning_effort_changed, and our plan lost no boundary"
    assert result.caching[0].disagreement == expected
    assert result.entry.body["cache"][0]["diagnosis"] == {  # pyright: ignore[reportIndexIssue]  # as it is recorded
        "state": "changed",
        "reason": "reasoning_effort_changed",
        "missed": 7,
    }


async def test_a_change_that_both_found_is_no_disagreement(tmp_path: Path) -> None:
    reason = {"type": "system_changed", "cache_missed_input_tokens": 40}
    home = home_in(tmp_path, "anthropic")
    provider = Diagnosing("anthropic", None, {"cache_miss_reason": reason})
    async with opened(home, provider) as agent:
        await agent.chat("One.")
        with Prompts.open(home) as prompts:
            prompts.editor.save("style", variants={"default": {"content": "Other words."}})
        result = await agent.chat("Two.")
    (cached,) = result.caching
    assert "the provider says: system_changed, 40 tokens missed" in cached.reasons
    assert cached.disagreement == ""


async def test_nothing_is_asked_of_a_route_that_does_not_allow_it(tmp_path: Path) -> None:
    home = home_in(tmp_path, "anthropic")
    toml = (home / "mentis.toml").read_text()
    (home / "mentis.toml").write_text(toml.replace("cache_diagnostics = true", ""))
    provider = Diagnosing("anthropic", None)
    async with opened(home, provider) as agent:
        result = await agent.chat("One.")
    assert "diagnostics" not in provider.sent[0]
    assert result.caching[0].diagnosis is None
    assert "reply" not in result.entry.body["cache"][0]  # pyright: ignore[reportIndexIssue]  # as above


def cut(region: CutRegion) -> PrefixCut:
    return PrefixCut(region, "/x", 1, "d", "t")


@pytest.mark.parametrize(
    ("said", "lost", "disagrees"),
    [
        (CacheDiagnosis("same"), (), False),
        (CacheDiagnosis("same"), (cut("tools"),), True),
        (CacheDiagnosis("changed", "tools_changed"), (cut("tools"), cut("stable")), False),
        (CacheDiagnosis("changed", "tools_changed"), (cut("history"),), True),
        (CacheDiagnosis("changed", "system_changed"), (cut("session"),), False),
        (CacheDiagnosis("changed", "messages_changed"), (), True),
        (CacheDiagnosis("changed", "model_changed"), (cut("tools"),), False),
        (CacheDiagnosis("pending"), (cut("tools"),), False),
        (CacheDiagnosis("unknown", "unavailable"), (), False),
    ],
)
def test_a_disagreement_is_where_the_two_name_different_parts(
    said: CacheDiagnosis, lost: tuple[PrefixCut, ...], *, disagrees: bool
) -> None:
    assert bool(disagreement_of(said, lost)) == disagrees


@pytest.mark.parametrize(
    ("backend", "model"),
    [("openai", "gpt-5.6"), ("openai-responses", "gpt-5.1"), ("gemini", "gemini-3-pro")],
)
def test_where_nobody_compares_the_wish_is_a_named_loss(backend: Any, model: str) -> None:  # noqa: ANN401  # a backend
    from mentis.facts.abilities import wire_of

    route = Route("r", backend, model).calling(CallOptions(cache_diagnostics=True))
    made = render_for(wire_of(route), PromptRequest(current_text="Hi"), route)
    assert [loss.pointer for loss in made.losses] == ["/cache_diagnostics"]
