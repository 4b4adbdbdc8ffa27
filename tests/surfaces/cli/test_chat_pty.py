"""The real command at a real terminal: an answer that is ended, a paste, another width."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import cast

import pyte
import pytest

from mentis.home.create import create_home
from mentis.record.verify_home import verify_home

from .chat_screen import pasted
from .test_chat_prompt import history

pytestmark = pytest.mark.slow
WORDS = [f"word{number} " for number in range(40)]


class Server(ThreadingHTTPServer):
    """A model that says the first words at once, and the rest when it is let go."""

    def __init__(self) -> None:
        self.go_on = Event()
        super().__init__(("127.0.0.1", 0), Answer)


class Answer(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # theirs
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            self._say(WORDS[:20])
            cast("Server", self.server).go_on.wait(60)
            self._say(WORDS[20:], end="stop")
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:  # whoever asked has gone
            pass

    def _say(self, words: list[str], end: str | None = None) -> None:
        for place, word in enumerate(words):
            last = end if place == len(words) - 1 else None
            told = {"choices": [{"delta": {"content": word}, "finish_reason": last}]}
            self.wfile.write(f"data: {json.dumps(told)}\n\n".encode())
            self.wfile.flush()


class PtyScreen:
    """A child at a terminal of its own, and what that terminal shows."""

    def __init__(self, *command: str, columns: int, rows: int) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._emulator = pyte.ByteStream(self.screen)
        self._terminal, self._childs = pty.openpty()
        environ = {**os.environ, "TERM": "xterm-256color"}
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            environ.pop(name, None)
        # The first terminal that a new session opens is its own: its keys send signals there.
        opens = ["/bin/sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(self._childs)]
        started = [*opens, sys.executable, "-m", "mentis", *command]
        # A shell that runs the tests in the background has them ignore Ctrl-C.
        heeding = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        self._child = subprocess.Popen(
            started,
            start_new_session=True,
            env=environ,
            preexec_fn=heeding,  # noqa: PLW1509  # no locks
        )
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)
        self.screen.resize(rows, columns)

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]

    def wait_for(self, shown: Callable[[str], bool]) -> None:
        end = monotonic() + 60
        while not shown("\n".join(self.lines)):
            assert monotonic() < end, "\n".join(self.lines)
            self._read()

    def terminate(self) -> None:
        self._child.terminate()

    def wait(self) -> int:
        """The exit code, once it is over."""
        end = monotonic() + 60
        while self._child.poll() is None:
            assert monotonic() < end, "\n".join(self.lines)
            self._read()
        os.close(self._terminal)
        os.close(self._childs)
        return self._child.returncode

    def _read(self) -> None:
        if not select.select([self._terminal], [], [], 0.2)[0]:
            return
        data = os.read(self._terminal, 65536)
        self._emulator.feed(data)
        if b"\x1b[6n" in data:  # where the cursor is
            place = self.screen.cursor
            self.type(f"\x1b[{place.y + 1};{place.x + 1}R")


@pytest.fixture
def server() -> Generator[Server]:
    made = Server()
    serving = Thread(target=made.serve_forever, daemon=True)
    serving.start()
    yield made
    made.go_on.set()
    made.shutdown()
    made.server_close()


@pytest.fixture
def home(tmp_path: Path, server: Server) -> Path:
    path = create_home(tmp_path / "home")
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    with (path / "mentis.toml").open("a") as file:
        file.write(f'\n[routes.default]\nurl = "{url}"\nmodel = "m"\n[recall]\nembedder = "off"\n')
    return path


@contextmanager
def talking(home: Path) -> Generator[PtyScreen]:
    shown = PtyScreen("--home", str(home), "chat", columns=80, rows=24)
    shown.wait_for(lambda text: "you>" in text)
    yield shown
    shown.wait_for(lambda text: text.rstrip().endswith("you>"))
    shown.type("\x04")
    assert shown.wait() == 0


def test_ctrl_c_ends_an_answer_a_paste_is_one_message_and_a_new_width_is_used(
    home: Path, server: Server
) -> None:
    with talking(home) as shown:
        shown.type("Tell me a story\r")
        shown.wait_for(lambda text: "word19" in text)
        shown.type("\x03")
        shown.wait_for(lambda text: "stop: interrupted, the part above is kept]" in text)
        server.go_on.set()
        shown.wait_for(lambda text: text.rstrip().endswith("you>"))
        shown.type(pasted("one\ntwo"))
        shown.wait_for(lambda text: "...> two" in text)
        shown.resize(40, 24)
        shown.type("\r")
        shown.wait_for(lambda text: text.count("[entry") == 2 and "word39" in text)
        said = [line for line in shown.lines if line.startswith("word")]
        assert said, shown.lines
        assert 30 < max(map(len, said)) <= 40, "wrapped at the new width"
    asked, part, second, whole = history(home)
    assert (asked, second) == ("Tell me a story", "one\ntwo")
    assert part == "".join(WORDS[:20])
    assert whole == "".join(WORDS)
    (verdict,) = verify_home(home)
    assert (verdict.intact, verdict.entries) == (True, 2)


def test_keys_pressed_during_an_answer_are_there_at_the_next_prompt(
    home: Path, server: Server
) -> None:
    with talking(home) as shown:
        shown.type("Hello\r")
        shown.wait_for(lambda text: "word19" in text)
        shown.type("typed ahead")
        server.go_on.set()
        shown.wait_for(lambda text: "you> typed ahead" in text)
        assert sum("typed ahead" in line for line in shown.lines) == 1
        shown.type("\x15")


def test_a_message_and_a_command_typed_during_an_answer_are_sent_one_after_the_other(
    home: Path, server: Server
) -> None:
    with talking(home) as shown:
        shown.type("Hello\r")
        shown.wait_for(lambda text: "word19" in text)
        shown.type("/help\r/wyh\r")
        server.go_on.set()
        shown.wait_for(lambda text: "no command /wyh: did you mean /why?" in text)
    assert len(history(home)) == 2, "neither was sent to the persona"


def test_asked_to_end_it_leaves_its_prompt(home: Path) -> None:
    shown = PtyScreen("--home", str(home), "chat", columns=80, rows=24)
    shown.wait_for(lambda text: "you>" in text)
    shown.terminate()
    assert shown.wait() == 0
