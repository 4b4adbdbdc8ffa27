"""The frozen, provider-neutral prompt: what every renderer starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .block import Mode
from .output import OutputSchema
from .part import MediaPart
from .span import Span
from .tool import ToolDeclaration
from .turn import Turn
from .value import LATE, Value

HistoryScope: TypeAlias = Literal["local", "recent", "unified"]


@dataclass(frozen=True, slots=True)
class RuntimeContext(Value):
    """Facts about this one turn, and what is told in this one turn only (`spans`).

    Renderers keep it out of every cached region, and the exact time (`timestamp`) out of the text.
    What is empty is not known. `scope` says whose past the history shows: this conversation's
    (`local`), a few recent ones (`recent`) or all of them as one (`unified`).
    """

    username: str = ""
    usertag: str = ""
    interface_name: str = ""
    interface_path: str = ""
    message_id: str = ""
    chat_type: Literal["", "dm", "group"] = ""
    addressee_note: str = ""
    timestamp: str = ""
    time_of_day: str = ""
    input_source: Literal["text", "voice"] = "text"
    voice_channel_id: str = ""
    scope: HistoryScope = "local"
    language: str = ""
    tone: str = ""
    emotions: str = ""
    is_beat: bool = False
    beat_type: str = ""
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyTo(Value):
    """The earlier message the current one answers. The model is shown it."""

    text: str
    author: str = ""
    timestamp: str = ""
    tag: str = ""
    message_id: str = ""

    @property
    def attributed_text(self) -> str:
        """The words, after the name of whoever said them."""
        who = " ".join(filter(None, (self.author, self.tag and f"({self.tag})")))
        return f"{who}: {self.text}" if who else self.text

    def quote(self) -> str:
        """Its words as lines of a quotation, with who said them."""
        return quote_lines(self.attributed_text)


def quote_lines(text: str) -> str:
    """Every line of it marked as somebody else's."""
    return "\n".join(f"> {line}" for line in text.splitlines()) or ">"


@dataclass(frozen=True, slots=True)
class ToolChoice(Value):
    """Tools may be used (`auto`), may not be (`none`), must be (`required`), or `name` must be."""

    mode: Literal["auto", "none", "required", "one"] = "auto"
    name: str = ""


@dataclass(frozen=True, slots=True)
class PromptRequest(Value):
    """Regions go stable, session, turn: system, tools, summary, history, then the current turn.

    `prefill` is how the answer is to begin, after everything else. `words` are the library's, in
    the language spoken, for what a renderer has to tell the model about the payload itself: what
    was not sent, which call has no result. `continuation` is what followed the current text in the
    same turn: calls, and their results. `output` is the form of the final answer, if it has one.
    """

    system_instruction: tuple[Span, ...] = ()
    tool_declarations: tuple[ToolDeclaration, ...] = ()
    context_summary: tuple[Span, ...] = ()
    conversation_history: tuple[Turn, ...] = ()
    current_text: str = ""
    runtime_ctx: RuntimeContext = RuntimeContext()
    attachments: tuple[MediaPart, ...] = ()
    reply_to: ReplyTo | None = None
    mode: Mode = "chat"
    tool_choice: ToolChoice = ToolChoice()
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    prefill: tuple[Span, ...] = ()
    continuation: tuple[Turn, ...] = field(default=(), metadata=LATE)
    output: OutputSchema | None = field(default=None, metadata=LATE)
