"""`mentis send`, `mentis worker` and `mentis workers`: by commands, over a home in a database."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mentis.surfaces.cli.main import run


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(list(words)) == code, capsys.readouterr().err
    return capsys.readouterr().out


def test_what_is_sent_is_answered_by_a_worker_until_it_is_drained(
    tmp_path: Path, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    home = str(tmp_path / "home")
    told(capsys, "init", home, "--database", postgres_url, "--schema", "sent")
    at = ("--home", home)
    told(capsys, *at, "send", "Hello", "--id", "one")
    waiting = json.loads(told(capsys, *at, "workers", "list", "--json"))
    assert (waiting["workers"], waiting["waiting"], waiting["agents"]) == ([], 1, 1)
    script = Path(__file__).parents[2] / "app" / "serving.py"
    words = [sys.executable, str(script), home, "echo"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as child:
        answer = json.loads(
            told(capsys, *at, "send", "Hello", "--id", "one", "--wait", "60", "--json")
        )
        assert (answer["answer"]["state"], answer["answer"]["text"]) == ("answered", "Yes.")
        (worker,) = json.loads(told(capsys, *at, "workers", "list", "--json"))["workers"]
        assert worker["name"] in told(capsys, *at, "workers", "drain", worker["name"])
        assert child.wait(60) == 0
    told(capsys, *at, "workers", "drain", "nobody", code=2)
    told(capsys, *at, "workers", "drain", code=2)
    told(capsys, *at, "send", "Hi", "--wait", "0", code=1)


def test_a_worker_ends_when_it_is_asked_to(
    tmp_path: Path, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    home = str(tmp_path / "home")
    told(capsys, "init", home, "--database", postgres_url, "--schema", "ended")
    words = [sys.executable, "-m", "mentis", "--home", home, "worker", "--json"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        assert child.stdout is not None
        assert "serves" in child.stderr.readline()
        os.kill(child.pid, signal.SIGTERM)
        assert json.loads(child.stdout.read())["answered"] == 0
