"""Logs as Claude Code and Codex write them, made up: docs/design/log-formats.md has the fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

BEGIN = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
OPUS, HAIKU = "claude-opus-4-6", "claude-haiku-4-5-20251001"


def stamp(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


@dataclass
class ClaudeSession:
    """A session, line by line. `found` is what the cache holds of it."""

    name: str = "5f0e5b3a-0000-4000-8000-000000000001"
    model: str = OPUS
    prefix: int = 20_000
    clock: float = 0.0
    size: int = 0
    found: int = 0
    number: int = 0
    version: str = "2.1.300"
    hour: bool = False
    lines: list[dict[str, object]] = field(default_factory=list)

    def head(self, kind: str, **more: object) -> dict[str, object]:
        self.number += 1
        return {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/srv/shop",
            "sessionId": self.name,
            "version": self.version,
            "gitBranch": "main",
            "type": kind,
            "uuid": f"{self.name[:8]}-{self.number}",
            "timestamp": stamp(self.clock),
            **more,
        }

    def say(self, text: str) -> None:
        self.lines.append(self.head("user", message={"role": "user", "content": text}))

    def result(self, call: str, text: str) -> None:
        part = {"type": "tool_result", "tool_use_id": call, "content": text}
        self.lines.append(self.head("user", message={"role": "user", "content": [part]}))

    def answer(
        self,
        grown: int,
        *,
        out: int = 200,
        found: int | None = None,
        tool: tuple[str, str] | None = None,
        copies: int = 1,
        **more: object,
    ) -> None:
        """The prompt has grown by so many tokens; `found` of them the cache gave."""
        self.size = (self.size or self.prefix) + grown
        read = min(self.found if found is None else found, self.size)
        wrote = self.size - read - 3
        key = "ephemeral_1h_input_tokens" if self.hour else "ephemeral_5m_input_tokens"
        identity = f"msg_{self.name[-4:]}_{self.number}"
        for copy in range(copies):
            usage = {
                "input_tokens": 3,
                "cache_creation_input_tokens": wrote,
                "cache_read_input_tokens": read,
                "cache_creation": {key: wrote},
                "output_tokens": out if copy == copies - 1 else 1,
                "service_tier": "standard",
            }
            content: list[object] = [{"type": "text", "text": "done " * 20}]
            if tool is not None:
                content = [
                    {"type": "tool_use", "id": tool[0], "name": tool[1], "input": {"a": "b"}}
                ]
            message = {
                "id": identity,
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": content,
                "stop_reason": None,
                "usage": usage,
            }
            self.lines.append(
                self.head("assistant", message=message, requestId=f"req_{identity}", **more)
            )
        self.found = self.size - 3
        self.clock += 20

    def compact(self, to: int) -> None:
        boundary = {"trigger": "auto", "preTokens": self.size}
        self.lines.append(
            self.head("system", subtype="compact_boundary", compactMetadata=boundary, content="")
        )
        self.lines.append(
            self.head(
                "user", isCompactSummary=True, message={"role": "user", "content": "In short: ..."}
            )
        )
        self.size = to
        self.found = self.prefix

    def write(self, folder: Path) -> Path:
        path = folder / "-home-u-shop" / f"{self.name}.jsonl"
        return write_lines(path, self.lines)


def write_lines(path: Path, lines: Iterable[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines), encoding="utf-8")
    return path


def long_session(name: str = "a" * 36, *, calls: int = 60, each: int = 3000) -> ClaudeSession:
    """Grows to 200,000 tokens, a result of a tool in every call."""
    made = ClaudeSession(name)
    made.say("fix the shop")
    for number in range(calls):
        made.answer(each, tool=(f"toolu_{name[:3]}{number}", "Bash"), copies=1 + number % 2)
        made.result(f"toolu_{name[:3]}{number}", "x" * (each * 4))
    return made


@dataclass
class CodexSession:
    name: str = "019a0000-0000-7000-8000-000000000001"
    model: str = "gpt-5.6"
    total: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    clock: float = 0.0
    lines: list[dict[str, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.add(
            "session_meta",
            {
                "id": self.name,
                "timestamp": stamp(0),
                "cwd": "/srv/shop",
                "originator": "codex_cli_rs",
                "cli_version": "0.160.0",
                "source": "cli",
                "model_provider": "openai",
            },
        )
        self.add("turn_context", {"cwd": "/srv/shop", "model": self.model, "effort": "medium"})

    def add(self, kind: str, payload: dict[str, object]) -> None:
        self.lines.append({"timestamp": stamp(self.clock), "type": kind, "payload": payload})

    def count(self, usage: Sequence[int], *, times: int = 1) -> None:
        names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
        self.total = [a + b for a, b in zip(self.total, usage, strict=True)]
        info = {
            "total_token_usage": self._named(names, self.total),
            "last_token_usage": self._named(names, usage),
            "model_context_window": 272_000,
        }
        for _ in range(times):
            self.add("event_msg", {"type": "token_count", "info": info, "rate_limits": None})
        self.clock += 15

    @staticmethod
    def _named(names: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
        return {**dict(zip(names, counts, strict=True)), "total_tokens": counts[0] + counts[2]}

    def write(self, folder: Path) -> Path:
        path = folder / "2026" / "11" / "02" / f"rollout-2026-11-02T09-00-00-{self.name}.jsonl"
        return write_lines(path, self.lines)
