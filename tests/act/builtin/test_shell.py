"""Real programs in bounds: what they may be, where they run, how long, how much they say.

That something is gone is seen on a named pipe: who reads it hears the end only when nobody is left
that could write.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentis.act.builtin.process import FLOOD_BYTES
from mentis.act.builtin.shell import Shell, ShellLimits
from mentis.errors import SettingsError
from mentis.library.acts import load_acts
from mentis.values.action import Outcome
from mentis.values.trust import Trust

from .calling import do, result

pytestmark = pytest.mark.anyio
WORDS = load_acts()["shell"]
PYTHON = sys.executable
LIMITS = ShellLimits(programs=(PYTHON, "/bin/sh", "echo", "env", "missing-program", "bin/tool"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "home"
    (folder / "work").mkdir(parents=True)
    return folder


@pytest.fixture
def shell(home: Path) -> Shell:
    return Shell(WORDS, home, LIMITS)


def python(code: str, **more: object) -> dict[str, Any]:
    return {"argv": [PYTHON, "-c", code], **more}


class Pipe:
    """Counts what is written; `gone` is there once all who could write are dead."""

    def __init__(self, path: Path, threads: ThreadPoolExecutor) -> None:
        os.mkfifo(path)
        self.path = path
        self._heard = threading.Semaphore(0)
        self.gone = threads.submit(self._read)

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self._heard.acquire(timeout=20)

    def _read(self) -> bytes:
        heard = b""
        with self.path.open("rb", buffering=0) as pipe:
            while piece := pipe.read(1):
                heard += piece
                self._heard.release()
        return heard


@pytest.fixture
def pipe(home: Path) -> Iterator[Pipe]:
    with ThreadPoolExecutor(1) as threads:
        pipe = Pipe(home / "pipe", threads)
        yield pipe
        with suppress(OSError):  # if nobody ever wrote, the reader is let go
            os.close(os.open(pipe.path, os.O_WRONLY | os.O_NONBLOCK))


async def test_a_program_is_run_and_both_outputs_are_told_apart(shell: Shell) -> None:
    code = "import sys; print('grüße'); sys.stderr.write('careful'); sys.exit(3)"
    outcome = await do(shell, python(code))
    assert result(outcome) == {
        "ending": "exited",
        "exit_code": 3,
        "stdout": {"text": "grüße\n", "bytes": 8, "cut": 0, "lossy": False},
        "stderr": {"text": "careful", "bytes": 7, "cut": 0, "lossy": False},
    }
    assert (outcome.trust, outcome.source) == (Trust.UNTRUSTED, "builtin:shell")


async def test_nothing_is_expanded(shell: Shell) -> None:
    argv = ["echo", "$HOME", "*", "; rm -rf /", "a|b", "$(id)", ""]
    told = result(await do(shell, {"argv": argv}))
    assert told["stdout"]["text"] == "$HOME * ; rm -rf / a|b $(id) \n"


async def test_it_runs_in_the_home_or_a_folder_of_it(shell: Shell, home: Path) -> None:
    here = python("import os; print(os.getcwd())")
    assert result(await do(shell, here))["stdout"]["text"] == f"{home}\n"
    there = result(await do(shell, {**here, "cwd": "work"}))
    assert there["stdout"]["text"] == f"{home / 'work'}\n"


async def test_it_is_told_nothing_of_our_environment(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter22")
    told = result(await do(shell, {"argv": ["env"]}))
    lines = dict(line.split("=", 1) for line in told["stdout"]["text"].splitlines())
    assert lines.pop("MENTIS_ACT").endswith("/k1")
    assert lines == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
    }


async def test_it_is_given_nothing_to_read(shell: Shell) -> None:
    told = result(await do(shell, python("import sys; print(repr(sys.stdin.read()))")))
    assert told["stdout"]["text"] == "''\n"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "rm",
            "python",
            "/bin/echo",
            "./echo",
            "ECHO",
            " echo",
            "echo\n",
            "echo;id",
            "-c",
            ".",
            "/",
        ),
        *("../../bin/sh", "/bin/../bin/sh", "/bin//sh", "work/../tool", "\uff45\uff43\uff48\uff4f"),
    ],
)
async def test_other_programs_are_refused(shell: Shell, name: str) -> None:
    outcome = await do(shell, {"argv": [name]})
    assert outcome.state == "refused"
    assert outcome.reason.startswith(f"{name!r} is not among the programs that may be run: ")


async def test_without_a_list_nothing_can_be_run(home: Path) -> None:
    outcome = await do(Shell(WORDS, home, ShellLimits()), {"argv": ["echo"]})
    assert (outcome.state, outcome.reason[-6:]) == ("refused", ": none")


@pytest.mark.parametrize("name", ["missing-program", "bin/tool"])
async def test_a_program_that_is_not_there_is_unavailable(
    shell: Shell, home: Path, name: str
) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "tool").write_text("#!/bin/sh\n", encoding="utf-8")
    (home / "bin" / "tool").chmod(0o755)
    outcome = await do(shell, {"argv": [name]})
    assert (outcome.state, outcome.reason) == ("unavailable", f"there is no program {name!r} here")


async def test_a_program_that_cannot_be_started_is_unavailable(home: Path) -> None:
    broken = home / "broken"
    broken.write_bytes(b"\x00nothing that runs")
    broken.chmod(0o755)
    act = Shell(WORDS, home, ShellLimits(programs=(str(broken),)))
    outcome = await do(act, {"argv": [str(broken)]})
    assert outcome.state == "unavailable"
    assert "cannot be started" in outcome.reason


@pytest.mark.parametrize("cwd", ["..", "../..", "work/../..", "/", "link", "link/deeper", "loop"])
async def test_a_folder_outside_is_refused(shell: Shell, home: Path, cwd: str) -> None:
    (home.parent / "outside" / "deeper").mkdir(parents=True)
    (home / "link").symlink_to(home.parent / "outside")
    (home / "loop").symlink_to(home / "loop")
    outcome = await do(shell, {"argv": ["echo"], "cwd": cwd})
    assert outcome.state == "refused"
    assert outcome.reason == f"cwd: {cwd!r} leads out of the home"


@pytest.mark.parametrize("cwd", ["missing", "file", "a\0b"])
async def test_what_is_no_folder_is_refused(shell: Shell, home: Path, cwd: str) -> None:
    (home / "file").write_text("", encoding="utf-8")
    assert (await do(shell, {"argv": ["echo"], "cwd": cwd})).state == "invalid"


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"argv": []},
        {"argv": "echo hello"},
        {"argv": [1]},
        {"argv": ["echo"] * 65},
        {"argv": ["echo", "x" * 4097]},
        {"argv": ["echo"], "seconds": 0},
        {"argv": ["echo"], "seconds": 61},
        {"argv": ["echo"], "seconds": math.nan},
        {"argv": ["echo"], "seconds": "5"},
        {"argv": ["echo"], "output_bytes": 262_145},
        {"argv": ["echo"], "cwd": 7},
    ],
)
async def test_what_is_no_command_is_refused(shell: Shell, payload: dict[str, Any]) -> None:
    await do(shell, payload, fits=False)


async def test_a_null_character_is_refused(shell: Shell) -> None:
    assert (await do(shell, {"argv": ["echo", "a\0b"]})).state == "invalid"


async def test_what_is_written_past_the_bound_is_counted_and_not_kept(shell: Shell) -> None:
    told = result(await do(shell, python("print('x' * 100_000)", output_bytes=10)))
    assert told["stdout"] == {"text": "x" * 10, "bytes": 100_001, "cut": 99_991, "lossy": False}


async def test_bytes_that_are_no_text_are_replaced_and_it_is_said(shell: Shell) -> None:
    code = r"import os; os.write(1, bytes(range(256)))"
    told = result(await do(shell, python(code)))["stdout"]
    assert (told["bytes"], told["cut"], told["lossy"]) == (256, 0, True)


def stopped(outcome: Outcome, state: str) -> dict[str, Any]:
    assert outcome.state == state
    assert outcome.reason
    return json.loads(outcome.text)


async def test_who_floods_us_is_stopped(shell: Shell) -> None:
    code = "import os\nwhile True: os.write(1, b'y' * 65536)"
    told = stopped(await do(shell, python(code, seconds=60)), "crashed")
    assert told["ending"] == "flooded"
    assert told["exit_code"] is None
    assert len(told["stdout"]["text"]) == 16 * 1024
    assert FLOOD_BYTES < told["stdout"]["cut"] <= FLOOD_BYTES + 65536


HOLD = "import signal, os, sys; pipe = open('pipe', 'wb', buffering=0)\n"
DEAF = (
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
)
READY = "pipe.write(b'r')\n"
FOR_EVER = "while True: signal.pause()\n"


async def test_who_does_not_end_in_time_is_stopped_and_what_it_said_is_told(
    shell: Shell, pipe: Pipe
) -> None:
    code = "trap '' TERM; exec 3>pipe; echo r >&3; echo begun; while :; do sleep 1000; done"
    payload = {"argv": ["/bin/sh", "-c", code], "seconds": 2}
    told = stopped(await do(shell, payload), "timeout")
    assert (told["ending"], told["exit_code"]) == ("timeout", None)
    assert told["stdout"]["text"] == "begun\n"
    assert pipe.gone.result(20) == b"r\n"


CHILDREN = {
    "in its group": ("os.fork()\n", 2),
    "in a session of their own": ("os.fork() or os.setsid()\n", 2),
    "twice removed": ("os.fork() or (os.setsid(), os.fork())\n", 3),
    "many": ("for _ in range(5): os.fork() or os.setsid()\n", 32),
}


async def cancelled(shell: Shell, pipe: Pipe, code: str, *, after: int) -> bytes:
    """All that was written by the time nobody was left to write, after a cancellation."""
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: do(shell, python(HOLD + code, seconds=60)))
        await anyio.to_thread.run_sync(pipe.wait_for, after)
        group.cancel_scope.cancel()
    return pipe.gone.result(20)


@pytest.mark.parametrize(("fork", "count"), CHILDREN.values(), ids=CHILDREN)
async def test_cancelled_nothing_is_left_of_a_program_and_its_children(
    shell: Shell, pipe: Pipe, fork: str, count: int
) -> None:
    code = DEAF + fork + READY + FOR_EVER
    assert await cancelled(shell, pipe, code, after=count) == b"r" * count


@pytest.mark.parametrize(("fork", "count"), CHILDREN.values(), ids=CHILDREN)
async def test_children_end_with_the_program_that_ends_by_itself(
    shell: Shell, pipe: Pipe, fork: str, count: int
) -> None:
    code = (
        HOLD
        + "me = os.getpid(); inner = os.pipe()\n"
        + fork
        + READY
        + "os.write(inner[1], b'r')\n"
        + f"if os.getpid() != me:\n  {FOR_EVER}"
        + f"for _ in range({count}): os.read(inner[0], 1)\n"
    )
    told = result(await do(shell, python(code, seconds=60)))
    assert (told["ending"], told["exit_code"]) == ("exited", 0)
    assert pipe.gone.result(20) == b"r" * count


async def test_a_program_that_multiplies_without_end_is_stopped(shell: Shell, pipe: Pipe) -> None:
    bomb = (
        "for n in range(60):\n"
        "  if n == 20: pipe.write(b'r')\n"
        "  if os.fork(): signal.pause()\n"
        "  if n % 7 == 0: os.setsid()\n" + FOR_EVER
    )
    assert await cancelled(shell, pipe, bomb, after=1) == b"r"


@pytest.mark.parametrize(
    "given", [{"most_seconds": 61}, {"seconds": 0}, {"output_bytes": 0}, {"seconds": math.nan}]
)
def test_limits_have_limits(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        ShellLimits(**given)


async def test_a_lower_limit_of_the_owner_holds(home: Path) -> None:
    act = Shell(WORDS, home, ShellLimits(programs=("echo",), seconds=1, most_seconds=2))
    outcome = await do(act, {"argv": ["echo"], "seconds": 3})
    assert outcome.reason == "seconds: 3 is not between 0.001 and 2"


async def test_a_child_that_wiped_its_environment_ends_with_what_started_it(
    shell: Shell, pipe: Pipe
) -> None:
    code = (
        "if not os.fork():\n"
        "  os.setsid()\n"
        '  code = \'import signal; open("pipe", "wb", 0).write(b"r"); signal.pause()\'\n'
        "  os.execve(sys.executable, ['python', '-c', code], {})\n"
    )
    hold = "import os, signal, sys\n"
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: do(shell, python(hold + code + FOR_EVER, seconds=60)))
        await anyio.to_thread.run_sync(pipe.wait_for, 1)
        group.cancel_scope.cancel()
    assert pipe.gone.result(20) == b"r"
