"""The Chat Completions payload, which the embedded model and most servers understand."""

from __future__ import annotations

from typing import cast

from mentis.facts.abilities import abilities
from mentis.facts.ability import Abilities
from mentis.values.rendering import Loss, Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route

from .bound import bound_answer
from .choice import check_choice, for_chat, wanted_choice, wire_tool_choice
from .declaring import DeclaredTool
from .draft import (
    CallItem,
    Media,
    PayloadDraft,
    Region,
    Result,
    Text,
    ThoughtItem,
    WireMessage,
    join_texts,
    of,
)
from .finish import finish_rendering, sampling, tag_system
from .layout import block_text, lay_out, system_text
from .memo import remember
from .names import unique_tools
from .options import parallel_calls, with_server_tools
from .output import answer_form
from .plan import Planner, cache_key, ends, planner
from .writing import Page, Write, write_messages, write_tools

WIRE = "openai-chat"
_ROOT = "/messages"


def render(request: PromptRequest, route: Route) -> Rendering:
    """Lay the request out as messages: what lasts first, what changes every turn last."""
    able = abilities(route)
    form = answer_form(request, able, "openai")
    request = form.request
    draft = lay_out(request, route, able, WIRE, may_be_silent=True)
    draft.losses += form.losses
    cache = planner(route, able)
    tools = write_tools(
        draft, WIRE, "/tools", _tool, dialect="openai", described="/function/description"
    )
    if tools.items:
        cache.reach("tools", f"/tools/{len(tools.items) - 1}", markable=False)
    system = _system(draft, able, cache)
    page = write_messages(
        draft,
        (WIRE, able.system_role, able.reasoning_back),
        _ROOT,
        _writer(able),
        first=len(system.items),
    )
    if page.settled:
        last = page.first + page.settled - 1
        cache.reach("history", f"{_ROOT}/{last}", markable=False)
    payload: dict[str, object] = {"model": route.model}
    if every_tool := with_server_tools(tools.items, route, able):
        payload["tools"] = every_tool
    payload["messages"] = [*system.items, *page.items]
    payload |= sampling(route, able, draft.losses, wire=WIRE)
    if form.schema is not None:
        answer = {"name": form.name, "schema": form.schema, "strict": form.strict}
        payload["response_format"] = {"type": "json_schema", "json_schema": answer}
    if binding := _binding(request, able, draft):
        payload |= binding
    elif choice := wire_tool_choice(request, draft, able):
        payload["tool_choice"] = for_chat(choice)
    if able.bound_answers:
        _unstop(payload, draft)
    parallel = parallel_calls(route, able, draft.losses, tools=bool(every_tool))
    if parallel is not None:
        payload["parallel_tool_calls"] = parallel
    key = cache_key(draft, route.model) if cache.on and able.cache in ("key", "openai") else ""
    if key:
        payload["prompt_cache_key"] = key
    payload |= {"stream": True, "stream_options": {"include_usage": True}}
    return finish_rendering(payload, draft, (tools, system, page), wire=WIRE, plan=cache.plan(key))


def _binding(request: PromptRequest, able: Abilities, draft: PayloadDraft) -> dict[str, object]:
    """Where there are no native tools, the answer may be held to the catalogue's form of a call."""
    if able.native_tools or not able.bound_answers or not request.tool_declarations:
        return {}
    tools, choice = unique_tools(request.tool_declarations), wanted_choice(request, draft)
    check_choice(request, choice)
    bound = remember(("bound", choice), tools, lambda: bound_answer(tools, choice))
    draft.losses += bound.losses
    return {"response_format": bound.form}


def _unstop(payload: dict[str, object], draft: PayloadDraft) -> None:
    """An answer that is held to a form ends with it: a stop word might cut it before."""
    if "response_format" in payload and payload.pop("stop", None):
        why = "no stop words: the answer is held to a form, and ends with it"
        draft.losses.append(Loss("option", why, "/stop"))


def _system(draft: PayloadDraft, able: Abilities, cache: Planner) -> Page:
    """One system message; in parts where the end of each is marked for the cache."""
    page = Page(_ROOT)
    if not draft.regions:
        return page
    role = able.system_role or "user"
    marks = _marks(draft.regions, cache)
    if not any(marks):
        text = system_text(draft.regions)
        if not able.system_role:
            text = of(*tag_system(text.spans))
        page.trace("/content", text)
        page.add({"role": role, "content": text.text})
        return page
    parts: list[dict[str, object]] = []
    for index, (region, ttl) in enumerate(zip(draft.regions, marks, strict=True)):
        text = block_text(region)
        part: dict[str, object] = {"type": "text", "text": text.text}
        if ttl:
            part["prompt_cache_breakpoint"] = {"mode": "explicit", "ttl": ttl}
        page.trace(f"/content/{index}/text", text)
        parts.append(part)
    page.add({"role": role, "content": parts})
    return page


def _marks(regions: list[Region], cache: Planner) -> list[str]:
    marks: list[str] = []
    in_parts = cache.on and cache.able.cache_marks > 0
    for number, name in enumerate(ends(regions)):
        pointer = f"{_ROOT}/0/content/{number}" if in_parts else f"{_ROOT}/0/content"
        marks.append(cache.reach(name, pointer) if name else "")
    return marks


def _writer(able: Abilities) -> Write:
    role = able.system_role or "user"

    def write(page: Page, message: WireMessage) -> None:
        match message.role:
            case "tool":
                _results(page, message)
            case "assistant":
                _assistant(page, message, able)
            case "user":
                _user(page, message)
            case "system":
                _plain(page, role, message)

    return write


def _plain(page: Page, role: str, message: WireMessage) -> None:
    text = join_texts(message.texts)
    page.trace("/content", text)
    page.add({"role": role, "content": text.text})


def _user(page: Page, message: WireMessage) -> None:
    if Media not in map(type, message.items):
        _plain(page, "user", message)
        return
    parts: list[dict[str, object]] = []
    for item in message.items:
        if type(item) is Media:
            parts.append(_media(item))
        elif type(item) is Text:
            page.trace(f"/content/{len(parts)}/text", item)
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
        case "document" | "video":  # of which only documents are let through, and as bytes
            name = part.name or "document.pdf"
            return {"type": "file", "file": {"filename": name, "file_data": item.data_url}}


def _assistant(page: Page, message: WireMessage, able: Abilities) -> None:
    calls: list[dict[str, object]] = []
    for item in message.items:
        if type(item) is CallItem:
            page.trace(f"/tool_calls/{len(calls)}/function/arguments", item)
            function = {"name": item.name, "arguments": item.json}
            calls.append({"id": item.id, "type": "function", "function": function})
    texts = message.texts
    thoughts = [item for item in message.items if type(item) is ThoughtItem]
    if not texts and not calls:
        if thoughts:
            page.losses.append(Loss("reasoning", "a thought that led to nothing sent is left out"))
        return
    written: dict[str, object] = {"role": "assistant", "content": None}
    if texts:
        text = join_texts(texts)
        page.trace("/content", text)
        written["content"] = text.text
    if calls:
        written["tool_calls"] = calls
    written |= _thought(page, thoughts, able, called=bool(calls))
    page.add(written)


def _thought(
    page: Page, thoughts: list[ThoughtItem], able: Abilities, *, called: bool
) -> dict[str, object]:
    """Thoughts under the name by which their server told them."""
    plain = [thought for thought in thoughts if "type" in thought.state]
    details, always = _details(thoughts), able.reasoning_back == "always"
    if plain and not details and (always or (able.reasoning_back == "calls" and called)):
        told = "\n\n".join(thought.text for thought in plain)
        return {str(plain[0].state["type"]): told}
    if plain:
        page.losses.append(Loss("reasoning", "a thought that its model does not want is left out"))
    if details:
        return {"reasoning_details": details}
    if not always:
        return {}
    if called:
        page.losses.append(Loss("reasoning", "a call goes back without the thought it came with"))
    return {"reasoning_content": ""}


def _details(thoughts: list[ThoughtItem]) -> list[object]:
    """What a server that thinks aloud in parts wants back, as it came."""
    held = [thought.state.get("reasoning_details") for thought in thoughts]
    return [part for one in held if isinstance(one, list) for part in cast("list[object]", one)]


def _results(page: Page, message: WireMessage) -> None:
    for item in message.items:
        if type(item) is Result:
            page.trace("/content", item)
            page.add({"role": "tool", "tool_call_id": item.id, "content": item.text})


def _tool(tool: DeclaredTool) -> dict[str, object]:
    function: dict[str, object] = {"name": tool.name, "description": tool.text}
    function["parameters"] = tool.schema
    if tool.strict:
        function["strict"] = True
    return {"type": "function", "function": function}
