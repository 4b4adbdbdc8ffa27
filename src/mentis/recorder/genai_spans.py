"""GenAI spans of OpenTelemetry, read into calls: the conventions of today, those before them, and
what OpenLLMetry and pydantic-ai write. A span that says nothing of what was said still tells whom
was asked, what it used and how it ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeAlias, cast

from mentis.telemetry import names
from mentis.values.json import JsonObject, json_object
from mentis.values.value import Value

from .span_calls import SpanCall, StepKind, TraceStep, backend_of
from .trace_tree import TraceTree

_NANOSECONDS = 1_000_000_000
_INDEX = re.compile(r"(\d+)\.(.+)")
Messages: TypeAlias = list[JsonObject]


@dataclass(frozen=True, slots=True)
class TracedSpan(Value):
    """A span as OTLP has it, ids as hex; times are nanoseconds. `events` are names with attributes,
    `error` is why its status is one.
    """

    trace: str
    span: str
    parent: str
    name: str
    start: int
    end: int
    attributes: JsonObject = field(default_factory=dict[str, object])
    events: tuple[tuple[str, JsonObject], ...] = ()
    error: str = ""

    @property
    def milliseconds(self) -> int:
        return max(0, (self.end - self.start) // 1_000_000)

    @property
    def operation(self) -> str:
        """Older conventions name none: who names a model and a provider has asked it."""
        told = _first_text(self.attributes, (names.OPERATION,))
        if told:
            return told
        indexed = any(name.startswith(names.INDEXED_PROMPT) for name in self.attributes)
        asked = _first_text(self.attributes, names.PROVIDER_NAMES) and _first_text(
            self.attributes, names.MODEL_NAMES
        )
        return names.CHAT if asked or indexed else ""

    @property
    def kind(self) -> StepKind:
        if self.operation in names.AGENTS:
            return "agent"
        return "tool" if self.operation == names.EXECUTE_TOOL else "other"

    @property
    def shown_name(self) -> str:
        """Without the word for its kind, which conventions put in front."""
        told = (names.AGENT_NAME,) if self.kind == "agent" else (names.TOOL_NAME,)
        return _first_text(self.attributes, told) or self.name.partition(" ")[2] or self.name


def begin_span(tree: TraceTree, span: TracedSpan) -> None:
    """It is known to stand above others before it has ended."""
    session = _first_text(span.attributes, names.SESSION_NAMES)
    tree.open(span.trace, session)
    tree.begin(span.trace, span.span, span.parent, kind=span.kind, name=span.shown_name)


def end_span(tree: TraceTree, span: TracedSpan) -> SpanCall | None:
    """The call that it tells of; None where it is about something else. ValueError where what it
    tells cannot be read.
    """
    begin_span(tree, span)
    if not tree.is_new(span.trace, span.span):
        return None
    if span.kind == "tool":
        step = TraceStep(
            "tool", span.shown_name, span.span, span.parent, span.milliseconds, span.error
        )
        tree.add(span.trace, step)
    return read_call_span(tree, span) if span.operation in names.CALLS else None


def read_call_span(tree: TraceTree, span: TracedSpan) -> SpanCall:
    attributes = span.attributes
    asked, answered = _talk(span)
    provider = _first_text(attributes, names.PROVIDER_NAMES)
    model = _first_text(attributes, names.MODEL_NAMES)
    agent = _first_text(attributes, (names.AGENT_NAME,))
    session = _first_text(attributes, names.SESSION_NAMES)
    source = tree.source(span.trace, span.span, span.parent, agent=agent)
    tools = _tools(attributes)
    messages = [_without_finish(one) for one in (*_system(attributes), *asked)]
    told = {"tools": tools} if tools else {}
    request: JsonObject = {"model": model, **told, "messages": messages}
    usage = _usage(attributes)
    said = not span.error or bool(usage) or bool(answered)
    return SpanCall(
        replace(source, session=session or source.session, backend=backend_of(provider)),
        provider,
        request,
        _answer(attributes, answered, usage) if said else None,
        datetime.fromtimestamp(span.start / _NANOSECONDS, UTC),
        max(0, span.end - span.start) / _NANOSECONDS,
        span.error,
        _count(attributes, (names.HTTP_STATUS,)) or 0,
    )


def _answer(attributes: JsonObject, answered: Messages, usage: JsonObject) -> JsonObject:
    reasons = attributes.get(names.FINISH_REASONS)
    finishes = [str(one) for one in cast("list[object]", reasons)] if _is_list(reasons) else []
    answered = answered or [{"role": "assistant", "content": ""}]
    choices: list[JsonObject] = []
    for number, message in enumerate(answered):
        told = _without_finish(message)
        reason = (
            str(message.get("finish_reason") or "") or (finishes[number : number + 1] or [""])[0]
        )
        choices.append({"index": number, "message": told, "finish_reason": _finish(reason)})
    response = _first_text(attributes, (names.RESPONSE_ID,))
    return {
        **({"id": response} if response else {}),
        "object": "chat.completion",
        "model": _first_text(attributes, tuple(reversed(names.MODEL_NAMES))),
        "choices": choices,
        **({"usage": usage} if usage else {}),
    }


def _without_finish(message: JsonObject) -> JsonObject:
    return {name: part for name, part in message.items() if name != "finish_reason"}


def _finish(reason: str) -> str:
    """In the words of the transcript's form."""
    word = reason.lower()
    return {"tool_call": "tool_calls", "tool_use": "tool_calls", "end_turn": "stop"}.get(word, word)


def _usage(attributes: JsonObject) -> JsonObject:
    read = _count(attributes, names.INPUT_COUNTS)
    wrote = _count(attributes, names.OUTPUT_COUNTS)
    if read is None and wrote is None:
        return {}
    return {
        "prompt_tokens": read or 0,
        "completion_tokens": wrote or 0,
        "prompt_tokens_details": {
            "cached_tokens": _count(attributes, names.READ_COUNTS) or 0,
            "cache_write_tokens": _count(attributes, names.WRITE_COUNTS) or 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": _count(attributes, names.REASONING_COUNTS) or 0
        },
    }


# What was said


def _talk(span: TracedSpan) -> tuple[Messages, Messages]:
    """What was asked and answered, from wherever this span tells it."""
    details = [told for name, told in span.events if name == names.DETAILS_EVENT]
    for told in (span.attributes, *details):
        asked, answered = told.get(names.INPUT_MESSAGES), told.get(names.OUTPUT_MESSAGES)
        if asked is not None or answered is not None:
            return _messages(asked), _messages(answered)
    if names.EVENTS in span.attributes:
        listed = _objects(span.attributes[names.EVENTS])
        return _events((str(one.get(names.EVENT_NAME, "")), one) for one in listed)
    if any(name in names.MESSAGE_EVENTS or name == names.CHOICE_EVENT for name, _ in span.events):
        return _events(span.events)
    asked, answered = _contents(span.events)
    if asked or answered:
        return asked, answered
    return (
        _indexed(span.attributes, names.INDEXED_PROMPT),
        _indexed(span.attributes, names.INDEXED_COMPLETION),
    )


def _system(attributes: JsonObject) -> Messages:
    told = attributes.get(names.SYSTEM_INSTRUCTIONS)
    if told is None:
        return []
    return _messages([{"role": "system", "parts": _parsed(told)}])


def _messages(value: object) -> Messages:
    """From the form with parts; one that has `content` is of another form already."""
    found: Messages = []
    for message in _objects(value):
        if "parts" not in message:
            found.append(message)
            continue
        found += _of_parts(message, _objects(message["parts"]))
    return found


def _of_parts(message: JsonObject, parts: list[JsonObject]) -> Iterator[JsonObject]:
    calls: list[JsonObject] = []
    content: list[JsonObject] = []
    results: list[JsonObject] = []
    thoughts: list[str] = []
    for part in parts:
        match part.get("type"):
            case "text":
                content.append({"type": "text", "text": str(part.get("content", ""))})
            case "tool_call":
                calls.append(_call(part.get("id"), part.get("name"), part.get("arguments")))
            case "tool_call_response":
                said = part.get("response", part.get("result"))
                results.append(_result(part.get("id"), said))
            case "reasoning" | "thinking":
                thoughts.append(str(part.get("content", "")))
            case _:
                content.append(dict(part))
    yield from results
    if not content and not calls and not thoughts:
        return
    made: dict[str, object] = {"role": str(message.get("role", "user")), "content": _plain(content)}
    if thoughts:
        made["reasoning_content"] = "\n".join(thoughts)
    if calls:
        made["tool_calls"] = calls
    if reason := message.get("finish_reason"):
        made["finish_reason"] = reason
    yield made


def _plain(content: list[JsonObject]) -> object:
    if all(part.get("type") == "text" for part in content):
        return "\n".join(str(part["text"]) for part in content)
    return content


def _call(call: object, name: object, arguments: object) -> JsonObject:
    told = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, default=str)
    return {
        "id": str(call or ""),
        "type": "function",
        "function": {"name": str(name or ""), "arguments": told},
    }


def _result(call: object, said: object) -> JsonObject:
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)
    return {"role": "tool", "tool_call_id": str(call or ""), "content": text}


def _events(events: Iterable[tuple[str, JsonObject]]) -> tuple[Messages, Messages]:
    """A message in each, in the form of one provider's wire."""
    asked: Messages = []
    answered: Messages = []
    for name, told in events:
        if name in names.MESSAGE_EVENTS:
            asked.append(_event_message(told, names.MESSAGE_EVENTS[name]))
        elif name == names.CHOICE_EVENT:
            message = json_object(_parsed(told.get("message"))) or told
            reason = told.get("finish_reason")
            made = _event_message(message, "assistant")
            answered.append({**made, **({"finish_reason": reason} if reason else {})})
    return asked, answered


def _event_message(told: JsonObject, role: str) -> JsonObject:
    made: dict[str, object] = {"role": str(told.get("role") or role)}
    content = told.get("content")
    made["content"] = content if isinstance(content, str) else _parsed(content) or ""
    if calls := _objects(told.get("tool_calls")):
        made["tool_calls"] = calls
    if role == "tool":
        made["tool_call_id"] = str(told.get("id", ""))
    return made


def _contents(events: Iterable[tuple[str, JsonObject]]) -> tuple[Messages, Messages]:
    found: dict[str, Messages] = {}
    for name, told in events:
        if name in names.CONTENT_EVENTS:
            value = _parsed(told.get(names.CONTENT_EVENTS[name]))
            role = "user" if name.endswith("prompt") else "assistant"
            listed = _objects(value) if _is_list(value) else [{"role": role, "content": value}]
            found[name] = [one for one in listed if one]
    prompt, completion = names.CONTENT_EVENTS
    return found.get(prompt, []), found.get(completion, [])


def _indexed(attributes: JsonObject, prefix: str) -> Messages:
    """`PREFIX.0.role`, `PREFIX.0.tool_calls.0.name` ..."""
    made: Messages = []
    for told in _rows(attributes, prefix):
        message: dict[str, object] = {
            name: told[name] for name in ("role", "content", "finish_reason") if name in told
        }
        calls = [
            _call(one.get("id"), one.get("name"), one.get("arguments"))
            for one in _rows(told, "tool_calls.")
        ]
        made.append({"role": "assistant", "content": "", **message})
        if calls:
            made[-1] = {**made[-1], "tool_calls": calls}
        if "tool_call_id" in told:
            made[-1] = {**made[-1], "tool_call_id": told["tool_call_id"]}
    return made


def _rows(attributes: Mapping[str, object], prefix: str) -> list[JsonObject]:
    rows: dict[int, dict[str, object]] = {}
    for name, value in attributes.items():
        if name.startswith(prefix) and (found := _INDEX.fullmatch(name[len(prefix) :])):
            rows.setdefault(int(found[1]), {})[found[2]] = value
    return [rows[number] for number in sorted(rows)]


def _tools(attributes: JsonObject) -> list[JsonObject]:
    told = _objects(attributes.get(names.TOOL_DEFINITIONS))
    told = told or _rows(attributes, names.INDEXED_FUNCTION)
    return [one if "function" in one else _tool(one) for one in told]


def _tool(told: JsonObject) -> JsonObject:
    inner = {name: part for name, part in told.items() if name != "type"}
    if "parameters" in inner:
        inner["parameters"] = _parsed(inner["parameters"])
    return {"type": "function", "function": inner}


# Attributes


def _parsed(value: object) -> object:
    """Structures come as they are or as JSON; what is no JSON is a text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _objects(value: object) -> list[JsonObject]:
    parsed = _parsed(value)
    if parsed is None:
        return []
    if not _is_list(parsed):
        raise ValueError(f"a list of objects was expected, not {str(parsed)[:40]!r}")
    listed = cast("list[object]", parsed)
    return [json_object(one) for one in listed]


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _first_text(attributes: Mapping[str, object], wanted: Iterable[str]) -> str:
    found = (attributes.get(name) for name in wanted)
    return next((one for one in found if isinstance(one, str) and one), "")


def _count(attributes: JsonObject, wanted: Iterable[str]) -> int | None:
    found = (attributes.get(name) for name in wanted)
    numbers = (one for one in found if isinstance(one, int | float) and not isinstance(one, bool))
    return next((max(0, int(one)) for one in numbers), None)
