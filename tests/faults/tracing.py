"""Drives victims under strace: lists the system calls of an act, then has one of them go wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import pytest

VICTIM = Path(__file__).with_name("victim.py")
CALLS = (
    "openat,read,pread64,write,pwrite64,fsync,fdatasync,ftruncate,fallocate,fcntl,close,"
    "rename,renameat,renameat2,unlink,unlinkat,mkdir,chmod,fchmod,newfstatat,fstat,getdents64"
)
_CALL = re.compile(r"(\w+)\((.*)")


@dataclass(frozen=True, slots=True)
class Call:
    """The k-th call of this name that the act makes."""

    name: str
    k: int
    words: str

    def __str__(self) -> str:
        return f"{self.name} {self.k}: {self.words}"


@dataclass(frozen=True, slots=True)
class Told:
    """What a child said, and how it ended."""

    lines: tuple[str, ...]
    status: int

    def of(self, word: str) -> list[str]:
        split = [line.partition(" ") for line in self.lines]
        return [rest for said, _, rest in split if said == word]

    @property
    def kept(self) -> set[str]:
        return {delivery for line in self.of("kept") for delivery in line.split()}


class Victims:
    def __init__(self, server: subprocess.Popen[str], scratch: Path) -> None:
        self._server = server
        self._scratch = scratch

    def run(
        self, act: str, folder: Path, *faults: str, meanwhile: Callable[[], None] | None = None
    ) -> Told:
        """Let one act; with faults, under strace. `meanwhile` is called for each line it says."""
        self._send(json.dumps({"act": act, "folder": str(folder)}))
        ready = self._hear()
        assert ready.startswith("ready "), ready
        pid = int(ready.split()[1])
        if not faults:
            return self._finish(pid, meanwhile)
        options = [option for fault in faults for option in ("-e", fault)]
        with _attached(pid, self._scratch / "trace", options):
            return self._finish(pid)

    def calls(self, act: str, folder: Path) -> list[Call]:
        """The calls of this act that have to do with its folder, in their order."""
        told = self.run(act, folder, f"trace={CALLS}")
        assert not told.of("bug"), told.lines
        counts: Counter[str] = Counter()
        found: list[Call] = []
        for line in self.trace.splitlines():
            if (match := _CALL.match(line)) is None:
                continue
            counts[match[1]] += 1
            if str(folder) in match[2]:
                words = match[2].replace(str(folder), "")
                found.append(Call(match[1], counts[match[1]], words))
        return found

    @property
    def trace(self) -> str:
        """The calls of the last act that ran under strace."""
        return (self._scratch / "trace").read_text(encoding="utf-8")

    def _send(self, line: str) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(f"{line}\n")
        self._server.stdin.flush()

    def _hear(self) -> str:
        assert self._server.stdout is not None
        return self._server.stdout.readline().rstrip("\n")

    def _finish(self, pid: int, meanwhile: Callable[[], None] | None = None) -> Told:
        os.kill(pid, signal.SIGUSR1)
        lines: list[str] = []
        while not (line := self._hear()).startswith("end "):
            assert line, lines
            lines.append(line)
            if meanwhile is not None:
                meanwhile()
        return Told(tuple(lines), int(line.split()[1]))


@contextmanager
def _attached(pid: int, report: Path, options: list[str]) -> Generator[None]:
    command = ["strace", "-y", "-s", "0", "-o", str(report), *options, "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        assert "attached" in (said := tracer.stderr.readline()), said
        yield
        tracer.stderr.read()


@contextmanager
def victims(scratch: Path) -> Generator[Victims]:
    command = [sys.executable, str(VICTIM)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        yield Victims(server, scratch)
        _close(server.stdin)


def _close(stream: IO[str] | None) -> None:
    if stream is not None:
        stream.close()


@cache
def why_not_traced() -> str | None:
    """Why this machine cannot run the tests that trace; None where it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    command = ["strace", "-e", "inject=getpid:retval=7", "-e", "trace=getpid", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"strace may not trace here: {done.stderr.strip()}" if done.returncode else None


def need_tracing() -> None:
    if reason := why_not_traced():
        pytest.skip(reason)
