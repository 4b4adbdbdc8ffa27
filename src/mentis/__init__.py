"""Mentis: git blame for everything your agent was told and did.

Names are loaded when they are first used, so `import mentis` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all the rest here

if TYPE_CHECKING:
    from .act.builtin.channels import CallbackChannel
    from .act.functions import tool
    from .call.scripted import ScriptedProvider
    from .compose.compose import Composed
    from .errors import ActFailed, BudgetReached, MentisError
    from .ledger.bundle import auditor_script
    from .library.load import load_shipped
    from .ports.clock import FixedClock
    from .ports.ids import CountingIds
    from .runtime.acts import open_acts
    from .runtime.agent import Agent
    from .runtime.attachments import attach
    from .runtime.cognition import open_cognition
    from .runtime.cortex.cortex import Ticked
    from .runtime.home_create import create_home
    from .runtime.loop.queue import SenseQueue
    from .runtime.loop.sources import LoopChoice
    from .runtime.memories import open_memories
    from .runtime.parts import Parts
    from .runtime.personas import Personas
    from .runtime.prompts import Prompts
    from .runtime.record import open_record
    from .runtime.record_export import export_record
    from .runtime.route_keys import open_route_keys
    from .runtime.statuses import open_statuses
    from .runtime.toolbox import open_toolbox
    from .runtime.turn import TurnResult
    from .values.act import ActCall, ActSpec
    from .values.action import Action, Outcome
    from .values.assembly import Assembled
    from .values.block import Block
    from .values.cognition import Sense
    from .values.entry import Entry, Uptime, Verdict
    from .values.library import Library
    from .values.memories import MemoryDraft, MemoryFilter
    from .values.part import MediaPart
    from .values.persona import Persona, Profile
    from .values.recalled import Recalled, Stimulus
    from .values.rendering import Rendering
    from .values.reply import Reply
    from .values.request import PromptRequest, ReplyTo, RuntimeContext
    from .values.span import Span
    from .values.stability import Stability
    from .values.tool import ToolDeclaration
    from .values.trace import Trace
    from .values.trust import Trust
    from .values.turn import Turn
    from .values.window import WindowDraft

_HOMES = {
    "ActCall": "values.act",
    "ActFailed": "errors",
    "ActSpec": "values.act",
    "Action": "values.action",
    "Agent": "runtime.agent",
    "Assembled": "values.assembly",
    "Block": "values.block",
    "BudgetReached": "errors",
    "CallbackChannel": "act.builtin.channels",
    "Composed": "compose.compose",
    "CountingIds": "ports.ids",
    "Entry": "values.entry",
    "FixedClock": "ports.clock",
    "Library": "values.library",
    "LoopChoice": "runtime.loop.sources",
    "MediaPart": "values.part",
    "MemoryDraft": "values.memories",
    "MemoryFilter": "values.memories",
    "MentisError": "errors",
    "Outcome": "values.action",
    "Parts": "runtime.parts",
    "Persona": "values.persona",
    "Personas": "runtime.personas",
    "Profile": "values.persona",
    "PromptRequest": "values.request",
    "Prompts": "runtime.prompts",
    "Recalled": "values.recalled",
    "Rendering": "values.rendering",
    "Reply": "values.reply",
    "ReplyTo": "values.request",
    "RuntimeContext": "values.request",
    "ScriptedProvider": "call.scripted",
    "Sense": "values.cognition",
    "SenseQueue": "runtime.loop.queue",
    "Span": "values.span",
    "Stability": "values.stability",
    "Stimulus": "values.recalled",
    "Ticked": "runtime.cortex.cortex",
    "ToolDeclaration": "values.tool",
    "Trace": "values.trace",
    "Trust": "values.trust",
    "Turn": "values.turn",
    "TurnResult": "runtime.turn",
    "Uptime": "values.entry",
    "Verdict": "values.entry",
    "WindowDraft": "values.window",
    "attach": "runtime.attachments",
    "auditor_script": "ledger.bundle",
    "create_home": "runtime.home_create",
    "export_record": "runtime.record_export",
    "load_shipped": "library.load",
    "open_acts": "runtime.acts",
    "open_cognition": "runtime.cognition",
    "open_memories": "runtime.memories",
    "open_record": "runtime.record",
    "open_route_keys": "runtime.route_keys",
    "open_statuses": "runtime.statuses",
    "open_toolbox": "runtime.toolbox",
    "tool": "act.functions",
}

__all__ = (
    "ActCall",
    "ActFailed",
    "ActSpec",
    "Action",
    "Agent",
    "Assembled",
    "Block",
    "BudgetReached",
    "CallbackChannel",
    "Composed",
    "CountingIds",
    "Entry",
    "FixedClock",
    "Library",
    "LoopChoice",
    "MediaPart",
    "MemoryDraft",
    "MemoryFilter",
    "MentisError",
    "Outcome",
    "Parts",
    "Persona",
    "Personas",
    "Profile",
    "PromptRequest",
    "Prompts",
    "Recalled",
    "Rendering",
    "Reply",
    "ReplyTo",
    "RuntimeContext",
    "ScriptedProvider",
    "Sense",
    "SenseQueue",
    "Span",
    "Stability",
    "Stimulus",
    "Ticked",
    "ToolDeclaration",
    "Trace",
    "Trust",
    "Turn",
    "TurnResult",
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
    "open_statuses",
    "open_toolbox",
    "tool",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mentis' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return list(__all__)
