"""A real `mentis mcp` process, spoken to by the official client or line by line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from mentis.home.create import create_home
from mentis.ledger.guardian.examples import good_window

Json = dict[str, Any]
MakeClient = Callable[..., Client]
HELLO: Json = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Lines:
    """The process as whoever reads and writes its pipes sees it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last = 0

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> Json:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def send(self, method: str, **params: object) -> int:
        self._last += 1
        message = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        self.write(json.dumps(message).encode())
        return self._last

    def ask(self, method: str, **params: object) -> Json:
        number = self.send(method, **params)
        answer = self.read()
        assert answer["id"] == number
        return answer

    def begin(self) -> Lines:
        assert "result" in self.ask("initialize", **HELLO)
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return self

    def save(self, window: Json) -> Json:
        arguments = {"status_window": window}
        return self.ask("tools/call", name="save_status", arguments=arguments)["result"]

    def finish(self) -> tuple[int, bytes, str]:
        """Leave, and see what was still said: exit code, standard output, standard error."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err.decode()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


@pytest.fixture
def lines(home: Path) -> Iterator[Lines]:
    # Whoever runs the tests in the background has Ctrl-C ignored, and a child would inherit it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [sys.executable, "-W", "always", "-m", "mentis", "--home", str(home), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with closing(Lines(process)) as opened:
        yield opened


@pytest.fixture
def client(home: Path, tmp_path: Path) -> Iterator[MakeClient]:
    """The official client, with what the server says on standard error in a file."""
    args = ["-m", "mentis", "--home", str(home), "mcp"]
    with (tmp_path / "stderr.txt").open("w", encoding="utf-8") as talk:

        def make(mode: str = "legacy") -> Client:
            server = StdioServerParameters(command=sys.executable, args=args, env=dict(os.environ))
            return Client(stdio_client(server, errlog=talk), mode=mode)

        yield make


def window(state: Json | None = None, **changes: object) -> Json:
    """A draft that passes, with the step and the cycle the ledger asks for."""
    state = state or {"step_id": "step-1", "cycle": "1/5"}
    asked = {"step_id": state["step_id"], "cycle": state["cycle"]}
    return cast("Json", {**good_window(), **asked, **changes})
