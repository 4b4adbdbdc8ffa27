"""The generateContent payload. The model stands in the address, not in the body."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

from mentis.facts.abilities import abilities
from mentis.facts.ability import Abilities
from mentis.values.fragment import Fragment
from mentis.values.rendering import Loss, Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route

from .choice import for_gemini, wire_tool_choice
from .declaring import DeclaredTool
from .draft import GEMINI_OWN, CallItem, Media, PayloadDraft, Result, Text, ThoughtItem, WireMessage
from .finish import finish_rendering
from .layout import block_text, lay_out
from .options import gemini_options, gemini_reasoning, plain_options, with_server_tools
from .output import answer_form
from .plan import Planner, ends, planner
from .writing import Page, Write, write_messages, write_tools

WIRE = "gemini"
_ROOT = "/contents"
_TOOLS = "/tools/0/functionDeclarations"
_UNSIGNED_CALL = Loss("unsigned-call", "a call without its signature got the stand-in")
# The word a model of the third generation takes for a signature when a step came without one.
_UNSIGNED = b64encode(b"skip_thought_signature_validator").decode("ascii")


def render(request: PromptRequest, route: Route) -> Rendering:
    able = abilities(route)
    form = answer_form(request, able, "gemini")
    request = form.request
    draft = lay_out(request, route, able, WIRE)
    draft.losses += form.losses
    cache = planner(route, able)
    tools = write_tools(draft, WIRE, _TOOLS, _tool, dialect="gemini")
    if tools.items:
        cache.reach("tools", f"{_TOOLS}/{len(tools.items) - 1}")
    system = _system(draft, cache)
    page = write_messages(draft, (WIRE, able.signed_calls, able.call_ids), _ROOT, _writer(able))
    if page.settled:
        last = page.settled - 1
        cache.reach("history", f"{_ROOT}/{last}")
    payload: dict[str, object] = {}
    declared: list[dict[str, object]] = (
        [Fragment(functionDeclarations=tools.items)] if tools.items else []
    )
    if every_tool := with_server_tools(declared, route, able):
        payload["tools"] = every_tool
    if system.items:
        payload["systemInstruction"] = {"parts": system.items}
    payload["contents"] = page.items
    choice = wire_tool_choice(request, draft, able)
    if choice or (able.strict_tools and any(tool.strict for tool in draft.tools)):
        payload["toolConfig"] = for_gemini(choice)
    limits: dict[str, object] = {"maxOutputTokens": route.max_tokens}
    limits |= plain_options(route, able, draft.losses, wire=WIRE)
    if form.schema is not None:
        limits["responseMimeType"] = "application/json"
        limits["responseJsonSchema"] = form.schema
    payload["generationConfig"] = limits | gemini_reasoning(route, able, draft.losses)
    payload |= gemini_options(route, able)
    return finish_rendering(payload, draft, (tools, system, page), wire=WIRE, plan=cache.plan())


def _system(draft: PayloadDraft, cache: Planner) -> Page:
    page = Page("/systemInstruction/parts")
    for region, name in zip(draft.regions, ends(draft.regions), strict=True):
        text = block_text(region)
        if name:
            cache.reach(name, page.here)
        page.trace("/text", text)
        page.add({"text": text.text})
    return page


def _writer(able: Abilities) -> Write:
    signed = able.signed_calls

    def write(page: Page, message: WireMessage) -> None:
        parts: list[dict[str, object]] = []
        traced, number = page.traced, len(page.items)
        for item in message.items:
            if not isinstance(item, Text):
                _part(page, item, parts, able)
                continue
            traced.append((number, f"/parts/{len(parts)}/text", item))
            said: dict[str, object] = {"text": item.text}
            parts.append(_signed(said, item.state) if item.state else said)
        own = message.role == "assistant"
        if own and signed and CallItem in map(type, message.items):
            _sign(page, parts)
        if parts:
            page.add({"role": "model" if own else "user", "parts": parts})

    return write


def _part(
    page: Page,
    item: CallItem | Result | Media | ThoughtItem,
    parts: list[dict[str, object]],
    able: Abilities,
) -> None:
    if isinstance(item, CallItem):
        call: dict[str, object] = {"id": item.id} if able.call_ids else {}
        call["name"] = item.name
        call["args"] = item.arguments
        parts.append(_signed({"functionCall": call}, item.state))
    elif isinstance(item, Result):
        answer: dict[str, object] = {"id": item.id} if able.call_ids else {}
        key = "error" if item.failed else "output"
        answer["name"] = item.name
        answer["response"] = {key: item.text}
        if item.media:
            answer["parts"] = [_media(one) for one in item.media]
        page.trace(f"/parts/{len(parts)}/functionResponse/response/{key}", item)
        parts.append({"functionResponse": answer})
    elif isinstance(item, Media):
        parts.append(_signed(_media(item), item.state))
    elif not item.state.keys().isdisjoint(GEMINI_OWN):
        parts.append(dict(item.state))
    else:
        parts.append(_signed({"text": item.text, "thought": True}, item.state))


def _signed(part: dict[str, object], state: Mapping[str, object]) -> dict[str, object]:
    if found := state.get("thoughtSignature"):
        part["thoughtSignature"] = found
    return part


def _sign(page: Page, parts: list[dict[str, object]]) -> None:
    """The first call of a step needs a signature, whatever those after it carry."""
    first = next((part for part in parts if "functionCall" in part), None)
    if first is None or "thoughtSignature" in first:
        return
    page.losses.append(_UNSIGNED_CALL)
    first["thoughtSignature"] = _UNSIGNED


def _media(item: Media) -> dict[str, object]:
    if item.part.data is None:
        return {"fileData": {"mimeType": item.mime, "fileUri": item.part.url}}
    return {"inlineData": {"mimeType": item.mime, "data": item.base64}}


def _tool(tool: DeclaredTool) -> dict[str, object]:
    return {
        "name": tool.name,
        "description": tool.text or tool.tool.name,  # one is demanded
        "parametersJsonSchema": tool.schema,
    }
