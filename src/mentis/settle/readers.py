"""Which reader reads which wire format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from mentis.errors import UsageError
from mentis.facts.ability import Calls
from mentis.values.reply import Delta, Reply
from mentis.values.tool import ToolDeclaration

from .anthropic import AnthropicReader
from .expected import Expectation
from .gemini import GeminiReader
from .openai_chat import ChatReader
from .openai_responses import ResponsesReader
from .output import AnswerByCall
from .text import InText, NamedInText, PlainReader
from .thoughts import Thinking
from .window import WindowHoldback, Withholding


class Reader(Protocol):
    """Takes the events of one answer in their order and makes the reply of them."""

    def feed(self, event: str) -> tuple[Delta, ...]: ...

    def take(self, event: str) -> None:
        """An event of an answer that nobody listens to: what could be told of it is not asked."""
        ...

    def rest(self) -> tuple[Delta, ...]:
        """After the last event: what was held back until it was known to be no call."""
        ...

    def finish(self, *, interrupted: bool = False) -> Reply: ...


READERS: Mapping[str, Callable[[Expectation], Reader]] = {
    "openai-chat": ChatReader,
    "openai-responses": ResponsesReader,
    "anthropic": AnthropicReader,
    "gemini": GeminiReader,
    "text": PlainReader,
}


def reader_for(  # noqa: PLR0913  # each has its own name; a bundle would only hide them
    wire: str,
    names: Mapping[str, str] | None = None,
    *,
    tools: Sequence[ToolDeclaration] | None = None,
    model: str = "",
    place: str = "",
    calls: Calls = "native",
    doorway: str = "",
    opening: WindowHoldback | None = None,
    output: str | None = None,
) -> Reader:
    """A fresh reader. `names` leads from the name on the wire to our own (`Rendering.name_map`).

    `tools` are the ones offered, () when there were none, None when nobody knows; `model` is the
    one that was asked for; `place` is where the conversation is held (`interface_path`); `calls`
    is how this model makes them (`Abilities.calls`). `doorway` is the tool that calls others by
    name, if one is declared; `opening` takes the window that the answer opens with, where one was
    asked for. `output` is the tool that gives the final answer, one of `tools`; empty where the
    words themselves are held to a form, None where the answer has none.
    """
    if wire not in READERS:
        raise UsageError(
            f"no answers are read from {wire!r}", hint=f"one of: {', '.join(READERS)}", wire=wire
        )
    offered = None if tools is None else tuple(tools)
    expected = Expectation(dict(names or {}), offered, model, place, doorway)
    reader: Reader = Thinking(READERS[wire](expected))
    if opening is not None:
        reader = Withholding(reader, opening)
    if calls == "native" and wire != "text":
        # Words that are held to a form are no call, whatever their keys are called.
        reader = NamedInText(reader, expected) if offered and output != "" else reader
    else:
        reader = InText(reader, expected, bound=calls == "bound" and bool(offered))
    return AnswerByCall(reader, output) if output else reader


def read_all(reader: Reader, events: Iterable[str]) -> Reply:
    """A whole answer at once."""
    for event in events:
        reader.take(event)
    return reader.finish()
