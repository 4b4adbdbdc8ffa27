"""Reads Chat Completions events, one at a time, into deltas and at the end into a Reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, cast

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

_MOST_TOKENS = 10**12
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
        self._model = _printable(_text(body.get("model"))) or self._model
        self._usage = _usage(body.get("usage")) or self._usage
        deltas: list[Delta] = []
        for choice in _objects(body.get("choices")):
            self._end(choice.get("finish_reason"))
            deltas += self._choice(_object(choice.get("delta")) or _object(choice.get("message")))
        return tuple(deltas)

    def finish(self, *, interrupted: bool = False) -> Reply:
        """The whole reply. `interrupted` says that we stopped reading, not the provider."""
        problems = list(self._problems)
        called = [_action(call, problems) for call in self._calls.values()]
        return Reply(
            text=_whole("".join(self._text), "text", problems),
            stop=self._stop or ("interrupted" if interrupted else "cut_off"),
            actions=tuple(action for action in called if action),
            errors=tuple(problems),
            usage=self._usage,
            reasoning=_whole("".join(self._reasoning), "reasoning", problems),
            model=self._model,
            raw=tuple(map(_printable, self._raw)),
        )

    def _parse(self, event: str) -> Mapping[str, object] | None:
        try:
            body: object = json.loads(event)
        except (ValueError, RecursionError) as error:
            self._note("bad-event", f"not JSON: {error}", event)
            return None
        if not isinstance(body, dict):
            self._note("bad-event", "not a JSON object", event)
            return None
        return cast("Mapping[str, object]", body)

    def _note(self, code: str, message: str, raw: str) -> None:
        self._problems.append(ReplyProblem(code, _printable(message), _printable(raw)))

    def _fail(self, error: object, event: str) -> None:
        details = _object(error)
        message = _text(details.get("message")) or _text(error) or "the provider sent an error"
        self._note("provider-error", message, event)
        self._stop = "error"

    def _end(self, reason: object) -> None:
        name = _text(reason)
        if not name:
            return
        if name not in _STOPS:
            self._note("unknown-stop", f"stop reason {name!r}", name)
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


def _action(call: _Call, problems: list[ReplyProblem]) -> Action | None:
    """Broken arguments are an error with the raw text, never an empty payload."""
    try:
        payload: object = json.loads(call.arguments or "{}", parse_constant=_refuse)
        json.dumps(payload, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        message = f"arguments of {call.name!r} are not JSON: {error}"
        problems.append(ReplyProblem("bad-arguments", message, _printable(call.arguments)))
        return None
    if not isinstance(payload, dict) or not call.name:
        message = f"call {call.name!r} has no name or its arguments are not an object"
        problems.append(ReplyProblem("bad-arguments", message, _printable(call.arguments)))
        return None
    name, call_id = _printable(call.name), _printable(call.id)
    return Action(name, cast("Mapping[str, object]", payload), "native", call_id)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _whole(text: str, what: str, problems: list[ReplyProblem]) -> str:
    """Halves of a character that came in two pieces are joined; a half left alone is replaced."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if "\ufffd" in joined and "\ufffd" not in text:
        problems.append(ReplyProblem("bad-text", f"half a character in the {what} was replaced"))
    return joined


def _printable(text: str) -> str:
    """Evidence as it came, except that what UTF-8 cannot say is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, object]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [_object(item) for item in items]


def _count(value: object) -> int:
    """A number of tokens; anything that cannot be one counts as not reported."""
    return value if isinstance(value, int) and 0 <= value <= _MOST_TOKENS else 0


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
