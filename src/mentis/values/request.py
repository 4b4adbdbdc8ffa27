"""The frozen, provider-neutral prompt: what every renderer starts from."""

from __future__ import annotations

from dataclasses import dataclass

from .block import Mode
from .part import MediaPart
from .span import Span
from .tool import ToolDeclaration
from .turn import Turn
from .value import Value


@dataclass(frozen=True, slots=True)
class RuntimeContext(Value):
    """Facts about this one turn. Renderers keep it out of every cached region."""

    username: str = ""
    interface: str = ""
    language: str = ""
    timestamp: str = ""
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyTo(Value):
    """The earlier message the current one answers."""

    text: str
    author: str = ""
    timestamp: str = ""


@dataclass(frozen=True, slots=True)
class PromptRequest(Value):
    """Regions go stable, session, turn: system, tools, summary, history, then the current turn."""

    system_instruction: tuple[Span, ...] = ()
    tool_declarations: tuple[ToolDeclaration, ...] = ()
    context_summary: tuple[Span, ...] = ()
    conversation_history: tuple[Turn, ...] = ()
    current_text: str = ""
    runtime_ctx: RuntimeContext = RuntimeContext()
    attachments: tuple[MediaPart, ...] = ()
    reply_to: ReplyTo | None = None
    mode: Mode = "chat"
