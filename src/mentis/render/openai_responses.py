"""The Responses payload: instructions, and a row of items instead of messages."""

from __future__ import annotations

from mentis.facts.abilities import abilities
from mentis.facts.ability import Abilities
from mentis.values.rendering import Loss, Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route

from .choice import for_responses, wire_tool_choice
from .declaring import DeclaredTool
from .draft import CallItem, Item, Media, PayloadDraft, Result, Text, ThoughtItem, WireMessage
from .finish import finish_rendering
from .layout import block_text, lay_out, system_text
from .options import (
    parallel_calls,
    plain_options,
    responses_comparison,
    responses_reasoning,
    with_server_tools,
)
from .output import answer_form
from .plan import Planner, cache_key, ends, planner
from .writing import Page, write_messages, write_tools

WIRE = "openai-responses"
_ROOT = "/input"
_LEAST_OUTPUT = 16
# Nothing is stored there, so that this is the only form in which a thought can go back.
_ENCRYPTED = "reasoning.encrypted_content"


def render(request: PromptRequest, route: Route) -> Rendering:
    able = abilities(route)
    form = answer_form(request, able, "openai")
    request = form.request
    draft = lay_out(request, route, able, WIRE)
    draft.losses += form.losses
    cache = planner(route, able)
    tools = write_tools(draft, WIRE, "/tools", _tool, dialect="openai")
    if tools.items:
        cache.reach("tools", f"/tools/{len(tools.items) - 1}", markable=False)
    system = _system(draft, able, cache)
    page = write_messages(draft, WIRE, _ROOT, _write, first=len(system.items))
    if page.settled:
        last = page.first + page.settled - 1
        cache.reach("history", f"{_ROOT}/{last}", markable=False)
    payload: dict[str, object] = {"model": route.model}
    if every_tool := with_server_tools(tools.items, route, able):
        payload["tools"] = every_tool
    if not system.items and draft.regions:
        text = system_text(draft.regions)
        payload["instructions"] = text.text
        system.trace_outside("/instructions", text)
    payload["input"] = [*system.items, *page.items]
    payload["max_output_tokens"] = _limit(route, draft.losses)
    payload |= plain_options(route, able, draft.losses, wire=WIRE)
    payload |= responses_reasoning(route, able, draft.losses)
    if form.schema is not None:
        answer = {"type": "json_schema", "name": form.name, "schema": form.schema}
        payload["text"] = {"format": {**answer, "strict": form.strict}}
    if choice := wire_tool_choice(request, draft, able):
        payload["tool_choice"] = for_responses(choice)
    parallel = parallel_calls(route, able, draft.losses, tools=bool(every_tool))
    if parallel is not None:
        payload["parallel_tool_calls"] = parallel
    key = cache_key(draft, route.model) if cache.on else ""
    if key:
        payload["prompt_cache_key"] = key
    if able.encrypted_reasoning:
        payload["include"] = [_ENCRYPTED]
    payload |= responses_comparison(route, able)
    payload |= {"store": False, "stream": True}
    return finish_rendering(payload, draft, (tools, system, page), wire=WIRE, plan=cache.plan(key))


def _limit(route: Route, losses: list[Loss]) -> int:
    if route.max_tokens >= _LEAST_OUTPUT:
        return route.max_tokens
    losses.append(Loss("limit", f"fewer than {_LEAST_OUTPUT} tokens of answer cannot be asked for"))
    return _LEAST_OUTPUT


def _system(draft: PayloadDraft, able: Abilities, cache: Planner) -> Page:
    """As an item of its own where its parts are marked for the cache, else nothing."""
    page = Page(_ROOT)
    parts: list[dict[str, object]] = []
    for region, name in zip(draft.regions, ends(draft.regions), strict=True):
        text = block_text(region)
        part: dict[str, object] = {"type": "input_text", "text": text.text}
        if name and (ttl := cache.reach(name, _pointer(able, len(parts)))):
            part["prompt_cache_breakpoint"] = {"mode": "explicit", "ttl": ttl}
        if able.cache == "openai" and cache.on:
            page.trace(f"/content/{len(parts)}/text", text)
        parts.append(part)
    if parts and able.cache == "openai" and cache.on:
        page.add({"type": "message", "role": "developer", "content": parts})
    return page


def _pointer(able: Abilities, index: int) -> str:
    return f"{_ROOT}/0/content/{index}" if able.cache == "openai" else "/instructions"


def _write(page: Page, message: WireMessage) -> None:
    match message.role:
        case "tool":
            _results(page, message)
        case "assistant":
            _assistant(page, message.items)
        case "user":
            _user(page, message)
        case "system":
            _plain(page, "developer", message.items)


def _plain(page: Page, role: str, items: list[Item]) -> None:
    parts: list[dict[str, object]] = []
    for item in items:
        if type(item) is Text:
            page.trace(f"/content/{len(parts)}/text", item)
            parts.append({"type": "input_text", "text": item.text})
    page.add({"type": "message", "role": role, "content": parts})


def _user(page: Page, message: WireMessage) -> None:
    if len(message.items) == 1 and type(only := message.items[0]) is Text:
        page.trace("/content", only)
        page.add({"type": "message", "role": "user", "content": only.text})
        return
    parts: list[dict[str, object]] = []
    for item in message.items:
        if type(item) is Media:
            parts.append(_media(item))
        elif type(item) is Text:
            page.trace(f"/content/{len(parts)}/text", item)
            parts.append({"type": "input_text", "text": item.text})
    page.add({"type": "message", "role": "user", "content": parts})


def _media(item: Media) -> dict[str, object]:
    part = item.part
    if part.kind == "image":
        url = part.url or item.data_url
        return {"type": "input_image", "detail": "auto", "image_url": url}
    if part.url and part.data is None:
        return {"type": "input_file", "file_url": part.url}
    name = part.name or "document.pdf"
    return {"type": "input_file", "filename": name, "file_data": item.data_url}


def _assistant(page: Page, items: list[Item]) -> None:
    """A thought needs the item it led to right after it, and the state to read it with."""
    for number, item in enumerate(items):
        if type(item) is ThoughtItem:
            followed = any(not isinstance(later, ThoughtItem) for later in items[number + 1 :])
            _thought(page, item, followed=followed)
        elif type(item) is Text:
            _said(page, item)
        elif type(item) is CallItem:
            _call(page, item)


def _said(page: Page, item: Text) -> None:
    if not item.text:
        return
    page.trace("/content", item)
    written: dict[str, object] = {"type": "message", "role": "assistant", "content": item.text}
    if phase := item.state.get("phase"):
        written["phase"] = phase
    page.add(written)


def _call(page: Page, item: CallItem) -> None:
    page.trace("/arguments", item)
    written = {"type": "function_call", "call_id": item.id, "name": item.name}
    page.add({**written, "arguments": item.json})


def _thought(page: Page, item: ThoughtItem, *, followed: bool) -> None:
    state = item.state
    if not followed:
        page.losses.append(Loss("reasoning", "a thought that led to nothing sent is left out"))
        return
    page.add(
        {
            "type": "reasoning",
            "id": state["id"],
            "summary": state.get("summary") or [],
            "encrypted_content": state["encrypted_content"],
        }
    )


def _results(page: Page, message: WireMessage) -> None:
    for item in message.items:
        if type(item) is Result:
            written = {"type": "function_call_output", "call_id": item.id}
            output: object = item.text
            if item.media:
                words = {"type": "input_text", "text": item.text}
                output = [words, *map(_media, item.media)]
            page.trace("/output/0/text" if item.media else "/output", item)
            page.add({**written, "output": output})


def _tool(tool: DeclaredTool) -> dict[str, object]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.text,
        "parameters": tool.schema,
        "strict": tool.strict,
    }
