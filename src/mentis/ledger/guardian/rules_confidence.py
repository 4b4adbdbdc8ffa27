"""Rules that tie confidence to risks, rules touched and the type of the window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from .case import Case, Check, Fault, Rule
from .reading import (
    array_at,
    confidence_of,
    does,
    object_at,
    status_of,
    tangent,
    text_at,
    texts_at,
)
from .rules_health import offline_cap
from .words import says

_MANY = 2  # more risks than this and confidence is capped


def _risks(case: Case) -> int:
    return len(array_at(case.window, "risk"))


def risk_scale(count: int) -> float:
    """1 - 0.1 * n, without the rounding noise of that product."""
    return max(0, 10 - count) / 10


def _corrected(case: Case) -> Iterator[Fault]:
    """Below the limit a correction is owed anyhow, and a cap may hold the number where it is."""
    confidence = confidence_of(case.window)
    correction = text_at(object_at(case.window, "reflection_curve"), "correction")
    before = confidence_of(case.state.previous or {})
    if confidence is None or confidence < case.profile.limits.low or confidence != before:
        return
    if re.search(r"\w", correction) and not says(correction, "none"):
        what = f"a correction is made and the confidence is {confidence:g} as before"
        yield Fault("/confidence", what)


def _explained(case: Case) -> Iterator[Fault]:
    confidence = confidence_of(case.window)
    correction = text_at(object_at(case.window, "reflection_curve"), "correction")
    low = case.profile.limits.low
    if confidence is not None and confidence < low and not correction.strip():
        yield Fault("/reflection_curve/correction", f"confidence is below {low:g} without one")


def _above(case: Case, cap: float, because: str) -> Iterator[Fault]:
    confidence = confidence_of(case.window)
    if confidence is not None and confidence > cap:
        yield Fault("/confidence", f"{because}: {confidence:g} is more than {cap:g}")


def _risk_cap(case: Case) -> Iterator[Fault]:
    if (count := _risks(case)) > _MANY:
        yield from _above(case, case.profile.limits.risk_cap, f"{count} risks")


def _few_risks(case: Case) -> Iterator[Fault]:
    confidence = confidence_of(case.window)
    high = case.profile.limits.high
    if confidence is not None and confidence > high and _risks(case) > 1:
        yield Fault("/confidence", f"more than {high:g} with {_risks(case)} risks")


def _risk_scale(case: Case) -> Iterator[Fault]:
    if (count := _risks(case)) > _MANY:
        yield from _above(case, risk_scale(count), f"{count} risks")


def _tangency_cap(case: Case) -> Iterator[Fault]:
    if tangent(case.window):
        yield from _above(case, case.profile.limits.tangency_cap, "a rule is touched")


def _tangency_status(case: Case) -> Iterator[Fault]:
    if tangent(case.window) and status_of(case.window) not in ("YELLOW", "RED"):
        yield Fault("/critical_summary/status", "a rule is touched and it is not YELLOW or RED")


def _verification(case: Case) -> bool:
    return case.window.get("window_type") == "verification"


def _verifies(case: Case) -> Iterator[Fault]:
    if _verification(case) and not does(case.window, "verify"):
        yield Fault("/actions", "no action says verify, test, check or validate")


def _cap(case: Case) -> tuple[float, str]:
    """The lowest cap that holds here, and the conflict it makes with the floor."""
    limits, active = case.profile.limits, case.profile.levels
    caps = [(1.0, "")]
    if case.state.offline and active.get("S2-HEALTH-CONF") != "off":
        caps.append((offline_cap(case), "C2"))
    if tangent(case.window) and active.get("S2-H-TANGCONF") != "off":
        caps.append((limits.tangency_cap, "C1"))
    if (count := _risks(case)) > _MANY and active.get("S2-H-RISKSCALE") != "off":
        caps.append((risk_scale(count), "C1"))
    return min(caps)


def _floor(case: Case) -> Iterator[Fault]:
    confidence = confidence_of(case.window)
    floor = case.profile.limits.verification_floor
    if not _verification(case) or confidence is None or confidence >= floor:
        return
    cap, conflict = _cap(case)
    if cap >= floor:
        yield Fault("/confidence", f"a verification needs {floor:g}, this has {confidence:g}")
    else:
        words = f"a verification needs {floor:g}, but here at most {cap:g} is allowed"
        hint = "a planner, execution or degraded window would say it better"
        yield Fault("/confidence", words, conflict, hint=hint)


def _plans(case: Case) -> Iterator[Fault]:
    if case.window.get("window_type") == "planner" and not does(case.window, "plan"):
        yield Fault("/actions", "no action says plan, design or outline")


def _plan_length(case: Case) -> Iterator[Fault]:
    items = len(array_at(case.window, "output_plan"))
    least = case.profile.limits.planner_items
    if case.window.get("window_type") == "planner" and items < least:
        yield Fault("/output_plan", f"a planner has at least {least} items, this has {items}")


def _identity(case: Case) -> Iterator[Fault]:
    checked = texts_at(object_at(case.window, "rule_tangency"), "checked_rules")
    if not any(says(rule, "identity") for rule in checked):
        yield Fault("/rule_tangency/checked_rules", "no item begins with `Identity:`")


def _row(number: int, name: str, what: str, check: Check, *, why: str, fix: str) -> Rule:
    return Rule(f"S2-{name}", str(number), "block", "draft", "program", what, why, fix, check)


def _model(number: int, name: str, what: str, *, why: str, fix: str) -> Rule:
    return Rule(
        f"S2-{name}",
        str(number),
        "block",
        "draft",
        "model",
        what,
        why,
        fix,
        prompt="status_conduct",
    )


_SURE = "confidence that ignores what the window itself says is worth nothing"
_NAMED = "the type is a claim; the actions must bear it out"
RULES = (
    Rule(
        "S2-X-CORR-CONF",
        "44",
        "block",
        "draft",
        "state",
        "a correction shows in the confidence, with a reason",
        "to correct oneself and stay as sure as before is no correction; it is held against the"
        " last window, and whether the reason is one, no program can tell",
        "lower or raise the confidence and say why in the notes",
        _corrected,
        prompt="status_conduct",
    ),
    _row(
        45,
        "X-LOWCONF",
        "confidence below 0.5 comes with a correction",
        _explained,
        why="who is that unsure must change something; whether it explains, no program can tell",
        fix="fill reflection_curve.correction",
    ),
    _row(
        46,
        "X-RISK3",
        "more than 2 risks cap confidence at 0.7",
        _risk_cap,
        why=_SURE,
        fix="lower the confidence",
    ),
    _row(
        47,
        "X-HICONF",
        "confidence above 0.9 has at most 1 risk",
        _few_risks,
        why=_SURE,
        fix="lower the confidence to 0.9 or less",
    ),
    _row(
        48,
        "H-RISKSCALE",
        "more than 2 risks cap confidence at 1 - 0.1 per risk",
        _risk_scale,
        why=_SURE,
        fix="lower the confidence",
    ),
    _row(
        49,
        "H-TANGCONF",
        "a touched rule caps confidence at 0.6",
        _tangency_cap,
        why=_SURE,
        fix="lower the confidence to 0.6 or less",
    ),
    _row(
        50,
        "H-TANGSTATUS",
        "a touched rule means status YELLOW or RED",
        _tangency_status,
        why="somebody should look (C8: the status is required here)",
        fix="set critical_summary.status to YELLOW",
    ),
    _row(
        51,
        "H-VERACT",
        "a verification has an action that says verify, test, check or validate",
        _verifies,
        why=_NAMED,
        fix="name the check among the actions, or choose another type",
    ),
    replace(
        _row(
            52,
            "H-VERCONF",
            "a verification has confidence of at least 0.7",
            _floor,
            why="who verifies should be able to tell (C1, C2: where a cap holds, the cap wins)",
            fix="choose another type, or verify until you are sure",
        ),
        yields=("C1", "C2"),
    ),
    _row(
        53,
        "H-PLANACT",
        "a planner has an action that says plan, design or outline",
        _plans,
        why=_NAMED,
        fix="name the planning among the actions, or choose another type",
    ),
    _row(
        54,
        "H-PLANLEN",
        "a planner has at least 2 plan items",
        _plan_length,
        why=_NAMED,
        fix="list what the answer will contain",
    ),
    _model(
        56,
        "TRUTH",
        "confidence is honest; when something is unclear it is lower and the risk is named",
        why="no program knows how sure a model is",
        fix="lower the confidence, name the risk, plan the question",
    ),
    Rule(
        "S2-IDENTITY",
        "57",
        "block",
        "draft",
        "heuristic",
        "`checked_rules` has an item `Identity: ...`",
        "who speaks is part of what is said; that it is true, no program can tell",
        "add `Identity: ` and who you are",
        _identity,
        prompt="status_conduct",
    ),
)
