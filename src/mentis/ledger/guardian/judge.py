"""Judges one window: every rule of the profile in turn, then what follows from what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import cast

from mentis.values.guardian import (
    GuardianProfile,
    GuardianState,
    Judgement,
    Level,
    Persist,
    RuleFinding,
)
from mentis.values.json import JsonObject

from .case import NOTHING_KNOWN, Case, Commit, Fault, Operations, Rule
from .profiles import level_of
from .reading import STATUSES, confidence_of, status_of
from .rules_health import missing_foundation
from .summary import derive_summary, differences
from .table import RULES


def judge_draft(
    window: JsonObject,
    state: GuardianState,
    profile: GuardianProfile,
    *,
    facts: Operations = NOTHING_KNOWN,
) -> Judgement:
    """What the guardian says of a draft before it is kept; `facts` as far as they are known."""
    return judge_case(Case(window, state, profile, facts=facts), draft_rules(RULES))


def judge_commit(
    window: JsonObject, commit: Commit, state: GuardianState, profile: GuardianProfile
) -> Judgement:
    """What it says of a window that was kept: hash, predecessor, time."""
    return _only(Case(window, state, profile, commit=commit), _of("commit"))


def judge_operations(
    facts: Operations, state: GuardianState, profile: GuardianProfile
) -> Judgement:
    """What it says of how a window was kept; what is not known is not judged."""
    return _only(Case({}, state, profile, facts=facts), _of("operations"))


def draft_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Those a draft is judged by: its own, and whether it could be kept at all."""
    return tuple(rule for rule in rules if rule.stage == "draft" or rule.id == "S2-HEALTH")


def judge_case(case: Case, rules: Iterable[Rule]) -> Judgement:
    """A judgement with all that follows for a draft: cascade, derived summary, what to do."""
    judged = _only(case, rules)
    fallen = bool(missing_foundation(case))
    derived = derive_summary(case.window, case.state, fallen=fallen)
    own = status_of(case.window)
    return replace(
        judged,
        persist=_persist(case, judged),
        status="RED" if fallen else own if own in STATUSES else None,
        confidence=0.0 if fallen else confidence_of(case.window),
        derived=derived,
        differences=differences(case.window, case.state, derived),
    )


def _persist(case: Case, judged: Judgement) -> Persist:
    if judged.blocked:
        return "quarantine"
    return "spool" if case.state.offline else "commit"


def _of(stage: str) -> Iterator[Rule]:
    return (rule for rule in RULES if rule.stage == stage)


def _only(case: Case, rules: Iterable[Rule]) -> Judgement:
    findings: list[RuleFinding] = []
    unjudged: list[str] = []
    for rule in rules:
        level = level_of(case.profile, rule)
        if level == "off":
            continue
        if rule.check is None or not _known(case, rule):
            unjudged.append(rule.id)
        else:
            findings.extend(run_rule(rule, case, level))
    judged = Judgement(case.profile.name, tuple(findings), "commit", None, None)
    persist: Persist = "quarantine" if judged.blocked else "commit"
    return replace(judged, persist=persist, unjudged=tuple(unjudged))


def _known(case: Case, rule: Rule) -> bool:
    return all(getattr(case.facts, name) is not None for name in rule.needs)


def run_rule(rule: Rule, case: Case, level: Level) -> Iterator[RuleFinding]:
    """What one rule says of a case."""
    check = cast("Callable[[Case], Iterable[Fault]]", rule.check)
    for fault in check(case):
        settled = fault.yields if fault.yields in case.profile.settles else ""
        said: Level = "warn" if settled else level
        hint = fault.hint or rule.fix
        yield RuleFinding(rule.id, said, fault.where, fault.what, hint, settled)
