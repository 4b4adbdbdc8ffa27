"""A status window: what the agent says it is doing. A draft before the ledger stamps it, and after.

Drafts come from models, so the guardian judges them as plain JSON; `WindowDraft` is the form they
should have and `StampedWindow` what the ledger made of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from .json import JsonObject
from .value import Value

WindowType: TypeAlias = Literal["planner", "execution", "verification", "degraded"]
Status: TypeAlias = Literal["GREEN", "YELLOW", "RED"]

AUTO = "AUTO"
AUTO_TIME = "metadata (STRICT_SYNC): AUTO"
TIME_PREFIX = "metadata (STRICT_SYNC): "
NO_HASH = "PLACEHOLDER_BACKEND"
UNKNOWN_STEP = "unknown"
UNKNOWN_CYCLE = "0/5"
# Fields by which a window is known, however broken it is otherwise; so many of them are enough.
MARKS = frozenset(
    {
        "actions",
        "confidence",
        "cycle",
        "goal",
        "output_plan",
        "reflection_curve",
        "rule_tangency",
        "step_id",
        "window_hash",
        "window_type",
    }
)
ENOUGH_MARKS = 3
# What becomes of a claim: the act happened; it was named and did not; nobody can say.
Support: TypeAlias = Literal["match", "unsupported", "unverifiable"]


@dataclass(frozen=True, slots=True)
class RuleTangency(Value):
    tangency_detected: bool = False
    notes: str = ""
    checked_rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReflectionCurve(Value):
    delta: str = ""
    correction: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class McpTrigger(Value):
    action: str = "save_to_history"
    target: str = "status_history_manager.py"
    enabled: bool = True
    timestamp: str = AUTO


@dataclass(frozen=True, slots=True)
class WindowDraft(Value):
    """A status window before it is recorded: what an agent says it is about to do.

    Names and sentinels are those of schema version 3.0; `AUTO` is stamped by the ledger."""

    goal: str
    inputs: Mapping[str, object] = field(default_factory=dict[str, object])
    actions: tuple[str, ...] = ()
    risk: tuple[str, ...] = ()
    rule_tangency: RuleTangency = RuleTangency()
    reflection_curve: ReflectionCurve = ReflectionCurve()
    output_plan: tuple[str, ...] = ()
    window_type: WindowType = "planner"
    confidence: float = 0.0
    step_id: str = UNKNOWN_STEP
    cycle: str = UNKNOWN_CYCLE
    time_source: str = AUTO_TIME
    schema_version: str = "3.0"
    window_source: str = "backend_generated"
    system_versions: Mapping[str, object] = field(default_factory=dict[str, object])
    critical_summary: Mapping[str, object] = field(default_factory=dict[str, object])
    project_awareness: Mapping[str, object] = field(default_factory=dict[str, object])
    cycle_backend_controlled: bool = True
    window_hash: str = NO_HASH
    prev_window_hash: str | None = AUTO
    mcp_trigger: McpTrigger = McpTrigger()


@dataclass(frozen=True, slots=True)
class StampedWindow(Value):
    """A window after the ledger wrote time, trigger time, predecessor and hash into it.

    `window` is the whole of it as it was hashed, with every field the draft brought.
    `overwritten` are the places (JSON pointers) where the draft had made up one of those.
    """

    window: JsonObject
    time: str
    prev: str | None
    hash: str
    overwritten: tuple[str, ...] = ()


def is_window(value: Mapping[str, object]) -> bool:
    """Whether a JSON object is a window, wrapped as `{"status_window": {...}}` or not."""
    return len(MARKS & _inner(value).keys()) >= ENOUGH_MARKS


def is_marked(value: Mapping[str, object]) -> bool:
    """Whether it also says so itself. An answer in JSON may have the fields and be none."""
    inner = _inner(value)
    return is_window(value) and (inner is not value or "schema_version" in inner)


def _inner(value: Mapping[str, object]) -> Mapping[str, object]:
    inner = value.get("status_window")
    return cast("Mapping[str, object]", inner) if isinstance(inner, Mapping) else value


@dataclass(frozen=True, slots=True)
class Claim(Value):
    """One action that a window announces; `act` is the act it names, if it names one."""

    text: str
    verdict: Support
    act: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Claims(Value):
    """A window held against what really happened. `unclaimed` are acts that it does not name."""

    verdict: Support
    claims: tuple[Claim, ...] = ()
    unclaimed: tuple[str, ...] = ()
