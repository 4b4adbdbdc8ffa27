"""The generateContent payload. The model stands in the address, not in the body."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace

from mentis.facts.abilities import abilities
from mentis.facts.ability import Abilities
from mentis.values.rendering import Fragment, Loss, Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import join_spans
from mentis.values.tool import ToolDeclaration

from .draft import Call, Draft, Item, Media, Message, Result, Text, Thought
from .finish import described, finished, wishes
from .layout import block_spans, lay_out
from .plan import Planner, ends, planner
from .schemas import lower_schema
from .writing import Page, Write, write_messages, write_tools

WIRE = "gemini"
_ROOT = "/contents"
_TOOLS = "/tools/0/functionDeclarations"
# The word a model of the third generation takes for a signature when a step came without one.
_UNSIGNED = b64encode(b"skip_thought_signature_validator").decode("ascii")
_CACHED = ("systemInstruction", "tools", "toolConfig")


def render(request: PromptRequest, route: Route) -> Rendering:
    able = abilities(route)
    draft = lay_out(request, route, able, WIRE)
    cache = planner(route, able)
    tools = write_tools(draft, WIRE, _TOOLS, _tool)
    if tools.items:
        cache.reach("tools", f"{_TOOLS}/{len(tools.items) - 1}", tools.characters)
    system = _system(draft, cache)
    page = write_messages(draft, (WIRE, able.signed_calls, able.call_ids), _ROOT, _writer(able))
    if page.settled:
        last = page.settled - 1
        cache.reach("history", f"{_ROOT}/{last}", page.settled_characters)
    payload: dict[str, object] = {}
    if tools.items:
        payload["tools"] = [Fragment(functionDeclarations=tools.items)]
    if system.items:
        payload["systemInstruction"] = {"parts": system.items}
    payload["contents"] = page.items
    limits = {"maxOutputTokens": route.max_tokens}
    payload["generationConfig"] = limits | wishes(route, able, draft.losses)
    return finished(payload, draft, (tools, system, page), wire=WIRE, plan=cache.plan())


def with_cached_content(rendering: Rendering, name: str) -> Rendering:
    """The same request on top of a cache made before, which holds system text and tools already."""
    kept = {key: part for key, part in rendering.payload.items() if key not in _CACHED}
    sources = {
        pointer: spans
        for pointer, spans in rendering.sources.items()
        if pointer.split("/")[1] not in _CACHED
    }
    return replace(rendering, payload={"cachedContent": name, **kept}, sources=sources)


def _system(draft: Draft, cache: Planner) -> Page:
    page = Page("/systemInstruction/parts")
    for region, name in zip(draft.regions, ends(draft.regions), strict=True):
        spans = block_spans(region)
        text = join_spans(spans)
        if name is None:
            cache.skip(len(text))
        else:
            cache.reach(name, page.here, len(text))
        page.trace("/text", spans)
        page.add({"text": text})
    return page


def _writer(able: Abilities) -> Write:
    def write(page: Page, message: Message) -> None:
        parts: list[dict[str, object]] = []
        for item in message.items:
            _part(page, item, parts, able)
        if able.signed_calls and message.role == "assistant":
            _sign(page, parts)
        if parts:
            role = "model" if message.role == "assistant" else "user"
            page.add({"role": role, "parts": parts})

    return write


def _part(page: Page, item: Item, parts: list[dict[str, object]], able: Abilities) -> None:
    here = f"/parts/{len(parts)}"
    match item:
        case Text():
            page.trace(f"{here}/text", item.spans)
            parts.append({"text": item.text, **_signature(item.state)})
        case Media():
            parts.append(_media(item))
        case Call():
            call: dict[str, object] = {"id": item.id} if able.call_ids else {}
            call |= {"name": item.name, "args": item.arguments}
            parts.append({"functionCall": call, **_signature(item.state)})
        case Result():
            answer: dict[str, object] = {"id": item.id} if able.call_ids else {}
            key = "error" if item.failed else "output"
            answer |= {"name": item.name, "response": {key: item.span.text}}
            page.trace(f"{here}/functionResponse/response/{key}", (item.span,))
            parts.append({"functionResponse": answer})
        case Thought():
            parts.append({"text": item.text, "thought": True, **_signature(item.state)})


def _signature(state: Mapping[str, object]) -> dict[str, object]:
    found = state.get("thoughtSignature")
    return {"thoughtSignature": found} if found else {}


def _sign(page: Page, parts: list[dict[str, object]]) -> None:
    """The first call of a step needs a signature; the stand-in only where no call has one."""
    calls = [part for part in parts if "functionCall" in part]
    if not calls or any("thoughtSignature" in call for call in calls):
        return
    page.losses.append(Loss("unsigned-call", "a call without its signature got the stand-in"))
    calls[0]["thoughtSignature"] = _UNSIGNED


def _media(item: Media) -> dict[str, object]:
    if item.part.data is None:
        return {"fileData": {"mimeType": item.mime, "fileUri": item.part.url}}
    return {"inlineData": {"mimeType": item.mime, "data": item.base64}}


def _tool(page: Page, tool: ToolDeclaration, name: str) -> None:
    lowered = lower_schema(tool, "gemini")
    page.losses += lowered.losses
    page.characters += len(lowered.schema.encoded())
    span = described(tool, lowered.note)
    # A description is demanded; a tool without one is described by its name.
    if span.text:
        page.trace("/description", (span,))
    described_as = span.text or tool.name
    page.add({"name": name, "description": described_as, "parametersJsonSchema": lowered.schema})
