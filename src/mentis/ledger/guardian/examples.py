"""For every rule a program checks, the smallest change of a good window that passes or breaks it.

`mentis guardian explain` shows them, and the tests run them. A change sets what it names; None in
`window` takes the field away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mentis.codec.plain import plain_value
from mentis.values.guardian import GuardianState, Receipt, Routes
from mentis.values.json import JsonObject
from mentis.values.window import TIME_PREFIX, ReflectionCurve, RuleTangency, WindowDraft

HASH = "a" * 64
PREV = "b" * 64
TIME = "2026-01-01T00:00:00.000000+00:00"
_OFF = Routes(watcher=False, cli=False)
LINE = f"[OK] Added to history: {HASH[:16]}... (total: 2)"


@dataclass(frozen=True, slots=True)
class Change:
    """What differs from the good window: fields by JSON pointer, state and facts, an answer."""

    window: Mapping[str, object] = field(default_factory=dict[str, object])
    state: Mapping[str, object] = field(default_factory=dict[str, object])
    commit: Mapping[str, object] = field(default_factory=dict[str, object])
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    answer: str | None = None

    def to_object(self) -> dict[str, object]:
        """Only what was changed, for a person to read."""
        parts = {name: dict(getattr(self, name)) for name in ("window", "state", "commit", "facts")}
        said: dict[str, object] = {name: part for name, part in parts.items() if part}
        return said if self.answer is None else {**said, "answer": self.answer}


@dataclass(frozen=True, slots=True)
class Example:
    breaks: Change
    passes: Change = Change()


def good_window() -> JsonObject:
    """A window that every profile lets pass in a healthy state."""
    draft = WindowDraft(
        goal="Find out whether the address list is complete",
        inputs={
            "request": "Is the list complete?",
            "context": {"architecture_awareness": "one list", "resurrection_ref": "entry 1"},
        },
        actions=("Read the list", "Compare it with the members"),
        risk=("The member file may be older",),
        rule_tangency=RuleTangency(
            notes="nothing near a rule",
            checked_rules=("Identity: the home's own agent", "Report only what was seen"),
        ),
        reflection_curve=ReflectionCurve(delta="one entry more", next="Name what is missing"),
        output_plan=("The answer in one sentence", "What is missing"),
        window_type="execution",
        confidence=0.8,
        step_id="step-1",
        cycle="2/5",
        system_versions={"list": "2"},
        critical_summary={"status": "GREEN"},
        project_awareness={"members": 12},
    )
    return plain_value(draft, "WindowDraft")


def good_state() -> GuardianState:
    before = {"step_id": "step-1", "cycle": "1/5"}
    return GuardianState(step=1, cycle=2, since_audit=1, head=PREV, head_time=TIME, previous=before)


def apply_changes(window: JsonObject, changes: Mapping[str, object]) -> JsonObject:
    """The window with the fields at these JSON pointers set, or taken away where None is given."""
    fresh: dict[str, Any] = json.loads(json.dumps(window))
    for pointer, value in changes.items():
        *holders, key = pointer.strip("/").split("/")
        holder = fresh
        for name in holders:
            holder = holder[name]
        if value is None:
            holder.pop(key, None)
        else:
            holder[key] = value
    return fresh


_RISKS = ["one", "two", "three", "four"]
_VERIFYING = {"/window_type": "verification", "/actions": ["Verify the list"]}
_PLANNING = {"/window_type": "planner", "/actions": ["Plan the answer"]}
_OFFLINE = {"routes": _OFF}
_BREACH = {"after_breach": True}
_ENDED = {"previous": {"step_id": "step-1", "cycle": "5/5"}, "step": 2, "cycle": 1}
_SURE = {"previous": {"step_id": "step-1", "cycle": "1/5", "confidence": 0.8}}
_AUDIT = {"since_audit": 5}
_RED = {"/critical_summary": {"status": "RED"}}


def _without(pointer: str) -> Example:
    return Example(Change({pointer: None}))


def _as(pointer: str, value: object) -> Example:
    return Example(Change({pointer: value}))


EXAMPLES: Mapping[str, Example] = {
    "S2-WIN-PRESENT": Example(Change(answer="Two are missing.")),
    "S2-WIN-FIRST": Example(
        Change(answer="Here you are: {window}"), Change(answer="```json\n{window}\n```\nTwo.")
    ),
    "S2-FIELD-GOAL": _as("/goal", "  "),
    "S2-FIELD-INPUTS": _without("/inputs"),
    "S2-FIELD-ACTIONS": _as("/actions", ["Read", 7]),
    "S2-FIELD-RISK": Example(Change({"/risk": None}), Change({"/risk": []})),
    "S2-FIELD-TANGENCY": _as("/rule_tangency/tangency_detected", "no"),
    "S2-FIELD-REFLECTION": _without("/reflection_curve/next"),
    "S2-FIELD-PLAN": _as("/output_plan", "an answer"),
    "S2-FIELD-TYPE": _as("/window_type", "banana"),
    "S2-FIELD-CONF": Example(Change({"/confidence": True}), Change({"/confidence": 1})),
    "S2-FIELD-TRIGGER": _without("/mcp_trigger"),
    "S2-TRIG-ENABLED": _as("/mcp_trigger/enabled", "true"),
    "S2-TRIG-ACTION": _without("/mcp_trigger/action"),
    "S2-TRIG-TARGET": _as("/mcp_trigger/target", ""),
    "S2-TYPES": _as("/system_versions", "3.0"),
    "S2-CONST-SCHEMA": _as("/schema_version", "9.9"),
    "S2-CONST-SOURCE": _as("/window_source", "agent"),
    "S2-CONST-CYCLECTL": _as("/cycle_backend_controlled", 1),
    "S2-FIELD-STEP": _without("/step_id"),
    "S2-FIELD-CYCLE": Example(Change({"/cycle": "6/5"}), Change({"/cycle": "0/5"})),
    "S2-STATE-UNKNOWN": Example(
        Change({"/step_id": "unknown"}), Change({"/step_id": "unknown", **_RED})
    ),
    "S2-FAKE-TIME": Example(
        Change({"/time_source": f"{TIME_PREFIX}{TIME}"}), Change({"/time_source": "...: AUTO"})
    ),
    "S2-FAKE-TRIGTIME": Example(
        Change({"/mcp_trigger/timestamp": TIME}), Change({"/mcp_trigger/timestamp": None})
    ),
    "S2-HASH-DRAFT": _as("/window_hash", HASH),
    "S2-PREV-DRAFT": Example(
        Change({"/prev_window_hash": HASH}), Change({"/prev_window_hash": PREV})
    ),
    "S2-PLACEHOLDER": Example(
        Change({"/output_plan": ["The answer", "..."]}),
        Change({"/output_plan": ["The answer, in three dots..."]}),
    ),
    "S2-HASH-FINAL": _as("/window_hash", HASH.upper()),
    "S2-HASH-RECOMPUTE": Example(Change(commit={"recomputed": PREV})),
    "S2-CHAIN-LINK": Example(
        Change({"/prev_window_hash": HASH}),
    ),
    "S2-CHRONOS-FORM": _as("/time_source", "metadata (STRICT_SYNC): AUTO"),
    "S2-CHRONOS-FRESH": Example(
        Change(commit={"now": "2026-01-01T00:05:01+00:00"}),
        Change(commit={"now": "2026-01-01T00:05:00+00:00"}),
    ),
    "S2-PATH": Example(Change(facts={"path": "elsewhere.json"})),
    "S2-ATOMIC": Example(Change(facts={"steps": ("temp", "replace")})),
    "S2-PLUS-ONE": Example(Change(facts={"after": 3})),
    "S2-ONE-CONSUMER": Example(Change(facts={"consumers": ("watcher", "monitor")})),
    "S2-HEALTH": Example(
        Change(state=_OFFLINE), Change(state={"routes": Routes(watcher=False, cli=True)})
    ),
    "S2-HEALTH-STATUS": Example(Change(state=_OFFLINE), Change(_RED, _OFFLINE)),
    "S2-HEALTH-CONF": Example(Change(state=_OFFLINE), Change({"/confidence": 0.0}, _OFFLINE)),
    "S2-HEALTH-RISK": Example(
        Change(state=_OFFLINE), Change({"/risk": ["Persistence offline"]}, _OFFLINE)
    ),
    "S2-HEALTH-PLAN": Example(
        Change(state=_OFFLINE), Change({"/output_plan": ["Start the watcher"]}, _OFFLINE)
    ),
    "S2-FOUNDATION": _without("/confidence"),
    "S2-X-CORR-CONF": Example(
        Change({"/reflection_curve/correction": "Count anew"}, _SURE),
        Change({"/reflection_curve/correction": "Count anew", "/confidence": 0.7}, _SURE),
    ),
    "S2-X-LOWCONF": Example(
        Change({"/confidence": 0.4}),
        Change({"/confidence": 0.4, "/reflection_curve/correction": "Ask first"}),
    ),
    "S2-X-RISK3": Example(
        Change({"/risk": _RISKS[:3]}), Change({"/risk": _RISKS[:3], "/confidence": 0.7})
    ),
    "S2-X-HICONF": Example(
        Change({"/risk": _RISKS[:2], "/confidence": 0.95}), Change({"/confidence": 0.95})
    ),
    "S2-H-RISKSCALE": Example(
        Change({"/risk": _RISKS, "/confidence": 0.7}), Change({"/risk": _RISKS, "/confidence": 0.6})
    ),
    "S2-H-TANGCONF": Example(
        Change({"/rule_tangency/tangency_detected": True}),
        Change({"/rule_tangency/tangency_detected": True, "/confidence": 0.6}),
    ),
    "S2-H-TANGSTATUS": Example(
        Change({"/rule_tangency/tangency_detected": True}),
        Change({"/rule_tangency/tangency_detected": True, **_RED}),
    ),
    "S2-H-VERACT": Example(Change({"/window_type": "verification"}), Change(_VERIFYING)),
    "S2-H-VERCONF": Example(
        Change({**_VERIFYING, "/confidence": 0.6}), Change({**_VERIFYING, "/confidence": 0.7})
    ),
    "S2-H-PLANACT": Example(Change({"/window_type": "planner"}), Change(_PLANNING)),
    "S2-H-PLANLEN": Example(
        Change({**_PLANNING, "/output_plan": ["The answer"]}), Change(_PLANNING)
    ),
    "S2-DOOM": Example(
        Change({"/goal": None}),
        Change({"/goal": None, "/confidence": 0.0, "/output_plan": ["Recover the goal"], **_RED}),
    ),
    "S2-IDENTITY": Example(Change({"/rule_tangency/checked_rules": ["Report only facts"]})),
    "S2-CYCLE-RESET": Example(
        Change(state=_ENDED), Change({"/step_id": "step-2", "/cycle": "1/5"}, _ENDED)
    ),
    "S2-AUDIT6": Example(Change(state=_AUDIT), Change({"/actions": ["Audit the rules"]}, _AUDIT)),
    "S2-GUARDIAN": Example(Change(facts={"audited": False})),
    "S2-BREACH-STATUS": Example(Change(state=_BREACH), Change(_RED, _BREACH)),
    "S2-BREACH-ACT": Example(
        Change(state=_BREACH), Change({"/actions": ["Start the recovery"]}, _BREACH)
    ),
    "S2-BREACH-PLAN": Example(
        Change(state=_BREACH), Change({"/output_plan": ["Repair the chain"]}, _BREACH)
    ),
    "S2-VERIFY": Example(Change(facts={"verified": False})),
    "S2-ACK": Example(
        Change(facts={"receipt": Receipt("", 1, 2, verified=True)}),
        Change(facts={"receipt": Receipt(LINE, 1, 2)}),
    ),
    "S2-ACK-UNSURE": Example(
        Change(state={"receipt": Receipt("", 1, 2)}),
        Change(
            {"/critical_summary/status": "YELLOW", "/output_plan": ["Recover the last window"]},
            {"receipt": Receipt("", 1, 2)},
        ),
    ),
    "S2-DECEIT": _as("/window_hash", HASH),
    "S2-W-RISKEMPTY": _as("/risk", []),
    "S2-W-VERSIONS": _as("/system_versions", {}),
    "S2-W-SUMMARY": _without("/critical_summary"),
    "S2-W-AWARE": _as("/project_awareness", {}),
    "S2-W-ARCH": _without("/inputs/context/architecture_awareness"),
    "S2-W-RESURRECT": _without("/inputs/context/resurrection_ref"),
    "S2-W-FACTSPLIT": Example(Change(facts={"mixed": ("She likes tea",)})),
    "S2-W-AUTONOMY": Example(Change(facts={"unclaimed": ("send_mail",)})),
    "S2-W-WORTH": Example(Change(facts={"overridden": ("S2-TRUTH",)})),
    "S2-W-LATER": Example(
        Change(answer="{window}\nI will send you the rest later."),
        Change(answer="{window}\nI have sent you the rest."),
    ),
    "S2-W-ORDER": Example(
        Change(answer='{window}\n{"mcp_trigger": {"enabled": true}}\nAnd one more thing.'),
        Change(answer='{window}\nTwo.\n{"mcp_trigger": {"enabled": true}}'),
    ),
    "S2-W-CHECKED": _as("/rule_tangency/checked_rules", []),
    "MENTIS-PLACE": _as("/cycle", "4/5"),
    "MENTIS-DEGRADED": Example(
        Change({"/window_type": "degraded"}),
        Change(
            {
                "/window_type": "degraded",
                "/confidence": 0.2,
                "/risk": ["SYS_ERR: the record is down"],
                "/output_plan": ["Restore the record"],
            }
        ),
    ),
}
