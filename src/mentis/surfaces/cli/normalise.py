"""`mentis normalise`: a recorded answer, brought to one form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .files import read_bytes
from .output import say
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.values.reply import Reply

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini", "text")


@click.command(epilog="For example: mentis normalise answer.sse --provider anthropic --json")
@click.argument("file", metavar="FILE")
@click.option(
    "--provider", type=click.Choice(WIRES), required=True, help="The wire format of the answer."
)
@click.option(
    "--tool",
    "tools",
    multiple=True,
    metavar="NAME",
    help="A tool that was offered; give it once for each. Calls in plain text count only then.",
)
@prints_report
def normalise(file: str, *, provider: str, tools: tuple[str, ...]) -> Report:
    """Convert a recorded answer from any wire format to one common form.

    FILE holds server-sent events, JSON lines, one JSON body or plain text; - is standard input.
    Exit code 1 when the answer holds an error of the provider, was cut off, or holds nothing that
    can be used.
    """
    from mentis.call.recorded_events import events_of
    from mentis.settle.actions import to_actions
    from mentis.settle.readers import read_all, reader_for
    from mentis.values.tool import ToolDeclaration

    offered = [ToolDeclaration(name, "") for name in tools] or None
    events = events_of(_decoded(read_bytes(file), file), provider)
    reply = read_all(reader_for(provider, tools=offered), events)
    usable = reply.text or reply.actions or reply.reasoning or reply.parts
    if not usable and not reply.errors:
        say(f"error: nothing in {file} is an answer of {provider}; is the format another?")
    if usable and reply.stop == "cut_off":
        say(f"error: {file} ends before the answer does; what is there was read")
    code = 1 if reply.stop in ("error", "cut_off") or not usable else 0
    return Report({"reply": reply, **to_actions(reply)}, _lines(reply), code=code)


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        say(f"note: {file} is not UTF-8 at byte {error.start}; what is not was replaced")
        return data.decode("utf-8", "replace")


def _lines(reply: Reply) -> Iterator[Text]:
    if reply.reasoning:
        yield Note(f"reasoning: {reply.reasoning}")
    if reply.text:
        yield reply.text
    if reply.actions:
        rows = [
            (action.type, action.call_id, action.origin, _json(action.payload))
            for action in reply.actions
        ]
        yield TextTable(("action", "call", "origin", "payload"), rows)
    for error in reply.errors:
        yield Note(f"error: {error.message} [{error.code}]")
    for note in reply.notes:
        yield Note(f"note: {note.message} [{note.code}]")
    yield Note(_end(reply))


def _end(reply: Reply) -> str:
    words = [f"stop: {reply.stop}", *([reply.model] if reply.model else [])]
    if reply.usage is not None:
        used = reply.usage
        words.append(f"{used.input} tokens in ({used.cache_read} from cache), {used.output} out")
    return " · ".join(words)


def _json(payload: object) -> str:
    return json.dumps(payload, ensure_ascii=False)
