"""Units of a request that can be left out alone: blocks, memories, messages, results, tools.

The message that is answered stays with what is attached to it, and so do calls: without them there
would be no question, and results that answer nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from mentis.costs.pieces import LAYOUT, grouped_ranges
from mentis.ports.token_counter import TokenCounter
from mentis.values.cause import LeftOutKind, PromptUnit
from mentis.values.part import ToolResultPart
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.span import Span, join_spans
from mentis.values.trust import Trust, least_trusted
from mentis.values.turn import Turn

_ITEMS = ("memory ", "act ", "window ")  # each has a source of its own inside of a block
_QUOTED = "reply_to"


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """One unit, its words, and the request without it. `place` orders them as they are sent."""

    unit: PromptUnit
    text: str
    request: PromptRequest
    place: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """`key` is the block or source that its spans have in the rendering."""

    key: str
    kind: LeftOutKind
    trust: Trust
    text: str
    without: Callable[[], PromptRequest]


def leave_outs(
    request: PromptRequest, rendering: Rendering, counter: TokenCounter
) -> tuple[LeaveOut, ...]:
    """All of them, in the order in which the rendering sends them."""
    places, made = _Places(rendering), list[LeaveOut]()
    for piece in _pieces(request):
        found = places.take(piece.key, repeated=piece.kind == "result")
        if found is None or not piece.text.strip():
            continue  # it was not told, so that nothing changes without it
        place, section = found
        tokens = counter.count(piece.text).tokens
        unit = PromptUnit(piece.key, piece.kind, piece.trust, section, tokens)
        made.append(LeaveOut(unit, piece.text, piece.without(), place))
    return tuple(sorted(made, key=lambda one: one.place))


def _pieces(request: PromptRequest) -> Iterator[_Piece]:
    for tool in request.tool_declarations:
        without = _no_tool(request, tool.name)
        yield _Piece(f"tool {tool.name}", "tool", tool.trust, tool.description, without)
    yield from _span_pieces(request)
    for number, turn in enumerate(request.conversation_history):
        if not _acts(turn):
            source = f"{turn.role} turn {number}"
            yield _Piece(source, "message", turn.lineage, turn.text, _no_turn(request, number))
    for history in ("conversation_history", "continuation"):
        yield from _result_pieces(request, history)
    if request.reply_to is not None:
        quoted = request.reply_to.text
        yield _Piece(_QUOTED, "quotation", Trust.UNTRUSTED, quoted, _no_quotation(request))


def _span_pieces(request: PromptRequest) -> Iterator[_Piece]:
    """A block is one piece wherever its spans stand, but for what has a source of its own."""
    told = (*request.system_instruction, *request.context_summary, *request.runtime_ctx.spans)
    keyed: dict[str, list[Span]] = {}
    for span in told:
        if key := span_key(span):
            keyed.setdefault(key, []).append(span)
    for key, spans in keyed.items():
        kind: LeftOutKind = "memory" if key.startswith(_ITEMS) else "block"
        trust = least_trusted([span.trust for span in spans])
        yield _Piece(key, kind, trust, join_spans(spans), _no_spans(request, key))


def span_key(span: Span) -> str:
    """The unit that a span belongs to; empty where it only stands between others."""
    if span.source == LAYOUT:
        return ""
    return span.source if span.source.startswith(_ITEMS) else span.block or span.source


def _result_pieces(request: PromptRequest, history: str) -> Iterator[_Piece]:
    turns: tuple[Turn, ...] = getattr(request, history)
    for number, turn in enumerate(turns):
        for place, part in enumerate(turn.parts):
            if isinstance(part, ToolResultPart):
                emptied = _no_result(request, history, number, place)
                yield _Piece(f"result of {part.name}", "result", part.trust, part.text, emptied)


def _no_tool(request: PromptRequest, name: str) -> Callable[[], PromptRequest]:
    left = tuple(tool for tool in request.tool_declarations if tool.name != name)
    return lambda: replace(request, tool_declarations=left)


def _no_quotation(request: PromptRequest) -> Callable[[], PromptRequest]:
    return lambda: replace(request, reply_to=None)


def _no_turn(request: PromptRequest, number: int) -> Callable[[], PromptRequest]:
    turns = request.conversation_history
    left = (*turns[:number], *turns[number + 1 :])
    return lambda: replace(request, conversation_history=left)


def _no_result(
    request: PromptRequest, history: str, number: int, place: int
) -> Callable[[], PromptRequest]:
    """A call stays answered, by nothing."""

    def emptied() -> PromptRequest:
        turns: tuple[Turn, ...] = getattr(request, history)
        turn = turns[number]
        part = turn.parts[place]
        assert isinstance(part, ToolResultPart)  # noqa: S101  # whoever asks has looked
        bare = replace(part, text="", fence=None)
        parts = (*turn.parts[:place], bare, *turn.parts[place + 1 :])
        told = (*turns[:number], replace(turn, parts=parts), *turns[number + 1 :])
        return replace(request, **{history: told})

    return emptied


def _no_spans(request: PromptRequest, key: str) -> Callable[[], PromptRequest]:
    def without() -> PromptRequest:
        context = request.runtime_ctx
        return replace(
            request,
            system_instruction=_left(request.system_instruction, key),
            context_summary=_left(request.context_summary, key),
            runtime_ctx=replace(context, spans=_left(context.spans, key)),
        )

    return without


def _left(spans: Sequence[Span], key: str) -> tuple[Span, ...]:
    """Without the unit and the blank that followed it; marks and headings of others stay."""
    left, dropped = list[Span](), False
    for span in spans:
        if span_key(span) == key:
            dropped = True
            continue
        if dropped and span.source == LAYOUT and not span.text.strip():
            continue
        dropped = False
        left.append(span)
    return tuple(left)


def _acts(turn: Turn) -> bool:
    return any(part.kind in ("tool_call", "tool_result") for part in turn.parts)


class _Places:
    """Where each unit stands in a rendering: the first byte, and the section."""

    def __init__(self, rendering: Rendering) -> None:
        self._found: dict[str, list[tuple[int, int]]] = {}
        for section, (_, ranges) in enumerate(grouped_ranges(rendering.source_map())):
            for each in ranges:
                if key := span_key(each.span):
                    self._found.setdefault(key, []).append((each.start, section))

    def take(self, key: str, *, repeated: bool) -> tuple[int, int] | None:
        """None where the model is not told of it. One that is `repeated` is a unit each time."""
        found = self._found.get(key)
        if not found:
            return None
        return found.pop(0) if repeated else found[0]
