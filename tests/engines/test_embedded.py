from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentis.engines.catalogue import SMOLLM2, Weights
from mentis.engines.embedded import EmbeddedProvider
from mentis.engines.engine import EngineKey, load_engine, release_engines
from mentis.engines.estimate import EstimatingCounter
from mentis.errors import EngineFailed, EngineMissing, RouteError, WeightsMissing
from mentis.values.rendering import Rendering
from mentis.values.route import Route

GERMAN = (
    "Die Gärtnerin kam an jenem Abend spät, als das Licht schon aus den Fenstern verschwunden "
    "war. Sie stellte ihren Korb ab, schüttelte den Regen vom Mantel und fragte, ob jemand die "
    "graue Katze gesehen habe."
)


def ask(text: str, *, max_tokens: int = 6) -> Rendering:
    return Rendering(
        wire="openai_chat",
        payload={
            "model": "any",
            "messages": [{"role": "user", "content": text}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
    )


def route_to(model: str | Path, context: int = 512) -> Route:
    return Route(
        name="local", backend="embedded", model=str(model), context_tokens=context, threads=1
    )


async def collect(provider: EmbeddedProvider, rendering: Rendering, route: Route) -> list[Any]:
    async with provider.open(rendering, route) as events:
        return [json.loads(event) async for event in events]


@pytest.fixture(scope="module")
def shared(model_file: Path) -> EmbeddedProvider:
    """Never closed: the tests of this module share one loaded model."""
    return EmbeddedProvider()


@pytest.fixture
async def provider() -> AsyncGenerator[EmbeddedProvider, None]:
    provider = EmbeddedProvider()
    yield provider
    await provider.aclose()


# Without a model


@pytest.mark.parametrize("model", ["smolm2-135m", "smollm2-135m"])
async def test_weights_that_are_not_there_are_named_with_a_way_out(
    provider: EmbeddedProvider, cache: Path, model: str
) -> None:
    with pytest.raises(WeightsMissing) as caught:
        await collect(provider, ask("hi"), route_to(model))
    assert "smollm2-135m" in caught.value.hint


async def test_a_path_to_nothing_is_missing_weights(
    provider: EmbeddedProvider, tmp_path: Path
) -> None:
    with pytest.raises(WeightsMissing, match=r"no model file at .*none\.gguf"):
        await collect(provider, ask("hi"), route_to(tmp_path / "none.gguf"))


async def test_a_file_that_is_no_gguf_is_refused_by_its_first_bytes(
    provider: EmbeddedProvider, tmp_path: Path
) -> None:
    (tmp_path / "notes.gguf").write_text("hello")
    with pytest.raises(EngineFailed, match=r"notes\.gguf is not a GGUF file: .*hell"):
        await collect(provider, ask("hi"), route_to(tmp_path / "notes.gguf"))


async def test_more_context_than_the_model_has_is_refused(provider: EmbeddedProvider) -> None:
    with pytest.raises(RouteError, match="has 8192") as caught:
        await collect(provider, ask("hi"), route_to("smollm2-135m", SMOLLM2.context + 1))
    assert "routes.local.context_tokens" in caught.value.hint


async def test_another_catalogue_can_be_handed_in(publish: Callable[..., Weights]) -> None:
    provider = EmbeddedProvider(catalogue={"tiny": publish()})
    with pytest.raises(RouteError, match="tiny has 128"):
        await collect(provider, ask("hi"), route_to("tiny", 129))


async def test_a_missing_engine_names_the_command_that_installs_it(
    provider: EmbeddedProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(EngineMissing) as caught:
        await collect(provider, ask("hi"), route_to(tmp_path / "some.gguf"))
    assert caught.value.hint == "pip install 'mentis[embedded]'"


async def test_an_engine_that_does_not_load_says_why(
    provider: EmbeddedProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libgomp is too old')")
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(EngineFailed, match="libgomp is too old"):
        await collect(provider, ask("hi"), route_to(tmp_path / "some.gguf"))


# With the real model


@pytest.mark.model
async def test_an_answer_streams_as_many_events_and_ends_with_usage(
    shared: EmbeddedProvider, model_file: Path
) -> None:
    events = await collect(shared, ask("Say hello."), route_to(model_file))
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    text = [delta["content"] for delta in deltas if delta.get("content")]
    assert len(text) >= 4
    assert events[-1]["usage"]["completion_tokens"] == 6
    assert {event["model"] for event in events} == {model_file.stem}
    assert not any("prompt_progress" in event for event in events)


@pytest.mark.model
async def test_a_second_call_with_the_same_prefix_reads_it_from_the_cache(
    shared: EmbeddedProvider, model_file: Path
) -> None:
    await collect(shared, ask("The garden is green. And the sky?"), route_to(model_file))
    again = await collect(shared, ask("The garden is green. And the sea?"), route_to(model_file))
    usage = again[-1]["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > usage["prompt_tokens"] // 2


@pytest.mark.model
async def test_leaving_early_ends_the_call_and_the_next_one_works(
    shared: EmbeddedProvider, model_file: Path
) -> None:
    async with shared.open(ask("Count up.", max_tokens=400), route_to(model_file)) as events:
        first = await anext(events)
    assert json.loads(first)["choices"]
    after = await collect(shared, ask("Say hello.", max_tokens=2), route_to(model_file))
    assert after[-1]["usage"]["completion_tokens"] == 2


@pytest.mark.model
async def test_the_engine_stops_when_it_is_told_to(
    shared: EmbeddedProvider, model_file: Path
) -> None:
    engine = load_engine(EngineKey(model_file, 512, 1), shared, lambda: None)
    taken: list[str] = []

    def take(event: str) -> bool:
        taken.append(event)
        return len(taken) == 3

    body = json.dumps(dict(ask("Count up.", max_tokens=400).payload))
    await anyio.to_thread.run_sync(engine.chat, body, take, lambda: False)
    assert len(taken) == 3


@pytest.mark.model
async def test_a_call_is_cancelled_while_the_prompt_is_still_being_read(
    shared: EmbeddedProvider, model_file: Path
) -> None:
    with anyio.CancelScope() as scope:
        async with shared.open(ask("word " * 300), route_to(model_file)) as events:
            scope.cancel()
            await anext(events)
    assert scope.cancelled_caught


@pytest.mark.model
async def test_a_call_that_waits_for_its_turn_can_be_left(
    shared: EmbeddedProvider, model_file: Path
) -> None:
    engine = load_engine(EngineKey(model_file, 512, 1), shared, lambda: None)
    with engine._turn, anyio.CancelScope() as scope:  # pyright: ignore[reportPrivateUsage]  # somebody else's turn
        async with shared.open(ask("Say hello."), route_to(model_file)) as events:
            scope.cancel()
            await anext(events)
    assert scope.cancelled_caught


@pytest.mark.model
async def test_two_calls_at_once_do_not_mix(shared: EmbeddedProvider, model_file: Path) -> None:
    answers: list[list[Any]] = []

    async def call(text: str) -> None:
        answers.append(await collect(shared, ask(text, max_tokens=3), route_to(model_file)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, "Say hello.")
        tasks.start_soon(call, "Say goodbye.")
    assert [len({event["id"] for event in answer}) for answer in answers] == [1, 1]
    assert [answer[-1]["usage"]["completion_tokens"] for answer in answers] == [3, 3]


@pytest.mark.model
async def test_a_prompt_too_long_for_the_context_is_a_clear_error(
    shared: EmbeddedProvider, model_file: Path
) -> None:
    with pytest.raises(EngineFailed, match="holds 512") as caught:
        await collect(shared, ask("word " * 600), route_to(model_file))
    assert caught.value.facts["n_ctx"] == 512
    assert caught.value.facts["n_prompt_tokens"] == 631
    assert "routes.local.context_tokens" in caught.value.hint


@pytest.mark.model
@pytest.mark.parametrize(
    "change", [{"messages": "none"}, {"response_format": {"type": "poem"}}], ids=["type", "format"]
)
async def test_a_payload_the_engine_does_not_take_is_a_clear_error(
    shared: EmbeddedProvider, model_file: Path, change: dict[str, object]
) -> None:
    wrong = ask("Say hello.")
    wrong = replace(wrong, payload={**wrong.payload, **change})
    with pytest.raises(EngineFailed, match="did not take the request"):
        await collect(shared, wrong, route_to(model_file))


@pytest.mark.model
async def test_an_error_of_the_reader_comes_out_as_it_is(
    shared: EmbeddedProvider, model_file: Path
) -> None:
    mine = KeyError("mine")
    with pytest.raises(KeyError) as caught:
        async with shared.open(ask("Say hello."), route_to(model_file)):
            raise mine
    assert caught.value is mine


@pytest.mark.model
async def test_a_model_is_loaded_once_announced_once_and_freed_by_its_last_user(
    model_file: Path,
) -> None:
    told: list[str] = []
    first, second = EmbeddedProvider(told.append), EmbeddedProvider(told.append)
    route = route_to(model_file, 256)
    for provider in (first, first, second):
        await collect(provider, ask("Hi.", max_tokens=1), route)
    assert told == [f"loading {model_file}"]
    await first.aclose()
    await collect(second, ask("Hi.", max_tokens=1), route)
    assert len(told) == 1

    engine = load_engine(EngineKey(model_file, 256, 1), second, lambda: None)
    release_engines(second)
    with pytest.raises(EngineFailed, match="was closed"):
        engine.chat("{}", lambda _: True, lambda: False)


@pytest.mark.model
async def test_a_name_from_the_catalogue_finds_its_file_in_the_cache(
    shared: EmbeddedProvider, model_file: Path, cache: Path
) -> None:
    path = cache / "models" / "smollm2-135m" / model_file.name
    path.parent.mkdir(parents=True)
    path.symlink_to(model_file)
    provider = EmbeddedProvider()
    events = await collect(provider, ask("Hi.", max_tokens=1), route_to("smollm2-135m", 256))
    await provider.aclose()
    assert events[-1]["usage"]["completion_tokens"] == 1


@pytest.mark.model
def test_a_file_cut_short_is_an_error_and_neither_a_crash_nor_noise(
    model_file: Path, tmp_path: Path
) -> None:
    """In a process of its own: an engine that aborts would take the tests with it."""
    cut = tmp_path / "cut.gguf"
    with model_file.open("rb") as whole:
        cut.write_bytes(whole.read(4_000_000))
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from mentis.engines.engine import EngineKey, load_engine\n"
        "from mentis.errors import EngineFailed\n"
        "try:\n    load_engine(EngineKey(Path(sys.argv[1]), 256, 1), None, lambda: None)\n"
        "except EngineFailed as error:\n    print(error.message)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(cut)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith(f"{cut} could not be loaded: ")
    assert done.stdout.count("\n") == 1


@pytest.mark.model
async def test_the_estimate_holds_against_the_real_tokenizer(
    shared: EmbeddedProvider, model_file: Path
) -> None:
    async def tokens(text: str) -> int:
        events = await collect(shared, ask(text, max_tokens=1), route_to(model_file))
        return events[-1]["usage"]["prompt_tokens"]

    counted = await tokens(GERMAN) - await tokens("")
    assert abs(EstimatingCounter().count(GERMAN).tokens / counted - 1) < 0.15
