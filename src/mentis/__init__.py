"""Mentis: git blame for everything your agent was told and did.

Names are loaded when they are first used, so `import mentis` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all the rest here

if TYPE_CHECKING:
    from .act.builtin.channels import CallbackChannel
    from .act.functions import tool
    from .app.agent import Agent
    from .app.record_export import export_record
    from .ask.attachments import attach
    from .compose.compose import Composition
    from .errors import ActFailed, BudgetReached, MentisError, OutputInvalid, SessionBusy
    from .home.create import create_home
    from .home.parts import Parts
    from .home.route_keys import open_route_keys
    from .ledger.bundle import auditor_script
    from .library.load import load_shipped
    from .loop.queue import SenseQueue
    from .loop.sources import LoopChoice
    from .memories.memories import open_memories
    from .prompts.cognition import open_cognition
    from .prompts.personas import Personas
    from .prompts.prompts import Prompts
    from .record.record import open_record
    from .settings.change import open_settings
    from .status.statuses import open_statuses
    from .surfaces.serve.start import serve
    from .tick.cortex import TickResult
    from .tools.acts import open_acts
    from .tools.toolbox import open_toolbox
    from .turn.turn import TurnResult, TypedResult
    from .values.act import ActCall, ActSpec
    from .values.action import Action, Outcome
    from .values.block import Block
    from .values.cognition import Sense
    from .values.entry import Entry, Uptime, Verdict
    from .values.library import Library
    from .values.memories import MemoryDraft, MemoryFilter
    from .values.options import CallOptions
    from .values.part import MediaPart, ToolResultPart
    from .values.persona import Persona, Profile
    from .values.recalled import Stimulus
    from .values.rendering import Rendering
    from .values.reply import (
        AgainDelta,
        CallDelta,
        Delta,
        EndDelta,
        OutputDelta,
        ReasoningDelta,
        Reply,
        ResultDelta,
        StepDelta,
        TextDelta,
    )
    from .values.request import PromptRequest, ReplyTo, RuntimeContext
    from .values.span import Span
    from .values.tool import ToolDeclaration
    from .values.trace import Trace
    from .values.trust import Trust
    from .values.turn import Turn
    from .values.window import WindowDraft
    from .web.tokens import open_tokens

_HOMES = {
    "ActCall": "values.act",
    "ActFailed": "errors",
    "ActSpec": "values.act",
    "Action": "values.action",
    "AgainDelta": "values.reply",
    "Agent": "app.agent",
    "Block": "values.block",
    "BudgetReached": "errors",
    "CallDelta": "values.reply",
    "CallOptions": "values.options",
    "CallbackChannel": "act.builtin.channels",
    "Composition": "compose.compose",
    "Delta": "values.reply",
    "EndDelta": "values.reply",
    "Entry": "values.entry",
    "Library": "values.library",
    "LoopChoice": "loop.sources",
    "MediaPart": "values.part",
    "MemoryDraft": "values.memories",
    "MemoryFilter": "values.memories",
    "MentisError": "errors",
    "Outcome": "values.action",
    "OutputDelta": "values.reply",
    "OutputInvalid": "errors",
    "Parts": "home.parts",
    "Persona": "values.persona",
    "Personas": "prompts.personas",
    "Profile": "values.persona",
    "PromptRequest": "values.request",
    "Prompts": "prompts.prompts",
    "ReasoningDelta": "values.reply",
    "Rendering": "values.rendering",
    "Reply": "values.reply",
    "ReplyTo": "values.request",
    "ResultDelta": "values.reply",
    "RuntimeContext": "values.request",
    "Sense": "values.cognition",
    "SenseQueue": "loop.queue",
    "SessionBusy": "errors",
    "Span": "values.span",
    "StepDelta": "values.reply",
    "Stimulus": "values.recalled",
    "TextDelta": "values.reply",
    "TypedResult": "turn.turn",
    "TickResult": "tick.cortex",
    "ToolDeclaration": "values.tool",
    "ToolResultPart": "values.part",
    "Trace": "values.trace",
    "Trust": "values.trust",
    "Turn": "values.turn",
    "TurnResult": "turn.turn",
    "Uptime": "values.entry",
    "Verdict": "values.entry",
    "WindowDraft": "values.window",
    "attach": "ask.attachments",
    "auditor_script": "ledger.bundle",
    "create_home": "home.create",
    "export_record": "app.record_export",
    "load_shipped": "library.load",
    "open_acts": "tools.acts",
    "open_cognition": "prompts.cognition",
    "open_memories": "memories.memories",
    "open_record": "record.record",
    "open_route_keys": "home.route_keys",
    "open_settings": "settings.change",
    "open_statuses": "status.statuses",
    "open_tokens": "web.tokens",
    "open_toolbox": "tools.toolbox",
    "serve": "surfaces.serve.start",
    "tool": "act.functions",
}

__all__ = (
    "ActCall",
    "ActFailed",
    "ActSpec",
    "Action",
    "AgainDelta",
    "Agent",
    "Block",
    "BudgetReached",
    "CallDelta",
    "CallOptions",
    "CallbackChannel",
    "Composition",
    "Delta",
    "EndDelta",
    "Entry",
    "Library",
    "LoopChoice",
    "MediaPart",
    "MemoryDraft",
    "MemoryFilter",
    "MentisError",
    "Outcome",
    "OutputDelta",
    "OutputInvalid",
    "Parts",
    "Persona",
    "Personas",
    "Profile",
    "PromptRequest",
    "Prompts",
    "ReasoningDelta",
    "Rendering",
    "Reply",
    "ReplyTo",
    "ResultDelta",
    "RuntimeContext",
    "Sense",
    "SenseQueue",
    "SessionBusy",
    "Span",
    "StepDelta",
    "Stimulus",
    "TextDelta",
    "TickResult",
    "ToolDeclaration",
    "ToolResultPart",
    "Trace",
    "Trust",
    "Turn",
    "TurnResult",
    "TypedResult",
    "Uptime",
    "Verdict",
    "WindowDraft",
    "attach",
    "auditor_script",
    "create_home",
    "export_record",
    "load_shipped",
    "open_acts",
    "open_cognition",
    "open_memories",
    "open_record",
    "open_route_keys",
    "open_settings",
    "open_statuses",
    "open_tokens",
    "open_toolbox",
    "serve",
    "tool",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mentis' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return list(__all__)
