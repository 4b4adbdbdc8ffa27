"""Runs one program in bounds: its time, its output, and everything it started end with it.

It gets a session of its own, which is killed whole. What left that session is found by who started
it, or by a variable in its environment, where the system shows that (Linux). A program that wipes
its environment and whose parent is gone is found by neither.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.to_thread import run_sync

from mentis.errors import Defect
from mentis.system.programs import kill_process, kill_session
from mentis.values.value import Value

MARK = "MENTIS_ACT"
FLOOD_BYTES = 8 * 1024 * 1024  # who writes that much past what is kept is stopped
_CHUNK = 64 * 1024
_ROUNDS = 100
_runs = count(1)
_PROCESSES = Path("/proc")
Ending: TypeAlias = Literal["exited", "timeout", "flooded"]


@dataclass(frozen=True, slots=True)
class Program(Value):
    """What to run, where, with which environment; it is told the `key` of its call besides."""

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    key: str


@dataclass(slots=True)
class CapturedOutput:
    """One output: the beginning of it, and how many bytes were not kept."""

    most: int
    content: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def take(self, piece: bytes) -> None:
        kept = piece[: self.most - len(self.content)]
        self.content += kept
        self.dropped += len(piece) - len(kept)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """`code` is None when it was stopped before it ended by itself."""

    ending: Ending
    code: int | None
    stdout: CapturedOutput
    stderr: CapturedOutput


async def run(program: Program, *, seconds: float, output_bytes: int) -> ProcessResult:
    """OSError if it cannot be started. Cancelled, nothing of it is left either."""
    heard = CapturedOutput(output_bytes), CapturedOutput(output_bytes)
    # Keys may be the same in two homes: the mark is of this one process, and of this one run.
    mark = f"{os.getpid()}.{next(_runs)}/{program.key}"
    process = await _begun(program, mark)
    try:
        ending = await _watch(process, heard, mark, seconds=seconds)
        code = process.returncode if ending == "exited" else None
        return ProcessResult(ending, code, *heard)
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(_end, process.pid, mark)
            await process.aclose()


async def _begun(program: Program, mark: str) -> Process:
    """Not to be cancelled half-way: by then it may have children, and nobody would know it."""
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(
            list(program.argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=program.cwd,
            env={**program.environment, MARK: mark},
            start_new_session=True,
        )
    raise Defect("a shield lets nothing pass")


async def _watch(
    process: Process, heard: tuple[CapturedOutput, CapturedOutput], mark: str, *, seconds: float
) -> Ending:
    ending: Ending = "timeout"

    async def listen(stream: ByteReceiveStream | None, ear: CapturedOutput) -> None:
        nonlocal ending
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while stream is not None and ear.dropped <= FLOOD_BYTES:
                ear.take(await stream.receive(_CHUNK))
        if ear.dropped > FLOOD_BYTES:
            ending = "flooded"
            scope.cancel()

    with anyio.move_on_after(seconds) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(listen, process.stdout, heard[0])
            group.start_soon(listen, process.stderr, heard[1])
            await process.wait()
            ending = "exited"
            # Left-behind children would hold the outputs open; they end with it.
            await run_sync(_end, process.pid, mark)
    return ending


def _end(session: int, mark: str) -> None:
    """Kill the whole session, then whatever left it; more may appear while that is done."""
    below = _below(session)  # before those are gone by whom they are known
    kill_session(session)
    for pid in below:
        kill_process(pid)
    for _ in range(_ROUNDS):
        left = [pid for pid in _pids() if pid != os.getpid() and _has(pid, mark)]
        if not left:
            return
        for pid in left:
            kill_process(pid)


def _pids() -> list[int]:
    try:
        return [int(path.name) for path in _PROCESSES.iterdir() if path.name.isdecimal()]
    except OSError:
        return []


def _below(root: int) -> set[int]:
    """What it started, and what those started, as long as the chain holds."""
    parents = {pid: _parent(pid) for pid in _pids()}
    found, wave = set[int](), {root}
    while wave:
        wave = {pid for pid, parent in parents.items() if parent in wave} - found
        found |= wave
    return found


def _parent(pid: int) -> int:
    try:
        told = (_PROCESSES / str(pid) / "stat").read_bytes()
        return int(told.rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _has(pid: int, mark: str) -> bool:
    try:
        environment = (_PROCESSES / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return f"{MARK}={mark}".encode() in environment.split(b"\0")
