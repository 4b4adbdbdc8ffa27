"""What this machine has, and the line that it becomes."""

from __future__ import annotations

import tomllib
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.gguf_bytes import write_gguf
from tests.model_servers import LLAMACPP, LMSTUDIO, OLLAMA, VLLM, serving

from mentis.codec.forms import to_json
from mentis.engines.gguf_files import add_model
from mentis.errors import EngineFailed, RouteError
from mentis.home.create import create_home
from mentis.home.found_models import (
    EMBEDDED,
    ModelSearch,
    best_model,
    choose_model,
    find_models,
    look_up_model,
    named_model,
    usual_addresses,
)
from mentis.settings.sources import load_settings

pytestmark = pytest.mark.anyio
NOWHERE = "http://127.0.0.1:1/v1"
NOBODY: dict[str, str] = dict.fromkeys(("ollama", "llamacpp", "vllm", "lmstudio"), NOWHERE)


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("MENTIS_CACHE", str(tmp_path / "cache"))
    return {"HOME": str(tmp_path / "user")}


async def all_of_it(environ: dict[str, str]) -> ModelSearch:
    with ExitStack() as stack:
        pages = {"ollama": OLLAMA, "llamacpp": LLAMACPP, "vllm": VLLM, "lmstudio": LMSTUDIO}
        urls = {name: stack.enter_context(serving(one)).url for name, one in pages.items()}
        return await find_models(environ, addresses=urls)


async def test_servers_come_first_then_keys_then_files(
    environ: dict[str, str], tmp_path: Path
) -> None:
    write_gguf(tmp_path / "user/.lmstudio/models/a/b/tiny.gguf")
    search = await all_of_it({**environ, "ANTHROPIC_API_KEY": "sk-ant-very-secret"})
    assert [one.title for one in search.models] == [
        "qwen3:8b at Ollama (8.2B, loaded, 4096 tokens)",
        "llama3.2:latest at Ollama (3.2B, 4096 tokens)",
        "Qwen3-4B-Q4_K_M at llama.cpp (4.0B, loaded, 2048 tokens)",
        "Qwen/Qwen3-8B at vLLM (loaded, 16384 tokens)",
        "meta-llama-3.1-8b-instruct at LM Studio (Q4_K_M, loaded, 8192 tokens)",
        "claude-sonnet-5-5 at anthropic (with the key in ANTHROPIC_API_KEY, which is billed)",
        "tiny at LM Studio (a file of 0.0 GB, run in this program)",
    ]
    assert best_model(search) == search.models[0]
    assert search.silent == ()
    assert b"very-secret" not in to_json(search)
    assert "its context size is unknown" in search.models[1].notes[0]


async def test_every_line_is_a_route_that_the_settings_take(
    environ: dict[str, str], tmp_path: Path
) -> None:
    write_gguf(tmp_path / "user/.lmstudio/models/a/b/tiny.gguf")
    search = await all_of_it({**environ, "GROQ_API_KEY": "k"})
    home = create_home(tmp_path / "home")
    for model in search.models:
        change = choose_model(home, model)
        assert change is not None
        route = load_settings(home, {}).route()
        assert route.model == model.route["model"]
        assert route.context_tokens == model.route.get("context_tokens", route.context_tokens)
        if route.context_tokens < 4096:
            assert (route.variant, route.max_tokens) == ("compact", route.context_tokens // 8)
    written = tomllib.loads((home / "mentis.toml").read_text(encoding="utf-8"))
    assert written["routes"] == {"default": dict(search.models[-1].route)}


async def test_where_nothing_is_the_embedded_model_is_left_and_called_a_test_engine(
    environ: dict[str, str], tmp_path: Path
) -> None:
    search = await find_models(environ, addresses=NOBODY)
    assert search.models == ()
    assert search.silent[0][1] == "ollama serve"
    assert best_model(search) is EMBEDDED
    assert "test engine" in EMBEDDED.notes[0]
    home = create_home(tmp_path / "home")
    before = (home / "mentis.toml").read_bytes()
    assert choose_model(home, EMBEDDED) is None
    assert (home / "mentis.toml").read_bytes() == before


async def test_another_product_at_a_usual_port_is_not_taken_for_it(environ: dict[str, str]) -> None:
    with serving(VLLM) as server, serving({"/v1/models": b"<html>"}) as page:
        found = await find_models(
            environ, addresses={**NOBODY, "llamacpp": server.url, "vllm": page.url}
        )
    assert found.models == ()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("127.0.0.1:9999", "http://127.0.0.1:9999/v1"),
        ("http://localhost:9999/", "http://localhost:9999/v1"),
        ("localhost", "http://localhost:11434/v1"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434/v1"),
        ("gpu.example:11434", "http://127.0.0.1:11434/v1"),
    ],
)
def test_the_host_that_ollama_is_told_counts_if_it_is_this_machine(host: str, url: str) -> None:
    assert usual_addresses({"OLLAMA_HOST": host})["ollama"] == url


async def test_a_server_of_this_machine_is_asked_about_the_model_that_is_named(
    environ: dict[str, str],
) -> None:
    with serving(OLLAMA) as server:
        moved = {**environ, "OLLAMA_HOST": server.url.removesuffix("/v1")}
        named = await look_up_model("ollama/llama3.2", moved)
        other = await look_up_model("ollama/mixtral", moved)
        silent = await look_up_model("ollama/llama3.2", environ, addresses=NOBODY)
    line = {
        "preset": "ollama",
        "model": "llama3.2:latest",
        "url": server.url,
        "context_tokens": 4096,
        "max_tokens": 512,
    }
    assert named.route == line
    assert other.route == {**line, "model": "mixtral"}
    assert other.notes == ("Ollama does not list mixtral; it has: llama3.2:latest, qwen3:8b",)
    assert silent.notes == ("no server answers at http://127.0.0.1:1; start it with: ollama serve",)
    paid = await look_up_model("anthropic/claude-opus-5", environ)
    assert paid == named_model("anthropic/claude-opus-5")


def test_a_model_that_was_added_is_named_with_what_its_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_CACHE", str(tmp_path / "cache"))
    add_model(write_gguf(tmp_path / "Mine.gguf"))
    found = named_model("embedded/Mine")
    assert found.route == {"backend": "embedded", "model": "Mine", "context_tokens": 4096}
    with pytest.raises(RouteError, match="there is no model 'Yours'"):
        named_model("embedded/Yours")


def test_a_model_is_named_directly_or_by_its_file(tmp_path: Path) -> None:
    assert named_model("ollama/llama3.2").route == {"preset": "ollama", "model": "llama3.2"}
    assert named_model("embedded") is EMBEDDED
    file = write_gguf(tmp_path / "m.gguf")
    assert named_model(str(file)).route["model"] == str(file)
    with pytest.raises(RouteError, match="'llama' names no model"):
        named_model("llama")
    (tmp_path / "other.gguf").write_bytes(b"no")
    with pytest.raises(EngineFailed, match="is not a GGUF"):
        named_model(str(tmp_path / "other.gguf"))
