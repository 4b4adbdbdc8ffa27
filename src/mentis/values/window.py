"""A status window: what the agent says it is doing. A draft, before the ledger stamps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .value import Value


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
    timestamp: str = "AUTO"


@dataclass(frozen=True, slots=True)
class StatusWindow(Value):
    """Names and sentinels are those of schema version 3.0; `AUTO` is stamped by the ledger."""

    goal: str
    inputs: Mapping[str, object] = field(default_factory=dict[str, object])
    actions: tuple[str, ...] = ()
    risk: tuple[str, ...] = ()
    rule_tangency: RuleTangency = RuleTangency()
    reflection_curve: ReflectionCurve = ReflectionCurve()
    output_plan: tuple[str, ...] = ()
    window_type: Literal["planner", "execution", "verification", "degraded"] = "planner"
    confidence: float = 0.0
    step_id: str = "unknown"
    cycle: str = "0/5"
    time_source: str = "metadata (STRICT_SYNC): AUTO"
    schema_version: str = "3.0"
    window_source: str = "backend_generated"
    system_versions: Mapping[str, object] = field(default_factory=dict[str, object])
    critical_summary: Mapping[str, object] = field(default_factory=dict[str, object])
    project_awareness: Mapping[str, object] = field(default_factory=dict[str, object])
    cycle_backend_controlled: bool = True
    window_hash: str = "PLACEHOLDER_BACKEND"
    prev_window_hash: str | None = "AUTO"
    mcp_trigger: McpTrigger = McpTrigger()
