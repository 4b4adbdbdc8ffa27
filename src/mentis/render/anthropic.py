"""The Messages payload."""

from __future__ import annotations

from typing import cast

from mentis.facts.abilities import abilities
from mentis.values.rendering import Fragment, Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import join_spans
from mentis.values.tool import ToolDeclaration

from .draft import Call, Draft, Item, Media, Message, Result, Text, Thought
from .finish import described, finished, wishes
from .layout import block_spans, lay_out
from .plan import Planner, ends, planner
from .schemas import lower_schema
from .writing import Page, write_messages, write_tools

WIRE = "anthropic"
_ROOT = "/messages"


def render(request: PromptRequest, route: Route) -> Rendering:
    able = abilities(route)
    draft = lay_out(request, route, able, WIRE)
    cache = planner(route, able)
    tools = write_tools(draft, WIRE, "/tools", _tool)
    written_tools = _mark_tools(tools, cache)
    system = _system(draft, cache)
    page = write_messages(draft, WIRE, _ROOT, _write)
    _mark_history(page, cache)
    payload: dict[str, object] = {"model": route.model}
    if written_tools:
        payload["tools"] = written_tools
    if system.items:
        payload["system"] = system.items
    payload["messages"] = page.items
    payload["max_tokens"] = route.max_tokens
    payload |= wishes(route, able, draft.losses)
    payload["stream"] = True
    return finished(payload, draft, (tools, system, page), wire=WIRE, plan=cache.plan())


def _mark(ttl: str) -> dict[str, object]:
    """The default lifetime is not written out."""
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def _mark_tools(tools: Page, cache: Planner) -> list[Fragment]:
    if not tools.items:
        return []
    last = len(tools.items) - 1
    ttl = cache.reach("tools", f"/tools/{last}", tools.characters)
    if not ttl:
        return tools.items
    return [*tools.items[:-1], Fragment({**tools.items[-1], "cache_control": _mark(ttl)})]


def _system(draft: Draft, cache: Planner) -> Page:
    page = Page("/system")
    for region, name in zip(draft.regions, ends(draft.regions), strict=True):
        spans = block_spans(region)
        text = join_spans(spans)
        block: dict[str, object] = {"type": "text", "text": text}
        if name is None:
            cache.skip(len(text))
        elif ttl := cache.reach(name, page.here, len(text)):
            block["cache_control"] = _mark(ttl)
        page.trace("/text", spans)
        page.add(block)
    return page


def _mark_history(page: Page, cache: Planner) -> None:
    """The last block of settled history that may carry a mark gets it, in a copy of its message."""
    for index in range(page.settled - 1, -1, -1):
        blocks = cast("list[dict[str, object]]", page.items[index]["content"])
        for number in range(len(blocks) - 1, -1, -1):
            if blocks[number]["type"] in ("thinking", "redacted_thinking"):
                continue
            pointer = f"{_ROOT}/{index}/content/{number}"
            if ttl := cache.reach("history", pointer, page.settled_characters):
                marked = {**blocks[number], "cache_control": _mark(ttl)}
                content = [*blocks[:number], marked, *blocks[number + 1 :]]
                page.items[index] = Fragment({**page.items[index], "content": content})
            return


def _write(page: Page, message: Message) -> None:
    role = "user" if message.role == "tool" else message.role
    blocks: list[dict[str, object]] = []
    for item in message.items:
        _block(page, item, blocks)
    if blocks:
        page.add({"role": role, "content": blocks})


def _block(page: Page, item: Item, blocks: list[dict[str, object]]) -> None:
    here = f"/content/{len(blocks)}"
    match item:
        case Text():
            if item.text.strip():
                page.trace(f"{here}/text", item.spans)
                blocks.append({"type": "text", "text": item.text})
        case Media():
            blocks.append(_media(item))
        case Call():
            written = {"type": "tool_use", "id": item.id, "name": item.name}
            blocks.append({**written, "input": item.arguments})
        case Result():
            page.trace(f"{here}/content", (item.span,))
            written = {"type": "tool_result", "tool_use_id": item.id}
            result: dict[str, object] = {**written, "content": item.span.text}
            blocks.append({**result, "is_error": True} if item.failed else result)
        case Thought():
            blocks.append(_thought(item))


def _thought(item: Thought) -> dict[str, object]:
    """As it came, even when it is empty: the signature is what counts."""
    if signature := item.state.get("signature"):
        return {"type": "thinking", "thinking": item.text, "signature": signature}
    return {"type": "redacted_thinking", "data": item.state["data"]}


def _media(item: Media) -> dict[str, object]:
    part = item.part
    if part.data is None:
        source: dict[str, object] = {"type": "url", "url": part.url}
    else:
        source = {"type": "base64", "media_type": item.mime, "data": item.base64}
    if part.kind == "image":
        return {"type": "image", "source": source}
    block: dict[str, object] = {"type": "document", "source": source}
    return {**block, "title": part.name} if part.name else block


def _tool(page: Page, tool: ToolDeclaration, name: str) -> None:
    lowered = lower_schema(tool, "anthropic")
    page.losses += lowered.losses
    page.characters += len(lowered.schema.encoded())
    span = described(tool, lowered.note)
    page.trace("/description", (span,))
    page.add({"name": name, "description": span.text, "input_schema": lowered.schema})
