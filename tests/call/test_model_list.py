"""The list of a server's models, as each product writes it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.model_servers import LLAMACPP, LLAMACPP_OLD, LMSTUDIO, OLLAMA, VLLM, serving

from mentis.call.model_list import ModelList, ServedModel, list_models, start_command
from mentis.errors import ProviderRefused, ProviderUnreachable
from mentis.values.route import Route

pytestmark = pytest.mark.anyio


def route_to(url: str, model: str = "m") -> Route:
    return Route("there", "openai", model, url=url)


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (
            OLLAMA,
            ModelList(
                (
                    ServedModel("llama3.2:latest", None, "3.2B"),
                    ServedModel("qwen3:8b", 4096, "8.2B", loaded=True),
                ),
                "ollama",
            ),
        ),
        (
            LLAMACPP,
            ModelList((ServedModel("Qwen3-4B-Q4_K_M", 2048, "4.0B", loaded=True),), "llamacpp"),
        ),
        (LLAMACPP_OLD, ModelList((ServedModel("tiny", 1024),), "llamacpp")),
        (VLLM, ModelList((ServedModel("Qwen/Qwen3-8B", 16384, loaded=True),), "vllm")),
        (
            LMSTUDIO,
            ModelList(
                (ServedModel("meta-llama-3.1-8b-instruct", 8192, "Q4_K_M", loaded=True),),
                "lmstudio",
            ),
        ),
    ],
)
async def test_each_product_is_known_by_its_list_and_models_of_vectors_are_left_out(
    pages: Mapping[str, bytes], expected: ModelList
) -> None:
    with serving(pages) as server:
        assert await list_models(route_to(server.url), "") == expected


async def test_a_list_in_the_form_of_gemini_and_of_anthropic_is_read() -> None:
    gemini = {"/v1/models": b'{"models":[{"name":"models/gemini-3-pro","displayName":"3"}]}'}
    with serving(gemini) as server:
        found = await list_models(Route("g", "gemini", "gemini-3-pro", url=server.url), "")
    assert [one.name for one in found.models] == ["gemini-3-pro"]
    claude = {"/v1/models": b'{"data":[{"type":"model","id":"claude-opus-5"}],"has_more":false}'}
    with serving(claude) as server:
        found = await list_models(Route("a", "anthropic", "claude-opus-5", url=server.url), "")
    assert found.find("claude-opus-5") == ServedModel("claude-opus-5")


async def test_the_name_of_a_route_finds_its_model() -> None:
    with serving(OLLAMA) as server:
        ollama = await list_models(route_to(server.url), "")
    with serving(LLAMACPP) as server:
        single = await list_models(route_to(server.url), "")
    assert ollama.find("llama3.2") == ollama.models[0]
    assert ollama.find("llama4") is None
    assert ollama.strict
    assert single.find("any name") == single.models[0]
    assert not single.strict


async def test_a_server_that_is_not_there_or_is_no_server_of_models_is_told() -> None:
    with serving({"/v1/models": b"<html>hello"}) as server:
        with pytest.raises(ProviderRefused, match="not as a server of models does"):
            await list_models(route_to(server.url), "")
        gone = server.url
    with pytest.raises(ProviderUnreachable, match="no answer from"):
        await list_models(route_to(gone), "")


async def test_the_key_goes_along_and_a_wrong_one_is_refused() -> None:
    with serving(LLAMACPP, key="k-1") as server:
        assert (await list_models(route_to(server.url), "k-1")).models
        with pytest.raises(ProviderRefused, match="401"):
            await list_models(route_to(server.url), "k-2")


def test_the_command_that_starts_a_server_is_known_by_its_usual_port() -> None:
    assert start_command(route_to("http://127.0.0.1:11434/v1")) == "ollama serve"
    assert start_command(route_to("http://127.0.0.1:9/v1")) == ""
