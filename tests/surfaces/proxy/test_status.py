"""While a program runs: a title for the terminal, a line in a file, and nothing else anywhere."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recorder.foreign import anthropic_call, user

from mentis.home.create import create_home
from mentis.recorder.recording import open_recording

from .conftest import PATIENCE, upstream_server
from .test_record import PROGRAM, environ_for, messages_answer

# It makes its second call when the first one has been told: calls are written a moment later, and
# those of one moment together.
PATIENT = PROGRAM.replace(
    'print("the program',
    """    for _ in range(600 * (number == 0)):
        if "1 call," in open(sys.argv[3]).read():
            break
        time.sleep(0.05)
print("the program""",
).replace("import os, sys", "import os, sys, time")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "house")


def read_all(terminal: int) -> bytes:
    data = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            return data
        if not piece:
            return data
        data += piece


def test_the_title_of_the_terminal_tells_of_the_calls_and_the_output_is_the_programs(
    home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "status"
    terminal, other = pty.openpty()
    with upstream_server() as upstream:
        upstream.answer = messages_answer
        program = [sys.executable, "-c", PATIENT, "2", "claude-sonnet-5", str(file)]
        command = [sys.executable, "-m", "mentis", "--home", str(home), "record", "--as", "tester"]
        process = subprocess.Popen(
            [*command, "--status", str(file), "--", *program],
            env={**environ_for(upstream), "TERM": "xterm-256color"},
            stdout=subprocess.PIPE,
            stderr=other,
        )
        os.close(other)
        shown = read_all(terminal)
        out, _ = process.communicate(timeout=PATIENCE)
        os.close(terminal)
    assert (process.returncode, out) == (7, b"the program says this\n")
    # The title that was there before is kept, and comes back before the sum is told.
    saved, _, rest = shown.partition(b"\x1b[22;2t")
    titles, _, told = rest.partition(b"\x1b[23;2t")
    assert saved == b""
    assert b"\x1b]2;recorded/tester: 1 call, 2000 in (0 % cached), 3 out" in titles
    assert titles.replace(b"\x1b]2;", b"").count(b"\x1b") == titles.count(b"\x1b\\")
    assert b"\n" not in titles
    assert told.startswith(b"recorded/tester: 2 calls")
    line = file.read_text("utf-8")
    assert line.startswith("recorded/tester: 2 calls, 4000 in (0 % cached), 6 out, ")
    assert line.endswith("last loss 2000 in entry 1: system block 0\n")


@pytest.mark.slow
def test_a_recording_is_watched_from_another_terminal(home: Path) -> None:
    with open_recording(home, "tester", tell=pytest.fail) as recording:
        recording.offer(anthropic_call({"messages": [user("hi")]}, fresh=10))
    command = [sys.executable, "-m", "mentis", "--home", str(home), "record", "--watch"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGINT, before)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("recorded/tester: 1 call, 10 in")
        with open_recording(home, "tester", tell=pytest.fail) as recording:
            recording.offer(anthropic_call({"messages": [user("hi")]}, fresh=20, after=9))
        assert process.stdout.readline().startswith("recorded/tester: 1 call, 20 in")  # a new run
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
