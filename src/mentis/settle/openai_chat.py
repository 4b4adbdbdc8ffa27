"""Reads Chat Completions events, one at a time, into deltas and at the end into a Reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from mentis.values.action import Action
from mentis.values.reply import (
    CallDelta,
    Delta,
    ReasoningDelta,
    Reply,
    ReplyProblem,
    Stop,
    TextDelta,
    Usage,
)

_STOPS: dict[str, Stop] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "filtered",
}


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


class ChatReader:
    """Feed it every event in order, then finish it. It works for whole bodies too."""

    def __init__(self) -> None:
        self._raw: list[str] = []
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._problems: list[ReplyProblem] = []
        self._stop: Stop | None = None
        self._usage: Usage | None = None
        self._model = ""

    def feed(self, event: str) -> tuple[Delta, ...]:
        self._raw.append(event)
        body = self._parse(event)
        if body is None:
            return ()
        if "error" in body:
            self._fail(body["error"], event)
            return ()
        self._model = _text(body.get("model")) or self._model
        self._usage = _usage(body.get("usage")) or self._usage
        deltas: list[Delta] = []
        for choice in _objects(body.get("choices")):
            self._end(choice.get("finish_reason"))
            deltas += self._choice(_object(choice.get("delta")) or _object(choice.get("message")))
        return tuple(deltas)

    def finish(self, *, interrupted: bool = False) -> Reply:
        """The whole reply. `interrupted` says that we stopped reading, not the provider."""
        actions = tuple(filter(None, map(self._action, self._calls.values())))
        stop = self._stop or ("interrupted" if interrupted else "cut_off")
        return Reply(
            text="".join(self._text),
            stop=stop,
            actions=actions,
            errors=tuple(self._problems),
            usage=self._usage,
            reasoning="".join(self._reasoning),
            model=self._model,
            raw=tuple(self._raw),
        )

    def _parse(self, event: str) -> Mapping[str, object] | None:
        try:
            body: object = json.loads(event)
        except (ValueError, RecursionError) as error:
            self._problems.append(ReplyProblem("bad-event", f"not JSON: {error}", event))
            return None
        if not isinstance(body, dict):
            self._problems.append(ReplyProblem("bad-event", "not a JSON object", event))
            return None
        return cast("Mapping[str, object]", body)

    def _fail(self, error: object, event: str) -> None:
        details = _object(error)
        message = _text(details.get("message")) or _text(error) or "the provider sent an error"
        self._problems.append(ReplyProblem("provider-error", message, event))
        self._stop = "error"

    def _end(self, reason: object) -> None:
        name = _text(reason)
        if not name:
            return
        if name not in _STOPS:
            self._problems.append(ReplyProblem("unknown-stop", f"stop reason {name!r}", name))
        self._stop = _STOPS.get(name, "other")

    def _choice(self, piece: Mapping[str, object]) -> list[Delta]:
        deltas: list[Delta] = []
        if text := _text(piece.get("content")):
            self._text.append(text)
            deltas.append(TextDelta(text))
        if thought := _text(piece.get("reasoning_content")) or _text(piece.get("reasoning")):
            self._reasoning.append(thought)
            deltas.append(ReasoningDelta(thought))
        for position, call in enumerate(_objects(piece.get("tool_calls"))):
            deltas.append(self._call(call, position))
        return deltas

    def _call(self, piece: Mapping[str, object], position: int) -> CallDelta:
        index = piece.get("index")
        number = index if isinstance(index, int) else position
        call = self._calls.setdefault(number, _Call())
        function = _object(piece.get("function"))
        name, arguments = _text(function.get("name")), _text(function.get("arguments"))
        call.id = call.id or _text(piece.get("id"))
        call.name += name
        call.arguments += arguments
        return CallDelta(number, name, arguments)

    def _action(self, call: _Call) -> Action | None:
        """Broken arguments are an error with the raw text, never an empty payload."""
        try:
            payload: object = json.loads(call.arguments or "{}")
        except (ValueError, RecursionError) as error:
            message = f"arguments of {call.name!r} are not JSON: {error}"
            self._problems.append(ReplyProblem("bad-arguments", message, call.arguments))
            return None
        if not isinstance(payload, dict) or not call.name:
            message = f"call {call.name!r} has no name or its arguments are not an object"
            self._problems.append(ReplyProblem("bad-arguments", message, call.arguments))
            return None
        return Action(call.name, cast("Mapping[str, object]", payload), "native", call.id)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, object]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [_object(item) for item in items]


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _usage(value: object) -> Usage | None:
    counts = _object(value)
    if not counts:
        return None
    inward, outward = (
        _object(counts.get("prompt_tokens_details")),
        _object(counts.get("completion_tokens_details")),
    )
    return Usage(
        input=_count(counts.get("prompt_tokens")),
        output=_count(counts.get("completion_tokens")),
        cache_read=_count(inward.get("cached_tokens")),
        cache_write=_count(inward.get("cache_write_tokens")),
        reasoning=_count(outward.get("reasoning_tokens")),
    )
