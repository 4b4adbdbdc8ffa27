"""Renders the opening of a live session: its instructions and its tools. Talk follows later."""

from __future__ import annotations

from dataclasses import replace

from mentis.codec.document_text import unread_reason
from mentis.facts.abilities import abilities
from mentis.values.rendering import Loss, Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route

from .choice import for_responses, wire_tool_choice
from .current import facts_line
from .declaring import DeclaredTool
from .draft import PayloadDraft
from .finish import finish_rendering
from .layout import lay_out, system_text
from .notices import label
from .options import plain_options
from .plan import planner
from .writing import Page, write_tools

WIRE = "live"


def render(request: PromptRequest, route: Route) -> Rendering:
    """History and a current message have no place here: each is named as lost."""
    able = replace(abilities(route), strict_tools=False)  # a session holds no tool to its schema
    draft = lay_out(_opening(request), route, able, WIRE, may_be_silent=True)
    tools = write_tools(draft, WIRE, "/tools", _tool, dialect="openai")
    system = system_text(draft.regions)
    page = Page("")
    page.trace_outside("/instructions", system)
    payload: dict[str, object] = {"type": "realtime", "model": route.model}
    payload["instructions"] = system.text
    if tools.items:
        payload["tools"] = tools.items
    if choice := wire_tool_choice(request, draft, able):
        payload["tool_choice"] = for_responses(choice)
    _name_lost(request, draft)
    plain_options(route, able, draft.losses, wire=WIRE)  # a session says none of them
    return finish_rendering(
        payload, draft, (tools, page), wire=WIRE, plan=planner(route, able).plan()
    )


def _opening(request: PromptRequest) -> PromptRequest:
    """What was said, and the facts of a turn, are sent as the session goes on."""
    return replace(
        request,
        conversation_history=(),
        continuation=(),
        current_text="",
        attachments=(),
        reply_to=None,
        runtime_ctx=type(request.runtime_ctx)(),
    )


def _name_lost(request: PromptRequest, draft: PayloadDraft) -> None:
    facts = request.runtime_ctx
    lost = {
        "history": request.conversation_history,
        "current message": request.current_text,
        "continuation": request.continuation,
        "attachments": request.attachments,
        "message that is answered": request.reply_to,
        "form of the answer": request.output,
        "facts of the turn": facts.spans or facts_line(facts),
    }
    for part in request.attachments:
        if reason := unread_reason(part):
            draft.losses.append(Loss("document-unread", f"{label(part)} cannot be read: {reason}"))
    for name, content in lost.items():
        if content:
            draft.losses.append(Loss("not-live", f"not part of an opening: {name}"))


def _tool(tool: DeclaredTool) -> dict[str, object]:
    written = {"type": "function", "name": tool.name, "description": tool.text}
    return {**written, "parameters": tool.schema}
