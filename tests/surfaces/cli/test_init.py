"""`mentis init`: what this machine has is offered with one keypress, and written as one line."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest
from tests.docs.pictures import check_picture
from tests.gguf_bytes import write_gguf
from tests.model_servers import LLAMACPP, OLLAMA, serving

from .conftest import Mentis

NOWHERE = "http://127.0.0.1:1/v1"
# The process looks for servers where the test has them, and not at the ports of this machine.
CODE = """
import sys
from mentis.home import found_models
found_models.usual_addresses = lambda _environ: {addresses!r}
from mentis.surfaces.cli.main import main
main({args!r})
"""


@pytest.fixture
def addresses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Generator[dict[str, str], None, None]:
    """Ollama and llama.cpp run, the others do not; nothing of this machine's user is seen."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("MENTIS_CACHE", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    with ExitStack() as stack:
        urls = {"vllm": NOWHERE, "lmstudio": NOWHERE}
        urls["ollama"] = stack.enter_context(serving(OLLAMA)).url
        urls["llamacpp"] = stack.enter_context(serving(LLAMACPP)).url

        def usual(_environ: Mapping[str, str]) -> dict[str, str]:
            return urls

        monkeypatch.setattr("mentis.home.found_models.usual_addresses", usual)
        yield urls


def routes_of(home: Path) -> dict[str, object]:
    return tomllib.loads((home / "mentis.toml").read_text(encoding="utf-8"))["routes"]


def test_without_a_terminal_nothing_is_asked_or_looked_for(
    mentis: Mentis, addresses: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_CONFIG", "keys")
    monkeypatch.chdir(tmp_path)
    done = mentis("init", "home")
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        "Made a home in home\n"
        "  mentis.toml                which model answers\n"
        "  profile.toml               who you are\n"
        "  personas/ada/persona.toml  who it is\n"
        "The key that signs its record is in keys; keep a copy of it.\n"
        "Next: mentis --home home chat\n"
    )
    assert routes_of(tmp_path / "home") == {}
    assert set(mentis("init", "other", "--json").json()) == {"home"}


def test_yes_takes_the_best_and_says_which(
    mentis: Mentis, addresses: dict[str, str], tmp_path: Path
) -> None:
    done = mentis("init", tmp_path / "home", "--yes")
    assert "qwen3:8b at Ollama answers from now on" in done.err
    line = {
        "preset": "ollama",
        "model": "qwen3:8b",
        "url": addresses["ollama"],
        "context_tokens": 4096,
        "max_tokens": 512,
    }
    assert routes_of(tmp_path / "home") == {"default": line}
    told = mentis("init", tmp_path / "other", "--yes", "--json").json()
    assert (told["model"], told["route"]) == ("qwen3:8b", line)
    again = mentis("models", "choose", "--yes", "--json", "--home", tmp_path / "home").json()
    assert again["route"] == line


def test_a_model_is_named_with_route_and_a_wrong_name_makes_no_home(
    mentis: Mentis, addresses: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    assert mentis("init", home, "--route", "nothing").code == 1
    assert not home.exists()
    assert mentis("init", home, "--route", "anthropic/claude-opus-5").code == 0
    assert routes_of(home) == {"default": {"preset": "anthropic", "model": "claude-opus-5"}}
    file = write_gguf(tmp_path / "m.gguf")
    assert mentis("models", "choose", "--route", file, "--home", home).code == 0
    assert routes_of(home)["default"] == {
        "backend": "embedded",
        "model": str(file),
        "context_tokens": 4096,
    }
    assert mentis("models", "choose", "--home", home).code == 2


def test_where_only_the_embedded_model_is_left_it_is_called_a_test_engine(
    mentis: Mentis, addresses: dict[str, str], tmp_path: Path
) -> None:
    addresses |= dict.fromkeys(addresses, NOWHERE)
    done = mentis("init", tmp_path / "home", "--yes")
    assert done.code == 0
    assert done.err.count("test engine") == 1
    assert "It speaks English only." in done.err
    assert "ollama serve" in done.err
    assert "mentis models add FILE" in done.err
    assert routes_of(tmp_path / "home") == {}


def test_the_models_of_the_machine_are_found_added_listed_and_removed(
    mentis: Mentis, addresses: dict[str, str], tmp_path: Path
) -> None:
    found = mentis("models", "find", "--json").json()
    models = cast("list[dict[str, object]]", found["models"])
    assert [one["model"] for one in models][:2] == ["qwen3:8b", "llama3.2:latest"]
    file = write_gguf(tmp_path / "Mine.gguf")
    added = mentis("models", "add", file)
    assert added.code == 0
    assert "Talk to it: mentis chat --route embedded/Mine" in added.err
    assert "Mine" in mentis("models").out
    assert mentis("models", "rm", "Mine").code == 0
    listed = mentis("models", "list")
    assert "Mine" not in listed.out
    assert "Better models can come from:" in listed.err
    (tmp_path / "zip.gguf").write_bytes(b"PK\x03\x04")
    refused = mentis("models", "add", tmp_path / "zip.gguf")
    assert (refused.code, "is not a GGUF file" in refused.err) == (1, True)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")
@pytest.mark.parametrize(
    ("pressed", "model"), [("3", "Qwen3-4B-Q4_K_M"), ("\r", "qwen3:8b"), ("x0", None)]
)
def test_one_keypress_at_a_terminal_chooses(
    addresses: dict[str, str], tmp_path: Path, pressed: str, model: str | None
) -> None:
    from tests.terminal import at_terminal

    environ = {**os.environ, "ANTHROPIC_API_KEY": "sk-ant-very-secret", "MENTIS_CONFIG": "keys"}
    code = CODE.format(addresses=addresses, args=["init", "my-home"])
    # Two keys at once would be read as one: the second comes when the first was answered.
    seen_first = ("Enter takes 1: ", "There is no 'x'")
    presses = list(zip(seen_first, pressed, strict=False))
    status, seen = at_terminal(code, cwd=tmp_path, environ=environ, presses=presses)
    assert status == 0, seen
    assert "very-secret" not in seen
    if model is None:
        assert "There is no 'x'" in seen
        assert routes_of(tmp_path / "my-home") == {}
        return
    assert f"{model} at " in seen
    default = routes_of(tmp_path / "my-home")["default"]
    assert isinstance(default, dict)
    assert default["model"] == model
    if pressed == "\r":
        usual = {"ollama": "11434", "llamacpp": "8080"}
        for name, port in usual.items():
            seen = seen.replace(addresses[name], f"http://127.0.0.1:{port}/v1")
        usual_line = seen.replace(f', url = "http://127.0.0.1:{usual["ollama"]}/v1"', "")
        check_picture("guides/first-agent.md", "init", f"$ mentis init my-home\n{usual_line}")
