"""Sessions of Codex: a rollout of items, with a count of tokens after each answer.

Counts are told again at times, with the same totals; only those that grew are calls. Format:
docs/design/log-formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from mentis.values.json import JsonObject, json_object
from mentis.values.reply import Usage
from mentis.values.route import Backend

from .calls import LogEvent, LoggedCall, LogPlace
from .claude_code import project_of
from .growth import SAID, WRITTEN, Growth, tokens_in
from .timestamps import seconds_of

CODEX = "codex"
_BACKEND: Backend = "openai-responses"
_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
_Totals = tuple[int, int, int, int]
_NOTHING: _Totals = (0, 0, 0, 0)


def is_codex(told: dict[str, object]) -> bool:
    return told.get("type") in _TYPES and isinstance(told.get("payload"), dict)


@dataclass(slots=True)
class CodexReader:
    """Reads one rollout, which is one session."""

    file: str
    session: str = ""
    model: str = ""
    _project: str = ""
    _thread: str = ""
    _forked: str = ""
    _effort: str = ""
    _total: _Totals = _NOTHING
    _growth: Growth = field(default_factory=Growth)
    _events: list[LogEvent] = field(default_factory=list[LogEvent])

    def take(self, number: int, told: dict[str, object]) -> Iterator[LoggedCall]:
        payload = json_object(told.get("payload"))
        match told.get("type"):
            case "session_meta":
                self._begin(payload)
            case "turn_context":
                self._turn(payload)
            case "response_item":
                self._item(payload)
            case "compacted":
                self._events.append("compacted")
            case "event_msg" if payload.get("type") == "token_count":
                yield from self._counted(number, told, json_object(payload.get("info")))
            case _:
                pass

    def end(self) -> Iterator[LoggedCall]:
        return iter(())

    def notes(self) -> Iterator[str]:
        return iter(())

    def _begin(self, payload: JsonObject) -> None:
        if self.session:
            return  # a fork repeats the head of what it was forked from
        self.session = str(payload.get("id", ""))
        self._forked = str(payload.get("forked_from_id") or "")
        self._project = project_of(payload.get("cwd"))
        source = json_object(payload.get("source"))
        self._thread = self.session if source.get("subagent") else ""

    def _turn(self, payload: JsonObject) -> None:
        self.model = str(payload.get("model") or self.model)
        effort = str(payload.get("effort") or "")
        if self._effort and effort != self._effort:
            self._events.append("effort")
        self._effort = effort

    def _item(self, payload: JsonObject) -> None:
        kind = payload.get("type")
        if kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._growth.name_tool(payload.get("call_id"), payload.get("name") or "shell")
            self._growth.add(WRITTEN, tokens_in(payload.get("arguments") or payload.get("input")))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._growth.add_result(payload.get("call_id"), payload.get("output"))
        elif kind == "message":
            source = WRITTEN if payload.get("role") == "assistant" else SAID
            self._growth.add(source, tokens_in(payload.get("content")))

    def _counted(
        self, number: int, told: dict[str, object], info: JsonObject
    ) -> Iterator[LoggedCall]:
        total, last = (
            _totals(info.get(name)) for name in ("total_token_usage", "last_token_usage")
        )
        if total == self._total and total != _NOTHING:
            return  # told again
        before, self._total = self._total, total
        if last == _NOTHING and total != _NOTHING:
            grown = tuple(max(0, now - then) for now, then in zip(total, before, strict=True))
            last = cast("_Totals", grown)
        if not last[0] and not last[2]:
            return
        added, excess = self._growth.take()
        events, self._events = tuple(self._events), []
        key = f"{self._forked or self.session}:{total}" if total != _NOTHING else ""
        yield LoggedCall(
            CODEX,
            LogPlace(self.file, number),
            self.session or self.file,
            self.model,
            _BACKEND,
            Usage(last[0], last[2], min(last[1], last[0]), 0, last[3]),
            self._thread,
            seconds_of(told.get("timestamp")),
            events=events,
            added=added,
            excess=excess,
            key=key,
            project=self._project,
        )


def _totals(told: object) -> _Totals:
    counts = json_object(told)
    found = [counts.get(name) for name in _COUNTS]
    one, two, three, four = (
        max(0, n) if isinstance(n, int) and not isinstance(n, bool) else 0 for n in found
    )
    return one, two, three, four
