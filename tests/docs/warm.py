"""A process that has the package loaded already, and from which others are forked.

Guides call `mentis` dozens of times, and most of what such a call costs is loading its modules.
Here one process loads them, opens nothing, and forks for each program it is asked to run: a fork
gets the folder, the environment and the streams that a new Python would have been given, and ends
as one would. That a command starts from nothing is tested where commands are.

`python warm.py SOCKET` serves. `run_warm` asks it from a test; a program that it runs asks it for
each `subprocess.run([sys.executable, "-m", "mentis", ...])` of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

VARIABLE, READY = "WARM_SOCKET", "ready\n"
COMMAND = [sys.executable, "-m", "mentis"]
MOST = 1 << 20  # bytes of a request: a program, its environment


def run_warm(
    words: Sequence[str], folder: str | Path, environment: Mapping[str, str], place: str
) -> tuple[int, bytes, bytes]:
    """Exit code, output and errors of `python -m mentis WORDS`, or of `python -c CODE`."""
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        socket.socket(socket.AF_UNIX) as asking,
    ):
        request = {"words": list(words), "folder": str(folder), "environment": dict(environment)}
        asking.connect(place)
        socket.send_fds(asking, [b"x"], [out.fileno(), err.fileno()])
        asking.sendall(json.dumps(request).encode())
        asking.shutdown(socket.SHUT_WR)
        code = int(asking.recv(16) or b"-1")
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


def main(place: str) -> None:
    load_everything()
    gc.collect()
    gc.freeze()  # what is loaded is shared by all forks as long as nobody looks through it
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()
        sys.stdout.write(READY)
        sys.stdout.flush()
        while True:
            asked, _ = door.accept()
            if os.fork() == 0:
                door.close()
                break
            asked.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    answer(asked)


def load_everything() -> None:
    """All modules of the package that can be loaded here, and what they load at once."""
    package = importlib.import_module("mentis")
    for found in pkgutil.walk_packages(package.__path__, "mentis."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)


def answer(asked: socket.socket) -> None:
    """Runs what was asked for in a process of its own, and tells how that ended."""
    _, (out, err), _, _ = socket.recv_fds(asked, 1, 2)
    with asked.makefile("rb") as said:
        request: dict[str, Any] = json.loads(said.read(MOST))
    worker = os.fork()
    if worker:
        _, status = os.waitpid(worker, 0)
        asked.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        return
    asked.close()
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end(run_program(request["words"]))


def end(code: int) -> NoReturn:
    """As Python ends, but that nothing is taken apart: that would cost more than most commands."""
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run_program(words: list[str]) -> int:
    """Its exit code; a failure is told as Python tells it."""
    try:
        start_program(words)
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:  # noqa: BLE001 - it is told, as Python tells what ends a program
        traceback.print_exc()
        return 1
    return 0


def start_program(words: list[str]) -> None:
    sys.path[0] = ""
    if words[0] != "-c":
        sys.argv = ["mentis", *words]
        runpy.run_module("mentis", run_name="__main__", alter_sys=True)
        return
    subprocess.run = run_or_ask
    sys.argv = ["-c"]
    exec(compile(words[1], "<guide>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a guide is ours


_run: Callable[..., subprocess.CompletedProcess[Any]] = subprocess.run


def run_or_ask(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:  # noqa: ANN401
    """`subprocess.run`, but that of a command of ours with caught streams is a fork."""
    caught = options.keys() <= {"env", "capture_output", "text", "stdin", "check", "cwd"}
    if not caught or not options.get("capture_output") or list(command[:3]) != COMMAND:
        return _run(command, check=options.pop("check", False), **options)
    environment = options.get("env") or os.environ
    code, out, err = run_warm(
        command[3:], options.get("cwd") or Path.cwd(), environment, os.environ[VARIABLE]
    )
    told = (out.decode(), err.decode()) if options.get("text") else (out, err)
    done = subprocess.CompletedProcess(command, code, *told)
    if options.get("check"):
        done.check_returncode()
    return done


if __name__ == "__main__":
    main(sys.argv[1])
