"""The Chat Completions payload, which the embedded model and most servers understand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from mentis.errors import RenderError
from mentis.facts.abilities import Abilities, abilities
from mentis.values.part import MediaPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from mentis.values.rendering import Loss, Rendering
from mentis.values.request import PromptRequest, ReplyTo
from mentis.values.route import Route
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.turn import Turn

WIRE = "openai-chat"
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_GAP = Span("\n\n", source="layout", trust=Trust.RUNTIME, reason="between regions")


@dataclass(slots=True)
class _Message:
    """A message being built: the spans of its text, and its tool calls or the call it answers."""

    role: str
    spans: list[Span]
    calls: list[ToolCallPart] = field(default_factory=list[ToolCallPart])
    answers: str = ""

    @property
    def plain(self) -> bool:
        return not self.calls and not self.answers


def render(request: PromptRequest, route: Route) -> Rendering:
    """Lay the request out as messages: what lasts first, what changes every turn last."""
    if request.attachments:
        raise _cannot_carry(request.attachments[0])
    able = abilities(route)
    losses: list[Loss] = []
    messages = [*_system(request), *_history(request.conversation_history, losses)]
    messages = _merged([*messages, *_current(request, able)])
    payload: dict[str, object] = {
        "model": route.model,
        "messages": [_to_wire(message) for message in messages],
    }
    if request.tool_declarations:
        payload["tools"] = _tools(request.tool_declarations)
    payload |= _sampling(route, able, losses)
    payload |= {"stream": True, "stream_options": {"include_usage": True}}
    sources = {
        f"/messages/{index}/content": tuple(message.spans)
        for index, message in enumerate(messages)
        if message.spans
    }
    return Rendering(WIRE, payload, sources, losses=tuple(losses))


def _system(request: PromptRequest) -> list[_Message]:
    spans = _with_gap(request.system_instruction, request.context_summary)
    return [_Message("system", spans)] if spans else []


def _with_gap(first: Iterable[Span], second: Iterable[Span]) -> list[Span]:
    before, after = list(first), list(second)
    return [*before, _GAP, *after] if before and after else before + after


def _history(turns: tuple[Turn, ...], losses: list[Loss]) -> list[_Message]:
    messages: list[_Message] = []
    for number, turn in enumerate(turns):
        made = _turn(turn, number, losses)
        if not made:
            losses.append(Loss("empty-turn", f"turn {number} of the history has no text"))
        messages += made
    return messages


def _turn(turn: Turn, number: int, losses: list[Loss]) -> list[_Message]:
    """A turn's text and calls as one message, then one message for each tool result."""
    message = _Message(turn.role, [])
    results: list[_Message] = []
    for part in turn.parts:
        match part:
            case TextPart(text=text):
                if text:
                    message.spans.append(_said(text, turn.lineage, f"{turn.role} turn {number}"))
            case ToolCallPart():
                message.calls.append(part)
            case ToolResultPart():
                span = _said(part.text, Trust.UNTRUSTED, f"result of {part.name}")
                results.append(_Message("tool", [span], answers=part.call_id))
            case ReasoningPart():
                losses.append(Loss("reasoning", f"reasoning of turn {number} is not replayed"))
            case MediaPart():
                raise _cannot_carry(part)
            case _:
                assert_never(part)
    return [message, *results] if message.spans or message.calls else results


def _said(text: str, trust: Trust, source: str) -> Span:
    return Span(text, source=source, trust=trust, stability=Stability.SESSION)


def _current(request: PromptRequest, able: Abilities) -> list[_Message]:
    """What belongs to this turn alone: its facts, the message it answers, the words themselves."""
    facts = list(request.runtime_ctx.spans)
    text = Span(request.current_text, source="current", stability=Stability.TURN)
    spoken = [text] if request.current_text else []
    if request.reply_to is not None:
        spoken = _with_gap([_quoted(request.reply_to)], spoken)
    if able.mid_system or not spoken:
        messages = [_Message("system", facts), _Message("user", spoken)]
        return [message for message in messages if message.spans]
    return [_Message("user", _with_gap(facts, spoken))]


def _quoted(reply_to: ReplyTo) -> Span:
    who = f"{reply_to.author}: " if reply_to.author else ""
    quote = "\n".join(f"> {line}" for line in f"{who}{reply_to.text}".splitlines())
    return Span(quote, source="reply_to", trust=Trust.UNTRUSTED, stability=Stability.TURN)


def _merged(messages: list[_Message]) -> list[_Message]:
    """Neighbours of one role become one message: many chat templates insist on alternation.

    System messages stay apart: what lasts must end where what changes every turn begins.
    """
    merged: list[_Message] = []
    for message in messages:
        last = merged[-1] if merged else None
        same = last is not None and last.role == message.role != "system"
        if last and same and last.plain and message.plain:
            last.spans = _with_gap(last.spans, message.spans)
        else:
            merged.append(message)
    return merged


def _to_wire(message: _Message) -> dict[str, object]:
    content = join_spans(message.spans) if message.spans else None
    if message.answers:
        return {"role": "tool", "tool_call_id": message.answers, "content": content or ""}
    if not message.calls:
        return {"role": message.role, "content": content}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
            },
        }
        for call in message.calls
    ]
    return {"role": message.role, "content": content, "tool_calls": calls}


def _tools(declarations: tuple[ToolDeclaration, ...]) -> list[dict[str, object]]:
    tools: list[dict[str, object]] = []
    for tool in sorted(declarations, key=lambda declared: declared.name):
        if not _TOOL_NAME.fullmatch(tool.name):
            raise RenderError(
                f"tool name {tool.name!r} does not fit this wire format",
                hint="use 1 to 64 letters, digits, underscores and dashes",
                tool=tool.name,
            )
        function = {"name": tool.name, "description": tool.description}
        tools.append({"type": "function", "function": {**function, "parameters": tool.parameters}})
    return tools


def _sampling(route: Route, able: Abilities, losses: list[Loss]) -> dict[str, object]:
    chosen: dict[str, object] = {able.limit_key: route.max_tokens}
    wanted = {"temperature": route.temperature, "seed": route.seed}
    for name, value in wanted.items():
        if value is None:
            continue
        if able.sampling:
            chosen[name] = value
        else:
            losses.append(Loss("sampling", f"{route.model} takes no {name}", f"/{name}"))
    return chosen


def _cannot_carry(part: MediaPart) -> RenderError:
    return RenderError(
        f"this wire format cannot carry {part.kind} {part.name or part.mime!r} yet",
        hint="leave the attachment out",
        kind=part.kind,
    )
