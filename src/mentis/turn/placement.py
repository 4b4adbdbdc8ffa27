"""Puts what came to mind in its place: declared, or told at the end of the turn; and its price."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mentis.ask.models import Models
from mentis.compose.compose import Composition
from mentis.compose.history import tool_text
from mentis.facts.abilities import abilities
from mentis.home.identity import Identity
from mentis.library.acts import load_doorway
from mentis.ports.token_counter import TokenCounter
from mentis.recall.epochs import memory_id, tell
from mentis.recall.resident import Economy, ResidentItem, place
from mentis.values.digest import digest
from mentis.values.marks import nonce_of
from mentis.values.memo import IdentityMemo
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.residency import Placement, Residency, Residents, SentTokens
from mentis.values.route import Route
from mentis.values.span import Span, join_spans
from mentis.values.tool import ToolDeclaration

from .recaller import RecallResult, leads_elsewhere

_AROUND = 8  # tokens: a dash, a line end, the fence that it shares with others
_PRINTS = IdentityMemo[str](1024)


@dataclass(frozen=True, slots=True)
class RecallPlacement:
    """What is composed, and what the session keeps of it."""

    recalled: RecalledContext
    residency: Residency


def place_recall(
    who: Identity,
    models: Models,
    stimulus: Stimulus,
    brought: RecallResult,
    *,
    offered: tuple[ToolDeclaration, ...],
) -> RecallPlacement:
    """For the first route of these models; the words may be those of a correction."""
    counter, kept = models.counter(models.route), brought.outlook.residency
    language = who.persona.language
    tools, revealed, residents, chosen = _tools(models, brought, offered, language=language)
    told = tell(
        kept.memories,
        brought.spans,
        (*(memory_id(one) for one in brought.recalled.memories), *brought.also),
        item=lambda span: _memory_item(span, counter, who.secret),
        economy=economy_of(models.route, kept, behind_system=True),
    )
    begun = not kept.turns or told.placement.changed
    recalled = replace(
        brought.recalled,
        stimulus=stimulus,
        tools=tools,
        revealed=revealed,
        memories=told.spans,
        placements=_worth_telling(chosen, told.placement),
    )
    residency = Residency(
        turns=kept.turns + 1,
        tools=residents,
        memories=told.residents,
        revision=brought.revision if begun else kept.revision,
        sent=kept.sent,
    )
    return RecallPlacement(recalled, residency)


def economy_of(route: Route, kept: Residency, *, behind_system: bool) -> Economy:
    """What a change costs on this route: all that stands behind it is read again."""
    able, sent = abilities(route), kept.sent
    behind = sent.context + sent.history
    everything = sent.tools + sent.system + behind
    cached = route.caching and able.cache != "none" and everything >= able.cache_minimum
    lost = (behind if behind_system else everything) if cached else 0
    return Economy(lost, able.cache_read_price, able.cache_write_price, kept.turns)


def with_residency(
    composed: Composition, residency: Residency, counter: TokenCounter
) -> Composition:
    """With what the session keeps: how much of this prompt a cache may hold."""
    tokens = {name: one.tokens for name, one in composed.trace.tokens.items()}
    around = join_spans(composed.request.context_summary)
    sent = SentTokens(
        tokens.get("tools", 0),
        tokens.get("system", 0),
        counter.count(around).tokens if around else 0,
        tokens.get("history", 0),
    )
    return replace(composed, residency=replace(residency, sent=sent))


def _tools(
    models: Models,
    brought: RecallResult,
    offered: tuple[ToolDeclaration, ...],
    *,
    language: str,
) -> tuple[tuple[ToolDeclaration, ...], tuple[ToolDeclaration, ...], Residents, Placement]:
    counter, outlook = models.counter(models.route), brought.outlook
    kept = outlook.residency
    most = outlook.limits.max_tools if outlook.chooses else None
    most = None if most is None or len(offered) <= most else most
    wanted = [tool.name for tool in brought.recalled.tools] if most else []
    door = () if most is None or leads_elsewhere(offered) else (load_doorway(language),)
    lately = (name for turn in kept.tools.recent for name in turn)
    near = {*wanted, *outlook.base, *kept.tools.names, *lately}
    concerned = [one for one in offered if most is None or one.name in near]
    residents, placement = place(
        "tools",
        kept.tools,
        wanted,
        items={one.name: _tool_item(one, counter if most else None) for one in concerned},
        base=outlook.base if most else (),
        most=most and max(1, most - len(door)),
        economy=economy_of(models.route, kept, behind_system=False),
    )
    named = {one.name: one for one in offered}
    declared = _named(residents.names, named)
    return (*declared, *door), _named(placement.revealed, named), residents, placement


def _named(names: Sequence[str], tools: dict[str, ToolDeclaration]) -> tuple[ToolDeclaration, ...]:
    return tuple(tools[name] for name in names)


def _tool_item(tool: ToolDeclaration, counter: TokenCounter | None) -> ResidentItem:
    """What it costs counts only where something is chosen."""
    tokens = counter.count(tool_text(tool)).tokens + _AROUND if counter else 0
    return ResidentItem(tokens, _PRINTS.remember(_print, tool))


def _print(tool: ToolDeclaration) -> str:
    said = json.dumps([tool_text(tool), tool.strict, tool.trust])
    return digest(said.encode())[7:23]


def _memory_item(span: Span, counter: TokenCounter, secret: bytes) -> ResidentItem:
    """Its print is made with the home's secret: nobody learns from it what was forgotten."""
    mark = nonce_of((span.text, span.trust), secret)
    return ResidentItem(counter.count(span.text).tokens + _AROUND, mark)


def _worth_telling(*placements: Placement) -> tuple[Placement, ...]:
    return tuple(one for one in placements if one.resident or one.revealed or one.dropped)
