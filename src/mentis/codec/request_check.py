"""Refuses a request that cannot be: what its types allow, and no renderer could say.

Whoever takes a request from outside or builds one by hand calls it; what is inside is trusted.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from mentis.errors import BadInput
from mentis.values.part import MediaPart, Part, ToolCallPart, ToolResultPart
from mentis.values.request import PromptRequest
from mentis.values.turn import Turn

_MIME = re.compile(r"[\w.+-]+/[\w.+-]+(\s*;.*)?")
# The beginning of the bytes is enough to find them in a text; 48 bytes are 64 characters.
_TELLTALE = 48


def check_request(request: PromptRequest) -> PromptRequest:
    """The request as it is, or `BadInput` with everything that is wrong with it."""
    turns = (*request.conversation_history, *request.continuation)
    problems = [*_tools(request), *_history(turns), *_attachments(request)]
    if not problems:
        return request
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    raise BadInput(
        f"the request cannot be sent: {problems[0]}{more}",
        hint="fix what made the request",
        problems=problems,
    )


def _tools(request: PromptRequest) -> Iterator[str]:
    names = Counter(tool.name for tool in request.tool_declarations)
    for index, tool in enumerate(request.tool_declarations):
        if not tool.name.strip():
            yield f"tool_declarations[{index}]: the tool has no name"
    for name, times in names.items():
        if times > 1 and name.strip():
            yield f"tool_declarations: {times} tools are called {name!r}"
    choice = request.tool_choice
    if choice.mode == "one" and choice.name not in names:
        yield f"tool_choice: the tool {choice.name!r} is not declared"
    if choice.mode != "one" and choice.name:
        yield f"tool_choice: {choice.mode!r} names no tool, and {choice.name!r} is named"


def _history(turns: Iterable[Turn]) -> Iterator[str]:
    turns = tuple(turns)
    called = {p.id for turn in turns for p in turn.parts if isinstance(p, ToolCallPart) and p.name}
    for number, turn in enumerate(turns):
        for index, part in enumerate(turn.parts):
            place = f"conversation_history[{number}].parts[{index}]"
            yield from (f"{place}: {problem}" for problem in _part(part, turn, called))


def _part(part: Part, turn: Turn, called: set[str]) -> Iterator[str]:
    match part:
        case ToolCallPart():
            if not part.id:
                yield "the tool call has no id"
            if not part.name.strip():
                yield "the tool call names no tool"
            if turn.role == "user":
                yield "a tool call stands in a user's turn"
        case ToolResultPart():
            if not part.call_id:
                yield "the tool result has no id of the call it answers"
            if not part.name.strip() and part.call_id not in called:
                yield "the tool result names no tool, and neither does a call with its id"
        case MediaPart():
            yield from _media(part)
        case _:
            pass


def _attachments(request: PromptRequest) -> Iterator[str]:
    texts = [request.current_text]
    if request.reply_to is not None:
        texts.append(request.reply_to.text)
    for index, part in enumerate(request.attachments):
        for problem in _media(part):
            yield f"attachments[{index}]: {problem}"
        if _repeated(part, texts):
            yield f"attachments[{index}]: its bytes stand in the text a second time, as base64"


def _media(part: MediaPart) -> Iterator[str]:
    given = [part.data is not None, bool(part.path), bool(part.url)]
    if sum(given) != 1:
        found = "more than one of them" if any(given) else "neither"
        yield f"the {part.kind} needs bytes, a path or an address, and has {found}"
    if part.data == b"":
        yield f"the {part.kind} has no bytes in it"
    if part.url[:5].casefold() == "data:":
        yield f"the {part.kind} is a data: address; give its bytes instead"
    if not _MIME.fullmatch(part.mime):
        yield f"{part.mime!r} is no media type"
    elif part.kind != "document" and not part.mime.casefold().startswith(f"{part.kind}/"):
        yield f"{part.mime!r} is not the type of an {part.kind}"
    if _repeated(part, [part.extracted]):
        yield f"the bytes of the {part.kind} stand in its extracted text, as base64"


def _repeated(part: MediaPart, texts: Iterable[str]) -> bool:
    if part.data is None or len(part.data) < _TELLTALE:
        return False
    beginning = base64.b64encode(part.data[:_TELLTALE])
    tells = (beginning.decode(), base64.urlsafe_b64encode(part.data[:_TELLTALE]).decode())
    return any(tell in text for text in texts for tell in tells)
