"""Renderers against a hand-written builder of the same dicts: 40 turns, 30 tools, 8 KB, 1 image.

The builder does nothing but build: no pairing, no names, no schemas, no map, no plan. It encodes
the picture, and writes arguments as JSON where the format wants that, for nobody can do without.
Memory is what a rendering and its body hold, with all that is remembered for the next turn, as a
multiple of the body.
"""

from __future__ import annotations

import atexit
import gc
import json
import tracemalloc
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeAlias, cast

from mentis.render import memo
from mentis.render.wires import render_for
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.fragment import Fragment
from mentis.values.part import MediaPart, TextPart, ToolCallPart, ToolResultPart
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

from .harness import Pair, Run, benchmark, weight

Build: TypeAlias = Callable[[PromptRequest], Mapping[str, object]]
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400
ROUTES = {
    "openai-chat": Route("r", "openai", "gpt-5.6", max_tokens=256),
    "openai-responses": Route("r", "openai-responses", "gpt-5.6", max_tokens=256),
    "anthropic": Route("r", "anthropic", "claude-opus-5", max_tokens=256),
    "gemini": Route("r", "gemini", "gemini-3-pro", max_tokens=256),
}


def conversation() -> PromptRequest:
    """New objects each time: nothing can be remembered of them."""
    turns: list[Turn] = []
    for number in range(10):
        call = ToolCallPart(f"call-{number}", f"tool_{number}", {"word": "size"})
        turns += [
            Turn("user", (TextPart("What do you make of this? " * 8),)),
            Turn("assistant", (TextPart("Let me see."), call)),
            Turn("user", (ToolResultPart(f"call-{number}", f"tool_{number}", "a size " * 20),)),
            Turn("assistant", (TextPart("It is about as large as it looks. " * 8),)),
        ]
    return PromptRequest(
        system_instruction=tuple(Span("Say what you saw first. " * 17) for _ in range(20)),
        tool_declarations=tuple(tool(number) for number in range(30)),
        conversation_history=tuple(turns),
        current_text="And this?",
        attachments=(MediaPart("image", "image/png", PICTURE, name="a.png"),),
    )


def tool(number: int) -> ToolDeclaration:
    word = {"type": "string", "description": "The word to look up."}
    limit = {"type": "integer", "minimum": 1}
    properties = {"word": word, "limit": limit}
    schema = {"type": "object", "properties": properties, "required": ["word"]}
    return ToolDeclaration(f"tool_{number}", f"Look word {number} up. " * 5, schema)


def _text(turn: Turn) -> str:
    return cast("TextPart", turn.parts[0]).text


def build_chat(request: PromptRequest) -> Mapping[str, object]:
    system = "".join([span.text for span in request.system_instruction])
    messages: list[dict[str, object]] = [{"role": "system", "content": system}]
    for turn in request.conversation_history:
        first, last = turn.parts[0], turn.parts[-1]
        if type(last) is ToolCallPart:
            function = {"name": last.name, "arguments": json.dumps(last.arguments)}
            calls = [{"id": last.id, "type": "function", "function": function}]
            messages.append({"role": turn.role, "content": _text(turn), "tool_calls": calls})
        elif type(first) is ToolResultPart:
            answer = {"role": "tool", "tool_call_id": first.call_id, "content": first.text}
            messages.append({**answer})
        else:
            messages.append({"role": turn.role, "content": _text(turn)})
    url = f"data:image/png;base64,{_picture(request)}"
    image = {"type": "image_url", "image_url": {"url": url}}
    content = [image, {"type": "text", "text": request.current_text}]
    messages.append({"role": "user", "content": content})
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in request.tool_declarations
    ]
    return {"model": "gpt-5.6", "tools": tools, "messages": messages, "stream": True}


def build_responses(request: PromptRequest) -> Mapping[str, object]:
    items: list[dict[str, object]] = []
    for turn in request.conversation_history:
        first, last = turn.parts[0], turn.parts[-1]
        if type(first) is ToolResultPart:
            answer = {"type": "function_call_output", "call_id": first.call_id}
            items.append({**answer, "output": first.text})
            continue
        items.append({"type": "message", "role": turn.role, "content": _text(turn)})
        if type(last) is ToolCallPart:
            call = {"type": "function_call", "call_id": last.id, "name": last.name}
            items.append({**call, "arguments": json.dumps(last.arguments)})
    url = f"data:image/png;base64,{_picture(request)}"
    text = {"type": "input_text", "text": request.current_text}
    content = [{"type": "input_image", "detail": "auto", "image_url": url}, text]
    items.append({"type": "message", "role": "user", "content": content})
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in request.tool_declarations
    ]
    system = "".join([span.text for span in request.system_instruction])
    return {"model": "gpt-5.6", "tools": tools, "instructions": system, "input": items}


def build_anthropic(request: PromptRequest) -> Mapping[str, object]:
    messages: list[dict[str, object]] = []
    for turn in request.conversation_history:
        first, last = turn.parts[0], turn.parts[-1]
        if type(last) is ToolCallPart:
            call = {"type": "tool_use", "id": last.id, "name": last.name, "input": last.arguments}
            blocks = [{"type": "text", "text": _text(turn)}, call]
        elif type(first) is ToolResultPart:
            result = {"type": "tool_result", "tool_use_id": first.call_id, "content": first.text}
            blocks = [result]
        else:
            blocks = [{"type": "text", "text": _text(turn)}]
        messages.append({"role": turn.role, "content": blocks})
    source = {"type": "base64", "media_type": "image/png", "data": _picture(request)}
    text = {"type": "text", "text": request.current_text}
    messages.append({"role": "user", "content": [{"type": "image", "source": source}, text]})
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in request.tool_declarations
    ]
    system = "".join([span.text for span in request.system_instruction])
    blocks = [{"type": "text", "text": system}]
    return {"model": "claude", "tools": tools, "system": blocks, "messages": messages}


def build_gemini(request: PromptRequest) -> Mapping[str, object]:
    contents: list[dict[str, object]] = []
    for turn in request.conversation_history:
        first, last = turn.parts[0], turn.parts[-1]
        if type(last) is ToolCallPart:
            call = {"id": last.id, "name": last.name, "args": last.arguments}
            contents.append(
                {"role": "model", "parts": [{"text": _text(turn)}, {"functionCall": call}]}
            )
        elif type(first) is ToolResultPart:
            response = {"output": first.text}
            answer = {"id": first.call_id, "name": first.name, "response": response}
            contents.append({"role": "user", "parts": [{"functionResponse": answer}]})
        else:
            role = "model" if turn.role == "assistant" else "user"
            contents.append({"role": role, "parts": [{"text": _text(turn)}]})
    image = {"inlineData": {"mimeType": "image/png", "data": _picture(request)}}
    contents.append({"role": "user", "parts": [image, {"text": request.current_text}]})
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": tool.parameters,
        }
        for tool in request.tool_declarations
    ]
    system = "".join([span.text for span in request.system_instruction])
    return {
        "tools": [{"functionDeclarations": tools}],
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": contents,
    }


def _picture(request: PromptRequest) -> str:
    return b64encode(request.attachments[0].data or b"").decode("ascii")


BUILDERS: Mapping[str, Build] = {
    "openai-chat": build_chat,
    "openai-responses": build_responses,
    "anthropic": build_anthropic,
    "gemini": build_gemini,
}


def first(wire: str, request: PromptRequest) -> Run:
    """Everything anew: nothing is remembered of any rendering before."""

    def run() -> object:
        memo.forget()
        return render_for(wire, request, ROUTES[wire])

    return run


def next_turn(wire: str, request: PromptRequest) -> Run:
    """The conversation goes on: the same history, tools and picture, other words."""
    numbers = count()

    def run() -> object:
        changed = replace(request, current_text=f"And this, {next(numbers)}?")
        return render_for(wire, changed, ROUTES[wire])

    return run


def first_render(wire: str) -> Pair:
    request, build = conversation(), BUILDERS[wire]
    return first(wire, request), lambda: build(request)


def next_render(wire: str) -> Pair:
    request, build, numbers = conversation(), BUILDERS[wire], count()

    def theirs() -> object:
        return build(replace(request, current_text=f"And this, {next(numbers)}?"))

    return next_turn(wire, request), theirs


def stored_render(wire: str) -> Pair:
    """As an agent does it: the history is read from the database on every turn.

    The builder is given it, and reads nothing.
    """
    request, build, numbers = conversation(), BUILDERS[wire], count()
    folder = mkdtemp()
    atexit.register(rmtree, folder)
    store = SqliteLedger(Database(Path(folder) / "mentis.db"))
    for turn in request.conversation_history:
        store.add_turn("ada", "main", turn)

    def ours() -> object:
        history = store.turns("ada", "main")
        text = f"And this, {next(numbers)}?"
        changed = replace(request, conversation_history=history, current_text=text)
        return render_for(wire, changed, ROUTES[wire])

    def theirs() -> object:
        return build(replace(request, current_text=f"And this, {next(numbers)}?"))

    return ours, theirs


def warm_body(wire: str) -> Pair:
    rendering = render_for(wire, conversation(), ROUTES[wire])
    rendering.body()
    pieces = [piece for item in rendering.payload.values() for piece in _pieces(item)]
    return rendering.body, lambda: b",".join(pieces)


def _pieces(value: Any) -> list[bytes]:  # noqa: ANN401  # JSON
    if isinstance(value, Fragment):
        return [value.encode()]
    if isinstance(value, list):
        return [piece for item in cast("list[object]", value) for piece in _pieces(item)]
    return [json.dumps(value).encode()]


def memory(wire: str) -> tuple[int, int]:
    """What a rendering and its body hold, with all that is remembered of them; and the body."""
    request = conversation()
    render_for(wire, request, ROUTES[wire]).body()  # what is loaded and kept once does not count
    memo.forget()
    gc.collect()
    tracemalloc.start()
    rendering = render_for(wire, request, ROUTES[wire])
    body = rendering.body()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held, len(body)


for _wire in ROUTES:
    benchmark(f"render {_wire}, first", against="hand-written dicts", gate=3)(
        lambda wire=_wire: first_render(wire)
    )
    benchmark(f"render {_wire}, next turn", against="hand-written dicts", gate=1.5)(
        lambda wire=_wire: next_render(wire)
    )
    benchmark(
        f"render {_wire}, next turn through the store", against="hand-written dicts", gate=1.5
    )(lambda wire=_wire: stored_render(wire))
    benchmark(f"body {_wire}, warm", against="join its pieces", gate=20)(
        lambda wire=_wire: warm_body(wire)
    )
    weight(f"memory {_wire}", against="its body", gate=3)(lambda wire=_wire: memory(wire))
