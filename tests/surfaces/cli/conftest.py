"""The command line, in process and as a real process."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mentis.home.create import create_home
from mentis.surfaces.cli.main import run


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def json(self) -> dict[str, object]:
        return json.loads(self.out)


Mentis = Callable[..., Done]
SCRIPT = '[routes.default]\nreplies = ["One.", "Two.", "Three."]\n'


@pytest.fixture
def mentis(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Mentis:
    """Runs a command line in this process; standard input is not a terminal and empty."""
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def call(*args: str | Path) -> Done:
        capfd.readouterr()
        code = run([str(arg) for arg in args])
        captured = capfd.readouterr()
        return Done(code, captured.out, captured.err)

    return call


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose default route plays a script."""
    path = create_home(tmp_path / "home")
    toml = (path / "mentis.toml").read_text(encoding="utf-8")
    (path / "mentis.toml").write_text(toml.replace("[routes]", SCRIPT), encoding="utf-8")
    return path


@pytest.fixture
def log(home: Path) -> str:
    """The part of its settings without which a home is not the one it was."""
    chosen = tomllib.loads((home / "mentis.toml").read_text(encoding="utf-8"))["ledger"]
    return "\n[ledger]\n" + "".join(f'{key} = "{value}"\n' for key, value in chosen.items())


@pytest.fixture
def process() -> Callable[..., subprocess.Popen[str]]:
    """Starts a real `mentis` process."""

    def start(*args: str | Path, **environ: str) -> subprocess.Popen[str]:
        # Whoever runs the tests in the background has Ctrl-C ignored, and a child would inherit it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                [sys.executable, "-m", "mentis", *map(str, args)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **environ},
            )
        finally:
            signal.signal(signal.SIGINT, before)

    return start
