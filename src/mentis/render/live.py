"""What a live session is opened with: its instructions and its tools. Talk follows later."""

from __future__ import annotations

from dataclasses import replace

from mentis.facts.abilities import abilities
from mentis.values.rendering import Loss, Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import join_spans

from .draft import Draft
from .finish import finished
from .layout import lay_out, system_spans
from .openai_responses import flat_tool
from .plan import planner
from .writing import Page, write_tools

WIRE = "live"


def render(request: PromptRequest, route: Route) -> Rendering:
    """History and a current message have no place here: each is named as lost."""
    able = abilities(route)
    draft = lay_out(_opening(request), route, able, WIRE, may_be_silent=True)
    tools = write_tools(draft, WIRE, "/tools", flat_tool)
    spans = system_spans(draft.regions)
    page = Page("")
    page.sources["/instructions"] = tuple(spans)
    payload: dict[str, object] = {"model": route.model, "instructions": join_spans(spans)}
    if tools.items:
        payload["tools"] = tools.items
    _name_lost(request, draft)
    return finished(payload, draft, (tools, page), wire=WIRE, plan=planner(route, able).plan())


def _opening(request: PromptRequest) -> PromptRequest:
    """What was said, and the facts of a turn, are sent as the session goes on."""
    return replace(
        request,
        conversation_history=(),
        current_text="",
        attachments=(),
        reply_to=None,
        runtime_ctx=type(request.runtime_ctx)(),
    )


def _name_lost(request: PromptRequest, draft: Draft) -> None:
    lost = {
        "history": request.conversation_history,
        "current message": request.current_text,
        "attachments": request.attachments,
        "facts of the turn": request.runtime_ctx.spans,
    }
    for name, content in lost.items():
        if content:
            draft.losses.append(Loss("not-live", f"the {name} is not part of an opening"))
