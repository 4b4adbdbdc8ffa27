"""What the doctor costs on a log, against only parsing its lines with orjson; and what memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import orjson

from mentis.doctor.diagnosis import diagnose

from .harness import Pair, benchmark, weight

GATE = 3.0
_SESSIONS, _CALLS = 4, 250
_HEAD = {"version": "2.1.300", "cwd": "/srv/shop", "isSidechain": False, "userType": "external"}
_FOLDERS: list[TemporaryDirectory[str]] = []  # as long as the process


def session_lines(session: str, calls: int) -> Iterator[bytes]:
    """As Claude Code writes them: an answer on two lines, and the result of a tool."""
    size, found = 20_000, 0
    for number in range(calls):
        size += 1500
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": size - found - 4,
            "cache_read_input_tokens": found,
            "cache_creation": {"ephemeral_5m_input_tokens": size - found - 4},
            "output_tokens": 300,
            "service_tier": "standard",
        }
        time = f"2026-11-02T{9 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.123Z"
        head = {**_HEAD, "sessionId": session, "timestamp": time, "uuid": f"u{number}"}
        told = {
            "id": f"msg_{session}_{number}",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "usage": usage,
        }
        tool = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}
        text = {"type": "text", "text": "Now I look at the next file. " * 12}
        for part in (text, tool):
            message = {**told, "content": [part]}
            yield _line({**head, "type": "assistant", "message": message, "requestId": "req_1"})
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "a line\n" * 600}
        kept = {"stdout": "a line\n" * 600, "stderr": "", "interrupted": False, "isImage": False}
        message = {"role": "user", "content": [result]}
        yield _line({**head, "type": "user", "message": message, "toolUseResult": kept})
        found = size - 4


def request_lines(session: str, calls: int) -> Iterator[bytes]:
    """Whole prompts, each a little longer than the one before."""
    said: list[dict[str, object]] = []
    tools = [
        {"name": f"tool{n}", "description": "does it " * 60, "input_schema": {"type": "object"}}
        for n in range(20)
    ]
    for number in range(calls):
        role = "user" if number % 2 == 0 else "assistant"
        text = {"type": "text", "text": f"{session} {number} " + "words of it " * 200}
        said.append({"role": role, "content": [text]})
        asked = {
            "model": "claude-opus-4-6",
            "max_tokens": 4096,
            "tools": tools,
            "system": [{"type": "text", "text": "Be careful. " * 800}],
            "messages": said,
            "metadata": {"session_id": session},
        }
        size = 6000 + number * 600
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": size - 600 if number else 0,
            "cache_creation_input_tokens": 600,
            "output_tokens": 40,
        }
        answer = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "content": [{"type": "text", "text": "Yes, so it is. " * 20}],
            "stop_reason": "end_turn",
            "usage": usage,
        }
        time = f"2026-11-02T09:{number // 60 % 60:02d}:{number % 60:02d}Z"
        yield _line({"timestamp": time, "request": asked, "response": answer})


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def write_logs(folder: Path, *, requests: bool, times: int = 1) -> list[Path]:
    found: list[Path] = []
    for number in range(_SESSIONS * times):
        path = folder / f"session-{number}.jsonl"
        made = request_lines if requests else session_lines
        path.write_bytes(b"".join(made(f"s{number}", 60 if requests else _CALLS)))
        found.append(path)
    return found


def _pair(*, requests: bool) -> Pair:
    kept = TemporaryDirectory()
    _FOLDERS.append(kept)
    paths = write_logs(Path(kept.name), requests=requests)

    def parse() -> int:
        count = 0
        for path in paths:
            with path.open("rb") as opened:
                for line in opened:
                    orjson.loads(line)
                    count += 1
        return count

    return lambda: diagnose(paths), parse


@benchmark("doctor: sessions of Claude Code", against="orjson on the same lines", gate=GATE)
def sessions() -> Pair:
    return _pair(requests=False)


@benchmark("doctor: whole prompts", against="orjson on the same lines", gate=GATE)
def prompts() -> Pair:
    return _pair(requests=True)


_CHILD = """
import sys
from pathlib import Path
from bench.doctor import peak_of
print(peak_of(Path(sys.argv[1])))
"""


def peak_of(folder: Path) -> int:
    """The most memory that this process has had, after a folder of logs, in KiB. What `getrusage`
    says counts from before a child became itself.
    """
    diagnose([folder])
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak)


@weight("doctor: memory for ten times as many sessions", against="memory for one", gate=1.15)
def memory() -> tuple[int, int]:
    peaks: list[int] = []
    for times in (10, 1):
        with TemporaryDirectory() as folder:
            write_logs(Path(folder), requests=False, times=times)
            told = subprocess.run(
                [sys.executable, "-c", _CHILD, folder], capture_output=True, text=True, check=True
            )
            peaks.append(int(told.stdout))
    print(f"peak memory: {peaks[0] // 1024} MB and {peaks[1] // 1024} MB", file=sys.stderr)
    return cast("tuple[int, int]", tuple(peaks))
