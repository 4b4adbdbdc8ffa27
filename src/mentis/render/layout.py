"""A request becomes a draft: everything that all formats need done the same way, done once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mentis.facts.ability import Abilities
from mentis.values.rendering import Loss
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

from .current import current_messages
from .draft import BLOCK_END, GAP, PayloadDraft, Region, Text, WireMessage, of, weight_of
from .history import Telling
from .media import too_many
from .memo import remember
from .names import CallIds, Names, unique_tools
from .notices import CALL_FORM, Notices, notice
from .output import output_tool_of
from .pairing import pair
from .schemas import lower_schema
from .wording import Guard, clean, guard_for, sound


@dataclass(frozen=True, slots=True)
class ToldHistory:
    """A history told once: its messages, and what had to be changed to tell it."""

    messages: tuple[WireMessage, ...]
    losses: tuple[Loss, ...]
    names: dict[str, str]
    ids: dict[str, str]
    used: frozenset[str]
    begins: WireMessage | None
    images: int = 0
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Teller:
    """Whom a history is told to: what decides, besides the turns, how it is told."""

    able: Abilities = field(hash=False)  # there are few, and its hash takes long
    wire: str
    model: str
    declared: tuple[str, ...]
    spare: int = 0

    def tell(
        self,
        turns: Sequence[Turn],
        notices: Notices,
        guard: Guard,
        *,
        used: frozenset[str] = frozenset(),
    ) -> ToldHistory:
        """`used` are ids that calls told before have in this payload."""
        pairs = pair(turns)
        names = Names({*self.declared, *pairs.called})
        names.issue(self.declared)
        telling = Telling(self.able, self.wire, self.model, names, notices, guard, self.spare)
        telling.ids = CallIds(used)
        messages = tuple(telling.tell(turns, pairs))
        return ToldHistory(
            messages,
            tuple(telling.losses),
            names.wire_names(),
            telling.ids.back(),
            telling.ids.used,
            _begun(messages, notices),
            telling.desk.images,
            weight_of(messages) if self.able.request_bytes else 0,
        )


def lay_out(
    request: PromptRequest,
    route: Route,
    able: Abilities,
    wire: str,
    *,
    may_be_silent: bool = False,
) -> PayloadDraft:
    """`may_be_silent`: the format takes a payload in which there is system text alone."""
    tools = unique_tools(request.tool_declarations)
    declared = tuple([tool.name for tool in tools])
    teller = Teller(able, wire, route.model, declared)
    history = request.conversation_history
    notices, guard = Notices(request.words), guard_for(able, wire)
    sources = (*history, request.words)
    told = remember(teller, sources, lambda: teller.tell(history, notices, guard))
    if able.images and (spare := too_many(request.attachments, able, told.images)):
        fewer = replace(teller, spare=spare)
        told = remember(fewer, sources, lambda: fewer.tell(history, notices, guard))
    losses = list(told.losses)
    head = list(told.messages)
    current = current_messages(request, able, guard, losses, wire=wire)
    tail = _joined(head, current)
    names, ids = told.names, told.ids
    if request.continuation:
        after = teller.tell(request.continuation, notices, guard, used=told.used)
        tail += after.messages
        losses += after.losses
        names, ids = {**names, **after.names}, {**ids, **after.ids}
    if head or tail or not (may_be_silent and _is_written(request)):
        _ended(head, tail, able, notices=notices, losses=losses)
    _begin_answer(request, tail, able, losses)
    if told.begins and not able.assistant_first and head and head[0].role == "assistant":
        losses.append(Loss("assistant-first", "a user message was put before the assistant's"))
        head.insert(0, told.begins)
    key = ("regions", able.native_tools, len(request.system_instruction), len(tools))
    objects = (*request.system_instruction, *request.context_summary, *tools, request.words)
    regions, lost = remember(key, objects, lambda: _regions(request, tools, able))
    losses += lost
    return PayloadDraft(
        regions=regions,
        tools=tools if able.native_tools else (),
        head=head,
        tail=tail,
        losses=losses,
        names=names if able.native_tools else {},  # words call a tool by its own name
        ids=ids,
        told=told,
        able=able,
        continues=bool(request.continuation),
        output_tool=output_tool_of(request),
        notices=notices,
        options=route.options,
        weight=told.weight + weight_of(tail) if able.request_bytes else 0,
    )


def _is_written(request: PromptRequest) -> bool:
    return any(span.text for span in (*request.system_instruction, *request.context_summary))


def _begun(messages: Sequence[WireMessage], notices: Notices) -> WireMessage | None:
    """What stands before a history that the assistant begins, for those who want the user first."""
    if not messages or messages[0].role != "assistant":
        return None
    begins = notice(notices.say("notice_begins"), why="the user must begin")
    return WireMessage("user", [of(begins)])


def _joined(head: list[WireMessage], current: list[WireMessage]) -> list[WireMessage]:
    """The last message of the history is taken into the tail where the current turn goes on it."""
    if not head or not current or head[-1].role != "user" or current[0].role != "user":
        return current
    last = head.pop()
    return [WireMessage("user", [*last.items, *current[0].items]), *current[1:]]


def _ended(
    head: list[WireMessage],
    tail: list[WireMessage],
    able: Abilities,
    *,
    notices: Notices,
    losses: list[Loss],
) -> None:
    """A payload must end where the model may speak: not after its own words, unless it can."""
    last = tail[-1] if tail else (head[-1] if head else None)
    if last is not None and (last.role in ("user", "tool") or tail):
        return
    if last is not None and able.prefill:
        _without_end_blanks(head, losses)
        return
    if last is not None:
        losses.append(Loss("prefill", "this model does not go on from its own words"))
    told = notices.say("notice_continue")
    span = notice(told, Stability.TURN, why="the model must be spoken to")
    tail.append(WireMessage("user", [of(span)]))


def _begin_answer(
    request: PromptRequest, tail: list[WireMessage], able: Abilities, losses: list[Loss]
) -> None:
    """The first words of the answer, as the last message, for those who go on from there."""
    if not join_spans(request.prefill).strip():
        return
    if not able.prefill:
        losses.append(Loss("prefill", "this model does not go on from its own words"))
        return
    tail.append(WireMessage("assistant", [of(*(sound(span, losses) for span in request.prefill))]))
    _without_end_blanks(tail, losses)


def _without_end_blanks(head: list[WireMessage], losses: list[Loss]) -> None:
    """A beginning that ends in blanks is refused by those who take one."""
    end = head[-1].items[-1]
    if not isinstance(end, Text) or not end.text[-1:].isspace():
        return
    losses.append(Loss("prefill-blanks", "blanks at the end of the prefill were left out"))
    text = end.text.rstrip()
    span = Span(text, source="prefill", trust=end.spans[0].trust, stability=end.spans[0].stability)
    head[-1] = WireMessage(
        "assistant", [*head[-1].items[:-1], Text(text, (span,), state=end.state)]
    )


def _regions(
    request: PromptRequest,
    tools: tuple[ToolDeclaration, ...],
    able: Abilities,
) -> tuple[list[Region], list[Loss]]:
    """The system text, cut where it becomes less stable, and what had to be replaced in it."""
    losses: list[Loss] = []
    regions: list[Region] = []
    rank, seen, row = 0, None, list[Span]()
    for span in request.system_instruction:
        if span.stability is not seen:  # most are as the one before
            seen = span.stability
            if not regions or seen.rank > rank:
                row, rank = list[Span](), seen.rank
                regions.append(Region(seen, row, goes_on=bool(regions)))
        row.append(sound(span, losses))
    if tools and not able.native_tools:
        catalogue = Region(Stability.STABLE, _catalogue(tools, Notices(request.words), losses))
        place = 1 if regions and regions[0].stability is Stability.STABLE else 0
        for region in regions[place : place + 1]:
            region.goes_on = False  # the catalogue stands between
        regions.insert(place, catalogue)
    if request.context_summary:
        spans = [sound(span, losses) for span in request.context_summary]
        regions.append(Region(Stability.SESSION, spans))
    told = [region for region in regions if any(span.text for span in region.spans)]
    return told, losses


def _catalogue(
    tools: tuple[ToolDeclaration, ...], notices: Notices, losses: list[Loss]
) -> list[Span]:
    """Tools as text, for a model that has no other way to be told of them."""
    told = notices.say("notice_catalogue", form=CALL_FORM)
    spans = [notice(told, Stability.STABLE, why="text catalogue")]
    for tool in tools:
        lower_schema(tool, "openai")  # refuses what is no schema of arguments
        schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
        text = clean(f"\n- {tool.name}: {tool.description} {schema}", losses)
        spans.append(Span(text, source=f"tool {tool.name}", trust=tool.trust))
    return spans


def system_text(regions: Sequence[Region]) -> Text:
    """All regions as one text."""
    row: list[Span] = []
    for region in regions:
        if row and not region.goes_on:
            row.append(GAP)
        row += region.spans
    return of(*row)


def block_text(region: Region) -> Text:
    """A region as a block of its own, which ends in a newline."""
    if region.spans[-1].text.endswith("\n"):
        return of(*region.spans)
    return of(*region.spans, BLOCK_END)
