"""One compact text, for engines that take nothing else. It ends with what is to be answered."""

from __future__ import annotations

from dataclasses import replace

from mentis.facts.abilities import abilities
from mentis.facts.ability import Abilities
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.stability import Stability

from .choice import wire_tool_choice
from .draft import PayloadDraft, Text, WireMessage, join_texts, of
from .finish import finish_rendering
from .layout import lay_out
from .notices import notice
from .options import plain_options
from .output import with_output_tool
from .plan import Planner, ends, planner
from .writing import Page

WIRE = "text"


def render(request: PromptRequest, route: Route) -> Rendering:
    able = spoken_only(abilities(route))
    request = with_output_tool(request)
    draft = lay_out(request, route, able, WIRE, may_be_silent=True)
    wire_tool_choice(
        request, draft, able
    )  # a text cannot bind a model: what was wanted is named as lost
    plain_options(route, able, draft.losses, wire=WIRE)  # a text says none of them
    cache = planner(route, able)
    spans = [*_system(draft, cache), *_history(draft, cache), *_current(draft)]
    page = Page("")
    prompt = of(*spans)
    page.trace_outside("/prompt", prompt)
    return finish_rendering({"prompt": prompt.text}, draft, (page,), wire=WIRE, plan=cache.plan())


def spoken_only(able: Abilities) -> Abilities:
    """What is left of a model's abilities when all it gets is a text."""
    return replace(
        able,
        native_tools=False,
        vision=False,
        audio=False,
        video_types=(),
        documents=False,
        mid_system="before",
        assistant_first=True,
        prefill=True,
        cache_marks=0,
    )


def _system(draft: PayloadDraft, cache: Planner) -> list[Span]:
    spans: list[Span] = []
    headed = False
    for region, name in zip(draft.regions, ends(draft.regions), strict=True):
        is_context = region.stability is Stability.SESSION and not headed
        heading = "\n--- Context ---\n" if is_context else "\n"
        if spans and not region.goes_on:
            headed = headed or is_context
            spans.append(notice(heading, region.stability, why="heading"))
        spans += region.spans
        if name:
            cache.reach(name, "/prompt")
    return spans


def _history(draft: PayloadDraft, cache: Planner) -> list[Span]:
    if not draft.head:
        return []
    spans = [notice("\n--- History ---", why="heading")]
    for message in draft.head:
        spans += _line(message, message.role)
    cache.reach("history", "/prompt")
    return spans


def _current(draft: PayloadDraft) -> list[Span]:
    spans: list[Span] = []
    for message in draft.tail:
        spans += _line(message, "current" if message.role == "user" else message.role)
    return spans


def _line(message: WireMessage, label: str) -> list[Span]:
    texts = [item for item in message.items if isinstance(item, Text) and item.text]
    stability = texts[0].spans[0].stability if texts else Stability.SESSION
    heading = notice(f"\n[{label}] ", stability, why="who speaks")
    return [heading, *join_texts(texts).spans] if texts else []
