"""The Chat Completions payload, which the embedded model and most servers understand."""

from __future__ import annotations

from mentis.errors import RenderError
from mentis.facts.abilities import abilities
from mentis.facts.ability import Abilities
from mentis.values.rendering import Fragment, Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span, join_spans
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .draft import Call, Draft, Media, Message, Region, Result, Text, spaced
from .finish import described, finished, sampling, tagged
from .layout import block_spans, lay_out, system_spans
from .plan import Planner, cache_key, ends, planner
from .schemas import lower_schema
from .writing import Page, Write, write_messages, write_tools

WIRE = "openai-chat"
_ROOT = "/messages"


def render(request: PromptRequest, route: Route) -> Rendering:
    """Lay the request out as messages: what lasts first, what changes every turn last."""
    able = abilities(route)
    draft = lay_out(request, route, able, WIRE, may_be_silent=True)
    cache = planner(route, able)
    tools = write_tools(draft, WIRE, "/tools", _tool)
    if tools.items:
        cache.reach("tools", f"/tools/{len(tools.items) - 1}", tools.characters, markable=False)
    system = _system(draft, able, cache)
    page = write_messages(
        draft, (WIRE, able.system_role), _ROOT, _writer(able), first=len(system.items)
    )
    if page.settled:
        last = page.first + page.settled - 1
        cache.reach("history", f"{_ROOT}/{last}", page.settled_characters, markable=False)
    payload: dict[str, object] = {"model": route.model}
    if tools.items:
        payload["tools"] = tools.items
    payload["messages"] = [*system.items, *page.items]
    payload |= sampling(route, able, draft.losses)
    key = cache_key(draft, route.model) if cache.on and able.cache in ("key", "openai") else ""
    if key:
        payload["prompt_cache_key"] = key
    payload |= {"stream": True, "stream_options": {"include_usage": True}}
    return finished(payload, draft, (tools, system, page), wire=WIRE, plan=cache.plan(key))


def _system(draft: Draft, able: Abilities, cache: Planner) -> Page:
    """One system message; in parts where the end of each is marked for the cache."""
    page = Page(_ROOT)
    if not draft.regions:
        return page
    role = able.system_role or "user"
    marks = _marks(draft.regions, cache)
    if not any(marks):
        spans = system_spans(draft.regions)
        if not able.system_role:
            spans = tagged(spans)
        page.trace("/content", spans)
        page.add({"role": role, "content": join_spans(spans)})
        return page
    parts: list[dict[str, object]] = []
    for index, (region, ttl) in enumerate(zip(draft.regions, marks, strict=True)):
        spans = block_spans(region)
        part: dict[str, object] = {"type": "text", "text": join_spans(spans)}
        if ttl:
            part["prompt_cache_breakpoint"] = {"mode": "explicit", "ttl": ttl}
        page.trace(f"/content/{index}/text", spans)
        parts.append(part)
    page.add({"role": role, "content": parts})
    return page


def _marks(regions: list[Region], cache: Planner) -> list[str]:
    marks: list[str] = []
    in_parts = cache.on and cache.able.cache_marks > 0
    for number, (region, name) in enumerate(zip(regions, ends(regions), strict=True)):
        pointer = f"{_ROOT}/0/content/{number}" if in_parts else f"{_ROOT}/0/content"
        characters = sum(len(span.text) for span in region.spans)
        if name is None:
            cache.skip(characters)
            marks.append("")
        else:
            marks.append(cache.reach(name, pointer, characters))
    return marks


def _writer(able: Abilities) -> Write:
    role = able.system_role or "user"

    def write(page: Page, message: Message) -> None:
        match message.role:
            case "tool":
                _results(page, message)
            case "assistant":
                _assistant(page, message)
            case "user":
                _user(page, message)
            case "system":
                spans = spaced(message.texts)
                page.trace("/content", spans)
                page.add({"role": role, "content": join_spans(spans)})

    return write


def _user(page: Page, message: Message) -> None:
    if not any(type(item) is Media for item in message.items):
        spans = spaced(message.texts)
        page.trace("/content", spans)
        page.add({"role": "user", "content": join_spans(spans)})
        return
    parts: list[dict[str, object]] = []
    for item in message.items:
        if isinstance(item, Media):
            parts.append(_media(item))
        elif isinstance(item, Text):
            page.trace(f"/content/{len(parts)}/text", item.spans)
            parts.append({"type": "text", "text": item.text})
    page.add({"role": "user", "content": parts})


def _media(item: Media) -> dict[str, object]:
    part = item.part
    match part.kind:
        case "image":
            return {"type": "image_url", "image_url": {"url": part.url or item.data_url}}
        case "audio":
            form = "wav" if "wav" in item.mime else "mp3"
            return {"type": "input_audio", "input_audio": {"data": item.base64, "format": form}}
        case "document":
            if part.data is None:
                raise RenderError(
                    f"this wire format carries documents as bytes, not by address: {part.url!r}",
                    hint="fetch the document and attach its bytes",
                )
            name = part.name or "document.pdf"
            return {"type": "file", "file": {"filename": name, "file_data": item.data_url}}


def _assistant(page: Page, message: Message) -> None:
    calls: list[dict[str, object]] = []
    for item in message.items:
        if isinstance(item, Call):
            span = Span(item.json, source=f"call of {item.name}", trust=Trust.SELF)
            page.trace(f"/tool_calls/{len(calls)}/function/arguments", (span,))
            function = {"name": item.name, "arguments": item.json}
            calls.append({"id": item.id, "type": "function", "function": function})
    texts = message.texts
    if not texts and not calls:
        return
    written: dict[str, object] = {"role": "assistant", "content": None}
    if texts:
        spans = spaced(texts)
        page.trace("/content", spans)
        written["content"] = join_spans(spans)
    if calls:
        written["tool_calls"] = calls
    page.add(written)


def _results(page: Page, message: Message) -> None:
    for item in message.items:
        if isinstance(item, Result):
            page.trace("/content", (item.span,))
            page.add({"role": "tool", "tool_call_id": item.id, "content": item.span.text})


def _tool(page: Page, tool: ToolDeclaration, name: str) -> None:
    lowered = lower_schema(tool, "openai")
    page.losses += lowered.losses
    page.characters += len(lowered.schema.encoded())
    span = described(tool, lowered.note)
    page.trace("/function/description", (span,))
    function = Fragment(name=name, description=span.text, parameters=lowered.schema)
    page.add({"type": "function", "function": function})
