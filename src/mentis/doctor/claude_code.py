"""Sessions of Claude Code: a line for each message, and usage in those of the assistant.

An answer stands on as many lines as it has parts, each with its usage; the last one counts. Neither
the system text nor the tools are in the log. Format: docs/design/log-formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PurePath
from typing import cast

from mentis.settle.diagnosis import anthropic_diagnosis
from mentis.values.reply import Usage

from .calls import LogEvent, LoggedCall, LogPlace
from .growth import REMINDED, SAID, WRITTEN, Growth, tokens_in
from .timestamps import seconds_of

CLAUDE_CODE = "claude-code"
_SYNTHETIC = "<synthetic>"  # said by the program itself: no model was asked
_COMMAND = "<command-name>"
_EVENTS: dict[str, LogEvent] = {
    "/mcp": "tools",
    "/plugin": "tools",
    "/reload-plugins": "tools",
    "/agents": "tools",
    "/effort": "effort",
    "/clear": "cleared",
}
_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_BOUNDARIES = ("compact_boundary", "microcompact_boundary")
_Line = dict[str, object]


def is_claude_code(told: _Line) -> bool:
    return "sessionId" in told and "type" in told and ("message" in told or "uuid" in told)


@dataclass(slots=True)
class _Thread:
    session: str
    name: str
    growth: Growth = field(default_factory=Growth)
    events: list[LogEvent] = field(default_factory=list[LogEvent])
    version: str = ""
    key: str = ""
    call: LoggedCall | None = None


@dataclass(slots=True)
class ClaudeCodeReader:
    """Reads one file. A call is told when the next one of its thread begins."""

    file: str
    _threads: dict[tuple[str, str], _Thread] = field(default_factory=dict[tuple[str, str], _Thread])
    _title: str = ""

    def take(self, number: int, told: _Line) -> Iterator[LoggedCall]:
        kind = told.get("type")
        if isinstance(kind, str) and kind in _TITLES:
            title = told.get(_TITLES[kind])
            self._title = title if isinstance(title, str) else self._title
            return
        thread = self._thread(told)
        if kind == "assistant":
            yield from self._answer(number, told, thread)
        elif kind == "user":
            _hear(told, thread)
        elif kind == "attachment":
            thread.growth.add(REMINDED, tokens_in(told.get("attachment")))
        elif kind == "system" and told.get("subtype") in _BOUNDARIES:
            thread.events.append("compacted")

    def _thread(self, told: _Line) -> _Thread:
        session, agent = told.get("sessionId"), told.get("agentId")
        side = "side" if told.get("isSidechain") else ""
        names = str(session or ""), str(agent) if agent else side
        thread = self._threads.get(names)
        if thread is None:
            thread = self._threads[names] = _Thread(*names)
        return thread

    def end(self) -> Iterator[LoggedCall]:
        for thread in self._threads.values():
            if thread.call is not None:
                yield thread.call
        self._threads.clear()

    def notes(self) -> Iterator[str]:
        return iter(())

    def _answer(self, number: int, told: _Line, thread: _Thread) -> Iterator[LoggedCall]:
        message = _object(told.get("message"))
        _speak(message.get("content"), thread.growth)
        usage, model = message.get("usage"), message.get("model")
        if not isinstance(usage, dict) or model == _SYNTHETIC:
            return
        key = str(message.get("id") or told.get("requestId") or told.get("uuid") or "")
        counts = cast("_Line", usage)
        if thread.call is not None and key == thread.key:
            thread.call = _longer(thread.call, counts)
            return
        if thread.call is not None:
            yield thread.call
        version = str(told.get("version", ""))
        if thread.version and version != thread.version:
            thread.events.append("upgrade")
        thread.version, thread.key = version, key
        added, excess = thread.growth.take()
        events, thread.events = tuple(thread.events), []
        thread.call = LoggedCall(
            CLAUDE_CODE,
            LogPlace(self.file, number),
            thread.session,
            str(model or ""),
            "anthropic",
            anthropic_usage(counts),
            thread.name,
            seconds_of(told.get("timestamp")),
            long_writes=_long(counts),
            events=events,
            added=added,
            excess=excess,
            key=key,
            diagnosis=anthropic_diagnosis(message.get("diagnostics")),
            project=project_of(told.get("cwd")),
            label=self._title,
            usd=_number(told.get("costUSD")),
        )


@lru_cache(maxsize=256)
def _last_part(folder: str) -> str:
    return PurePath(folder).name


def project_of(folder: object) -> str:
    """The name of the folder that a program works in."""
    return _last_part(folder) if isinstance(folder, str) else ""


def anthropic_usage(told: _Line) -> Usage:
    read = _count(told.get("cache_read_input_tokens"))
    wrote = _count(told.get("cache_creation_input_tokens"))
    fresh = _count(told.get("input_tokens"))
    return Usage(fresh + read + wrote, _count(told.get("output_tokens")), read, wrote)


def _longer(call: LoggedCall, told: _Line) -> LoggedCall:
    """Of an answer that is told again, with more of it."""
    if told.get("output_tokens") == call.usage.output:
        return call
    usage = anthropic_usage(told)
    if (usage.output, usage.input) <= (call.usage.output, call.usage.input):
        return call
    return replace(call, usage=usage, long_writes=_long(told))


def _long(told: _Line) -> int:
    written = told.get("cache_creation")
    if not isinstance(written, dict):
        return 0
    return _count(cast("_Line", written).get("ephemeral_1h_input_tokens"))


def _speak(content: object, growth: Growth) -> None:
    if not isinstance(content, list):
        return
    for part in cast("list[object]", content):
        if not isinstance(part, dict):
            continue
        told = cast("_Line", part)
        if told.get("type") == "tool_use":
            growth.name_tool(told.get("id"), told.get("name"))
            growth.add(WRITTEN, tokens_in(told.get("input")))
        elif told.get("type") == "text":
            growth.add(WRITTEN, tokens_in(told.get("text")))


def _hear(told: _Line, thread: _Thread) -> None:
    content = _object(told.get("message")).get("content")
    if told.get("isCompactSummary") and "compacted" not in thread.events:
        thread.events.append("compacted")
    if isinstance(content, str):
        if _COMMAND in content:
            command = content.partition(_COMMAND)[2].partition("<")[0].strip()
            if (event := _EVENTS.get(command)) is not None:
                thread.events.append(event)
        thread.growth.add(REMINDED if told.get("isMeta") else SAID, tokens_in(content))
        return
    for part in cast("list[object]", content) if isinstance(content, list) else []:
        one = _object(part)
        if one.get("type") == "tool_result":
            thread.growth.add_result(one.get("tool_use_id"), one.get("content"))
        else:
            thread.growth.add(SAID, tokens_in(part))


def _object(value: object) -> _Line:
    """As `json_object`, for what was parsed here: it is a dict or none."""
    return cast("_Line", value) if isinstance(value, dict) else {}


def _count(told: object) -> int:
    return max(0, told) if isinstance(told, int) and not isinstance(told, bool) else 0


def _number(told: object) -> float | None:
    return float(told) if isinstance(told, int | float) and not isinstance(told, bool) else None
