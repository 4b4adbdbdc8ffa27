"""The finite abstraction of windows and states: dimensions, and a concrete window at each point.

Rules compare numbers with limits and look for words, so every limit with a number on each side
of it, and each word with and without, stand for all windows. What no rule reads has one value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise, product
from typing import TypeAlias, cast

from mentis.codec.plain import plain_value
from mentis.values.guardian import AUDIT_EVERY, GuardianProfile, GuardianState, Receipt, Routes
from mentis.values.json import JsonObject
from mentis.values.window import (
    UNKNOWN_CYCLE,
    UNKNOWN_STEP,
    ReflectionCurve,
    RuleTangency,
    WindowDraft,
)

Point: TypeAlias = Mapping[str, object]

# What the world decides. `risks` are those the agent has found; some rules ask for one more.
SITUATION = ("offline", "breach", "audit", "tangency", "reset", "unknown", "unsure", "risks")
WORDS: Mapping[str, str] = {
    "offline": "persistence offline",
    "breach": "after a breach",
    "audit": "audit due",
    "tangency": "tangency",
    "reset": "after 5/5",
    "unknown": "state unknown",
    "unsure": "receipt unsure",
}
# From ten risks on the scale allows 0.0, whatever their number.
RISKS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
_VERBS: Mapping[str, str] = {
    "plan": "Plan the answer",
    "verify": "Verify the result",
    "audit": "Audit the rules",
    "recover": "Start the recovery",
}
_RESTORE = "Restore the route and repair the chain"
_EXTRA: Mapping[str, str] = {"offline": "Persistence offline", "error": "SYS_ERR: record down"}

# Which dimensions a field of the window, or of the state, is made from.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "window_type": ("type",),
    "confidence": ("confidence",),
    "critical_summary": ("status",),
    "actions": ("verbs",),
    "output_plan": ("plan",),
    "risk": ("risks", "extra"),
    "reflection_curve/correction": ("correction",),
    "rule_tangency/tangency_detected": ("tangency",),
    "rule_tangency/checked_rules": ("checked",),
    "step_id": ("place", "reset", "unknown"),
    "cycle": ("place", "reset", "unknown"),
    "inputs": ("context",),
    "system_versions": ("context",),
    "project_awareness": ("context",),
}
STATE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "routes": ("offline",),
    "offline": ("offline",),
    "after_breach": ("breach",),
    "since_audit": ("audit",),
    "audit_due": ("audit",),
    "previous": ("reset",),
    "known": ("unknown",),
    "step": ("reset",),
    "cycle": ("reset",),
    "step_id": ("reset", "unknown"),
    "cycle_text": ("reset", "unknown"),
    "receipt": ("unsure",),
    "unsure": ("unsure",),
}


def dimensions(profile: GuardianProfile) -> dict[str, tuple[object, ...]]:
    """Every dimension with its values; the first one is the plainest."""
    flags: dict[str, tuple[object, ...]] = dict.fromkeys(WORDS, (False, True))
    return {
        **flags,
        "risks": RISKS,
        "type": profile.types,
        # Those that rules tie together stand together: a dead end is met early.
        "extra": tuple(_subsets(tuple(_EXTRA))),
        "confidence": _confidences(profile),
        "correction": (False, True),
        "checked": (False, True),
        "verbs": tuple(_subsets(tuple(_VERBS))),
        "place": ("ledger", "unknown", "before"),
        "status": ("GREEN", "YELLOW", "RED", None),
        "plan": _plans(profile),
        "context": (False, True),
    }


def _confidences(profile: GuardianProfile) -> tuple[float, ...]:
    """Every limit, and one number between each two of them."""
    limits = profile.limits
    marks = {
        0.0,
        1.0,
        limits.verification_floor,
        limits.tangency_cap,
        limits.risk_cap,
        limits.low,
        limits.high,
        limits.degraded_cap,
        *(max(0, 10 - count) / 10 for count in RISKS),
    }
    inside = sorted(mark for mark in marks if 0.0 <= mark <= 1.0)
    between = [(low + high) / 2 for low, high in pairwise(inside)]
    return tuple(sorted((*inside, *between), reverse=True))


def _plans(profile: GuardianProfile) -> tuple[object, ...]:
    counts = sorted({0, 1, profile.limits.planner_items - 1, profile.limits.planner_items})
    return tuple(product([count for count in counts if count >= 0], (False, True)))


def _subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Few words first, so that a witness says no more than it must."""
    picks = product((False, True), repeat=len(names))
    chosen = [tuple(n for n, take in zip(names, pick, strict=True) if take) for pick in picks]
    return sorted(chosen, key=len)


def situation_words(point: Point) -> str:
    """The situation, in words a person would use."""
    said = [words for name, words in WORDS.items() if point[name]]
    risks = point["risks"]
    if risks:
        said.append(f"{risks} risks" if risks != 1 else "1 risk")
    return ", ".join(said) or "healthy"


def state_at(point: Point) -> GuardianState:
    return _state(*(bool(point[name]) for name in WORDS))


@lru_cache(maxsize=256)
def _state(*flags: bool) -> GuardianState:
    on = dict(zip(WORDS, flags, strict=True))
    up = not on["offline"]
    return GuardianState(
        step=2 if on["reset"] else 1,
        cycle=1 if on["reset"] else 2,
        known=not on["unknown"],
        since_audit=AUDIT_EVERY - 1 if on["audit"] else 0,
        routes=Routes(watcher=up, cli=up),
        after_breach=on["breach"],
        head="0" * 64,
        previous={
            "step_id": "step-1",
            "cycle": "5/5" if on["reset"] else "1/5",
            "confidence": 0.7,
        },
        receipt=Receipt() if on["unsure"] else None,
    )


def window_at(point: Point, base: JsonObject) -> JsonObject:
    """The concrete window at a point, as a draft would bring it."""
    window = dict(base)
    for pointer, build in BUILD.items():
        holder, _, key = pointer.rpartition("/")
        if holder:
            window[holder] = {**cast("JsonObject", window[holder]), key: build(point)}
        else:
            window[key] = build(point)
    return window


def base_window(profile: GuardianProfile) -> dict[str, object]:
    """What every window of the abstraction shares."""
    draft = WindowDraft(
        goal="Find out whether the list is complete",
        rule_tangency=RuleTangency(notes="looked at"),
        reflection_curve=ReflectionCurve(delta="longer than before", next="name what is missing"),
        schema_version=(*profile.schema_versions, "3.0")[0],
    )
    return plain_value(draft, "WindowDraft")


def _risk(point: Point) -> list[str]:
    own = [f"The list may be old ({number})" for number in range(cast("int", point["risks"]))]
    return [*own, *(_EXTRA[name] for name in cast("tuple[str, ...]", point["extra"]))]


def _plan(point: Point) -> list[str]:
    count, restores = cast("tuple[int, bool]", point["plan"])
    parts = [f"Part {number} of the answer" for number in range(1, count + 1)]
    return [*parts, _RESTORE] if restores else parts


def _place(point: Point) -> tuple[str, str]:
    state = state_at(point)
    if point["place"] == "unknown":
        return UNKNOWN_STEP, UNKNOWN_CYCLE
    if point["place"] == "before" and state.previous is not None:
        return str(state.previous["step_id"]), str(state.previous["cycle"])
    return state.step_id, state.cycle_text


def _checked(point: Point) -> list[str]:
    return ["Identity: this agent", "Report only what was seen"] if point["checked"] else []


def _inputs(point: Point) -> dict[str, object]:
    context = {"architecture_awareness": "one part", "resurrection_ref": "entry 1"}
    return {"context": context if point["context"] else {}}


def _known(point: Point) -> dict[str, object]:
    return {"list": "second edition"} if point["context"] else {}


# How the fields that differ between points are made.
BUILD: Mapping[str, Callable[[Point], object]] = {
    "window_type": lambda point: point["type"],
    "confidence": lambda point: point["confidence"],
    "critical_summary": lambda point: {"status": point["status"]} if point["status"] else {},
    "actions": lambda point: [
        "Read the list",
        *(_VERBS[verb] for verb in cast("tuple[str, ...]", point["verbs"])),
    ],
    "output_plan": _plan,
    "risk": _risk,
    "reflection_curve/correction": lambda point: "look again" if point["correction"] else "",
    "rule_tangency/tangency_detected": lambda point: point["tangency"],
    "rule_tangency/checked_rules": _checked,
    "step_id": lambda point: _place(point)[0],
    "cycle": lambda point: _place(point)[1],
    "inputs": _inputs,
    "system_versions": _known,
    "project_awareness": _known,
}
