"""Rules for when windows cannot be kept, and for drafts without what the rest stands on."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Check, Fault, Rule
from .reading import (
    SYSTEM_ERROR,
    confidence_of,
    plans,
    restarts,
    status_of,
    text_at,
    texts_at,
)
from .words import says

SPOOL = "C3"
KEPT = "as-run"  # the profile keeps what the origin's program kept
FOUNDATION = ("goal", "inputs", "actions", "confidence")


def missing_foundation(case: Case) -> tuple[str, ...]:
    if KEPT in case.profile.settles:
        return tuple(k for k in (*FOUNDATION, "window_type") if case.window.get(k) is None)
    missing = [key for key in FOUNDATION if case.window.get(key) is None]
    if "goal" not in missing and not text_at(case.window, "goal").strip():
        missing.append("goal")
    return tuple(missing)


def is_degraded(case: Case) -> bool:
    """A degraded window, where the profile knows the type."""
    kind = case.window.get("window_type")
    return kind == "degraded" and "degraded" in case.profile.types


def _route(case: Case) -> Iterator[Fault]:
    if case.state.offline:
        yield Fault("", "no route is up: watcher, command line, save tool, monitor", SPOOL)


def _red(case: Case) -> Iterator[Fault]:
    if case.state.offline and status_of(case.window) != "RED":
        yield Fault("/critical_summary/status", "no route is up and the status is not RED")


def offline_cap(case: Case) -> float:
    return case.profile.limits.degraded_cap if is_degraded(case) else 0.0


def _no_confidence(case: Case) -> Iterator[Fault]:
    confidence = confidence_of(case.window)
    cap = offline_cap(case)
    if case.state.offline and confidence is not None and confidence > cap:
        yield Fault("/confidence", f"no route is up: {confidence:g} is more than {cap:g}")


def _offline_risk(case: Case) -> Iterator[Fault]:
    if case.state.offline and not any(
        says(text, "offline") for text in texts_at(case.window, "risk")
    ):
        yield Fault("/risk", "no risk says `Persistence offline`")


def _restore_plan(case: Case) -> Iterator[Fault]:
    if case.state.offline and not restarts(case.window):
        yield Fault("/output_plan", "no item starts the watcher or restores a route")


def _foundation(case: Case) -> Iterator[Fault]:
    for key in missing_foundation(case):
        yield Fault(f"/{key}", f"`{key}` is missing: RED, confidence 0.0, not kept")


def _doom(case: Case) -> Iterator[Fault]:
    if text_at(case.window, "goal").strip():
        return
    if confidence_of(case.window) != 0.0:
        yield Fault("/confidence", "there is no goal and the confidence is not 0.0")
    if status_of(case.window) != "RED":
        yield Fault("/critical_summary/status", "there is no goal and the status is not RED")
    if not plans(case.window, "recovery", "repair"):
        yield Fault("/output_plan", "there is no goal and no item plans the recovery")


def _degraded(case: Case) -> Iterator[Fault]:
    if not is_degraded(case):
        return
    cap = case.profile.limits.degraded_cap
    if (confidence_of(case.window) or 0.0) > cap:
        yield Fault("/confidence", f"a degraded window has at most {cap:g}")
    if not any(map(SYSTEM_ERROR.search, texts_at(case.window, "risk"))):
        yield Fault("/risk", "a degraded window names a risk `SYS_ERR`")
    if not plans(case.window, "recovery", "repair"):
        yield Fault("/output_plan", "a degraded window plans the recovery")


def _row(number: int, name: str, what: str, check: Check, *, why: str, fix: str) -> Rule:
    return Rule(f"S2-{name}", str(number), "block", "draft", "state", what, why, fix, check)


_UNKEPT = "what cannot be kept must not look like business as usual"
RULES = (
    Rule(
        "S2-HEALTH",
        "37",
        "block",
        "operations",
        "state",
        "at least one route is up: watcher, command line, save tool, or monitor",
        "a window nobody keeps is a claim nobody can check (C3: spool it instead of blocking)",
        "start the watcher; meanwhile a `degraded` window is kept in the spool",
        _route,
        yields=(SPOOL,),
    ),
    _row(
        38,
        "HEALTH-STATUS",
        "no route up means status RED",
        _red,
        why=_UNKEPT,
        fix="set critical_summary.status to RED",
    ),
    _row(
        39,
        "HEALTH-CONF",
        "no route up means confidence 0.0 (a degraded window may say a little more)",
        _no_confidence,
        why=_UNKEPT,
        fix="set confidence to 0.0",
    ),
    _row(
        40,
        "HEALTH-RISK",
        "no route up means a risk `Persistence offline`",
        _offline_risk,
        why=_UNKEPT,
        fix="add the risk `Persistence offline`",
    ),
    _row(
        41,
        "HEALTH-PLAN",
        "no route up means a plan to start the watcher or restore a route",
        _restore_plan,
        why=_UNKEPT,
        fix="add `Start the watcher` to output_plan",
    ),
    Rule(
        "S2-HEALTH-NOWORK",
        "42",
        "block",
        "response",
        "model",
        "no route up means no substantive work in the answer",
        "work that nobody can trace is worse than waiting; whether it is work, no program can tell",
        "say what is wrong and how to restore it, and wait",
        prompt="status_conduct",
    ),
    Rule(
        "S2-FOUNDATION",
        "43",
        "block",
        "draft",
        "program",
        "goal, inputs, actions and confidence are there",
        "all else stands on them: without one the window counts as RED with 0.0 and is not kept",
        "fill the missing field",
        _foundation,
    ),
    Rule(
        "S2-DOOM",
        "55",
        "block",
        "draft",
        "program",
        "a missing goal means confidence 0.0, RED and a recovery plan",
        "an agent without a goal can only look for it",
        "state a goal, or admit that there is none",
        _doom,
    ),
    Rule(
        "MENTIS-DEGRADED",
        "M1",
        "block",
        "draft",
        "program",
        "a degraded window has little confidence, a risk `SYS_ERR` and a recovery plan",
        "it is the way to go on while the record is down (C3), and must say so",
        "lower the confidence, name SYS_ERR, plan the recovery",
        _degraded,
    ),
)
