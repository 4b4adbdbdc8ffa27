"""A request becomes a draft: everything that all formats need done the same way, done once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mentis.facts.ability import Abilities
from mentis.values.part import ToolCallPart
from mentis.values.rendering import Loss
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

from .current import current_messages
from .draft import BLOCK_END, GAP, Draft, Message, Region, Text
from .history import Telling
from .memo import remembered
from .names import Names, unique_tools
from .notices import BEGINS, CATALOGUE, CONTINUE, notice
from .wording import clean

_BEGINS = Message("user", [Text([notice(BEGINS, why="the user must begin")])])


@dataclass(frozen=True, slots=True)
class Told:
    """A history told once: its messages, and what had to be changed to tell it."""

    messages: tuple[Message, ...]
    losses: tuple[Loss, ...]
    names: dict[str, str]
    ids: dict[str, str]


@dataclass(frozen=True, slots=True)
class Teller:
    """Whom a history is told to: what decides, besides the turns, how it is told."""

    able: Abilities
    wire: str
    model: str
    declared: tuple[str, ...]

    def tell(self, turns: Sequence[Turn]) -> Told:
        called = [p.name for turn in turns for p in turn.parts if type(p) is ToolCallPart]
        names = Names((*self.declared, *called))
        for name in self.declared:
            names.wire(name)
        telling = Telling(self.able, self.wire, self.model, names)
        messages = tuple(telling.tell(turns))
        return Told(messages, tuple(telling.losses), names.changed(), telling.ids.back())


def lay_out(
    request: PromptRequest,
    route: Route,
    able: Abilities,
    wire: str,
    *,
    may_be_silent: bool = False,
) -> Draft:
    """`may_be_silent`: the format takes a payload in which nobody has spoken yet."""
    tools = unique_tools(request.tool_declarations)
    declared = tuple([tool.name for tool in tools])
    teller = Teller(able, wire, route.model, declared)
    history = request.conversation_history
    told = remembered(teller, history, lambda: teller.tell(history))
    losses = list(told.losses)
    head = list(told.messages)
    current = current_messages(request, able, losses)
    tail = _joined(head, current)
    if head or tail or not may_be_silent:
        _ended(head, tail, able, losses)
    if not able.assistant_first and head and head[0].role == "assistant":
        losses.append(Loss("assistant-first", "a user message was put before the assistant's"))
        head.insert(0, _BEGINS)
    key = ("regions", able.native_tools, len(request.system_instruction), len(tools))
    objects = (*request.system_instruction, *request.context_summary, *tools)
    regions, lost = remembered(key, objects, lambda: _regions(request, tools, able))
    losses += lost
    return Draft(
        regions=regions,
        tools=tools if able.native_tools else (),
        head=head,
        tail=tail,
        losses=losses,
        names=told.names,
        ids=told.ids,
        told=told,
    )


def _joined(head: list[Message], current: list[Message]) -> list[Message]:
    """The last message of the history is taken into the tail where the current turn goes on it."""
    if not head or not current or head[-1].role != "user" or current[0].role != "user":
        return current
    last = head.pop()
    return [Message("user", [*last.items, *current[0].items]), *current[1:]]


def _ended(head: list[Message], tail: list[Message], able: Abilities, losses: list[Loss]) -> None:
    """A payload must end where the model may speak: not after its own words, unless it can."""
    last = tail[-1] if tail else (head[-1] if head else None)
    if last is not None and (last.role in ("user", "tool") or tail):
        return
    if last is not None and able.prefill:
        _without_end_blanks(head, losses)
        return
    if last is not None:
        losses.append(Loss("prefill", "this model does not go on from its own words"))
    span = notice(CONTINUE, Stability.TURN, why="the model must be spoken to")
    tail.append(Message("user", [Text([span])]))


def _without_end_blanks(head: list[Message], losses: list[Loss]) -> None:
    """A beginning that ends in blanks is refused by those who take one."""
    end = head[-1].items[-1]
    if not isinstance(end, Text) or not end.text[-1:].isspace():
        return
    losses.append(Loss("prefill-blanks", "blanks at the end of the prefill were left out"))
    text = end.text.rstrip()
    span = Span(text, source="prefill", trust=end.spans[0].trust, stability=end.spans[0].stability)
    head[-1] = Message("assistant", [*head[-1].items[:-1], Text([span], end.state)])


def _regions(
    request: PromptRequest,
    tools: tuple[ToolDeclaration, ...],
    able: Abilities,
) -> tuple[list[Region], list[Loss]]:
    """The system text, cut where it becomes less stable, and what had to be replaced in it."""
    losses: list[Loss] = []
    regions: list[Region] = []
    for span in request.system_instruction:
        if not regions or span.stability.rank > regions[-1].stability.rank:
            regions.append(Region(span.stability, [], goes_on=bool(regions)))
        regions[-1].spans.append(_sound(span, losses))
    if tools and not able.native_tools:
        catalogue = Region(Stability.STABLE, _catalogue(tools, losses))
        place = 1 if regions and regions[0].stability is Stability.STABLE else 0
        for region in regions[place : place + 1]:
            region.goes_on = False  # the catalogue stands between
        regions.insert(place, catalogue)
    if request.context_summary:
        spans = [_sound(span, losses) for span in request.context_summary]
        regions.append(Region(Stability.SESSION, spans))
    told = [region for region in regions if any(span.text for span in region.spans)]
    return told, losses


def _sound(span: Span, losses: list[Loss]) -> Span:
    text = clean(span.text, losses)
    return span if text is span.text else replace(span, text=text)


def _catalogue(tools: tuple[ToolDeclaration, ...], losses: list[Loss]) -> list[Span]:
    """Tools as text, for a model that has no other way to be told of them."""
    spans = [notice(CATALOGUE, Stability.STABLE, why="text catalogue")]
    for tool in tools:
        schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
        text = clean(f"\n- {tool.name}: {tool.description} {schema}", losses)
        spans.append(Span(text, source=f"tool {tool.name}", trust=tool.trust))
    return spans


def system_spans(regions: Sequence[Region]) -> list[Span]:
    """All regions as one text."""
    row: list[Span] = []
    for region in regions:
        if row and not region.goes_on:
            row.append(GAP)
        row += region.spans
    return row


def block_spans(region: Region) -> list[Span]:
    """A region as a block of its own, which ends in a newline."""
    if region.spans[-1].text.endswith("\n"):
        return region.spans
    return [*region.spans, BLOCK_END]
