"""The Messages payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from mentis.facts.abilities import abilities
from mentis.facts.ability import Abilities
from mentis.values.rendering import Loss, Rendering
from mentis.values.request import PromptRequest, ToolChoice
from mentis.values.route import Route

from .choice import for_anthropic, wire_tool_choice
from .declaring import DeclaredTool
from .draft import CallItem, Media, PayloadDraft, Result, Text, ThoughtItem, WireMessage
from .finish import finish_rendering
from .layout import block_text, lay_out
from .options import (
    anthropic_comparison,
    anthropic_reasoning,
    parallel_calls,
    plain_options,
    with_server_tools,
)
from .output import answer_form
from .plan import Planner, ends, planner
from .writing import Page, write_messages, write_tools

WIRE = "anthropic"
_ROOT = "/messages"
_NO_INPUT: Mapping[str, object] = {"input": {}}


def render(request: PromptRequest, route: Route) -> Rendering:
    able = abilities(route)
    form = answer_form(request, able, "anthropic")
    request = form.request
    draft = lay_out(request, route, able, WIRE)
    draft.losses += form.losses
    cache = planner(route, able)
    tools = write_tools(draft, WIRE, "/tools", _tool, dialect="anthropic")
    written_tools = _mark_tools(tools, cache)
    system = _system(draft, cache)
    page = write_messages(draft, WIRE, _ROOT, _write)
    _mark_history(page, cache)
    payload: dict[str, object] = {"model": route.model}
    if every_tool := with_server_tools(written_tools, route, able):
        payload["tools"] = every_tool
    if system.items:
        payload["system"] = system.items
    payload["messages"] = page.items
    payload["max_tokens"] = route.max_tokens
    payload |= plain_options(route, able, draft.losses, wire=WIRE)
    payload |= anthropic_reasoning(route, able, draft.losses)
    if form.schema is not None:
        config = cast("dict[str, object]", payload.get("output_config", {}))
        answer = {"type": "json_schema", "schema": form.schema}
        payload["output_config"] = {**config, "format": answer}
    choice = wire_tool_choice(request, draft, _while_thinking(able, payload))
    parallel = parallel_calls(route, able, draft.losses, tools=bool(every_tool))
    if choice or parallel is not None:
        payload["tool_choice"] = for_anthropic(choice or ToolChoice(), parallel)
    payload |= anthropic_comparison(route, able)
    payload["stream"] = True
    return finish_rendering(payload, draft, (tools, system, page), wire=WIRE, plan=cache.plan())


def _while_thinking(able: Abilities, payload: Mapping[str, object]) -> Abilities:
    """A model that thinks by a budget lets nobody force a tool."""
    thinking = payload.get("thinking")
    budget = isinstance(thinking, dict) and "budget_tokens" in thinking
    return replace(able, forced_tool_choice=False) if budget else able


def _mark(ttl: str) -> dict[str, object]:
    """The default lifetime is not written out."""
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def _mark_tools(tools: Page, cache: Planner) -> list[dict[str, object]]:
    if not tools.items:
        return []
    last = len(tools.items) - 1
    ttl = cache.reach("tools", f"/tools/{last}")
    if not ttl:
        return tools.items
    return [*tools.items[:-1], {**tools.items[-1], "cache_control": _mark(ttl)}]


def _system(draft: PayloadDraft, cache: Planner) -> Page:
    page = Page("/system")
    for region, name in zip(draft.regions, ends(draft.regions), strict=True):
        text = block_text(region)
        block: dict[str, object] = {"type": "text", "text": text.text}
        if name and (ttl := cache.reach(name, page.here)):
            block["cache_control"] = _mark(ttl)
        page.trace("/text", text)
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
            if ttl := cache.reach("history", pointer):
                marked = {**blocks[number], "cache_control": _mark(ttl)}
                content = [*blocks[:number], marked, *blocks[number + 1 :]]
                page.items[index] = {**page.items[index], "content": content}
            return


def _write(page: Page, message: WireMessage) -> None:
    role = "user" if message.role == "tool" else message.role
    blocks: list[dict[str, object]] = []
    traced, number = page.traced, len(page.items)
    for item in message.items:
        if not isinstance(item, Text):
            _block(page, item, blocks)
        elif item.text and not item.text.isspace():
            traced.append((number, f"/content/{len(blocks)}/text", item))
            blocks.append({"type": "text", "text": item.text})
    if len(blocks) > 1 and ThoughtItem in map(type, message.items):
        blocks = _paired(page, blocks)
    if blocks:
        page.add({"role": role, "content": blocks})


def _paired(page: Page, blocks: list[dict[str, object]]) -> list[dict[str, object]]:
    """Blocks of the provider's own tools go back in pairs only: a use and its result."""
    uses = {block["id"] for block in blocks if block["type"] == "server_tool_use"}
    results = {block["tool_use_id"] for block in blocks if "tool_use_id" in block}
    lone = uses ^ results
    if not lone:
        return blocks
    page.losses.append(Loss("reasoning", "half of a server tool's work is left out"))
    return [b for b in blocks if b.get("tool_use_id", b.get("id")) not in lone]


def _block(
    page: Page, item: CallItem | Result | Media | ThoughtItem, blocks: list[dict[str, object]]
) -> None:
    if isinstance(item, CallItem):
        blocks.append(
            {"type": "tool_use", "id": item.id, "name": item.name, "input": item.arguments}
        )
    elif isinstance(item, Result):
        content: object = item.text
        where = f"/content/{len(blocks)}/content"
        if item.media:
            words = [{"type": "text", "text": item.text}] if item.text.strip() else []
            content = [*words, *map(_media, item.media)]
            where = f"{where}/0/text" if words else ""
        if where:
            page.trace(where, item)
        result: dict[str, object] = {
            "type": "tool_result",
            "tool_use_id": item.id,
            "content": content,
        }
        if item.failed:
            result["is_error"] = True
        blocks.append(result)
    elif isinstance(item, Media):
        blocks.append(_media(item))
    else:
        blocks.append(_thought(item))


def _thought(item: ThoughtItem) -> dict[str, object]:
    """As it came, even when it is empty: the signature is what counts."""
    if signature := item.state.get("signature"):
        return {"type": "thinking", "thinking": item.text, "signature": signature}
    if "data" in item.state:
        return {"type": "redacted_thinking", "data": item.state["data"]}
    return {**_NO_INPUT, **item.state} if "id" in item.state else dict(item.state)


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


def _tool(tool: DeclaredTool) -> dict[str, object]:
    written: dict[str, object] = {
        "name": tool.name,
        "description": tool.text,
        "input_schema": tool.schema,
    }
    if tool.strict:
        written["strict"] = True
    return written
