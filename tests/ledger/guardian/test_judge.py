"""Verdicts by profile, cascades, the derived summary, and what becomes of a draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from mentis.ledger.guardian.case import Operations
from mentis.ledger.guardian.examples import (
    EXAMPLES,
    HASH,
    TIME,
    Change,
    apply_changes,
    good_state,
    good_window,
)
from mentis.ledger.guardian.judge import (
    judge_commit,
    judge_draft,
    judge_operations,
    run_rule,
)
from mentis.ledger.guardian.profiles import AS_RUN, MENTIS, S2, SHIPPED, STRICT
from mentis.ledger.guardian.table import BY_ID, RULES
from mentis.values.guardian import GuardianProfile, Receipt, Routes, RuleFinding

from .conftest import case_of, stamped_window

OFFLINE = replace(good_state(), routes=Routes(watcher=False, cli=False))
FORGED = {
    "/time_source": f"metadata (STRICT_SYNC): {TIME}",
    "/mcp_trigger/timestamp": TIME,
    "/window_hash": HASH,
}
BLOCKING = [profile for profile in SHIPPED.values() if profile is not AS_RUN]
PROFILES = pytest.mark.parametrize("profile", BLOCKING, ids=lambda profile: profile.name)


def findings(profile: GuardianProfile, changes: Mapping[str, object]) -> dict[str, str]:
    judged = judge_draft(apply_changes(good_window(), changes), good_state(), profile)
    return {finding.rule: finding.level for finding in judged.findings}


def test_a_finding_says_rule_level_place_what_and_what_to_do() -> None:
    judged = judge_draft(apply_changes(good_window(), {"/confidence": 7}), good_state(), MENTIS)
    assert judged.findings[0] == snapshot(
        RuleFinding(
            rule="S2-FIELD-CONF",
            level="block",
            where="/confidence",
            what="it is missing, or not a number from 0.0 to 1.0",
            hint="give a number such as 0.8",
        )
    )


def test_made_up_times_and_hashes_are_refused_under_s2_and_recorded_elsewhere() -> None:
    rules = {"S2-FAKE-TIME", "S2-FAKE-TRIGTIME", "S2-HASH-DRAFT", "S2-DECEIT"}
    assert findings(S2, FORGED) == dict.fromkeys(rules, "block")
    for profile in (MENTIS, STRICT):
        assert findings(profile, FORGED) == dict.fromkeys(rules, "warn")
    window = apply_changes(good_window(), FORGED)
    assert judge_draft(window, good_state(), S2).persist == "quarantine"
    judged = judge_draft(window, good_state(), MENTIS)
    assert judged.persist == "commit"
    places = [finding.where for finding in judged.findings if finding.rule == "S2-DECEIT"]
    assert places == list(FORGED)


def test_a_cap_wins_over_the_floor_of_a_verification_except_under_s2() -> None:
    tangent = {
        "/window_type": "verification",
        "/actions": ["Check the list"],
        "/rule_tangency/tangency_detected": True,
        "/critical_summary/status": "YELLOW",
        "/confidence": 0.6,
    }
    assert findings(S2, tangent) == {"S2-H-VERCONF": "block"}
    assert findings(MENTIS, tangent) == {"S2-H-VERCONF": "warn"}
    assert findings(STRICT, tangent) == {"S2-H-VERCONF": "warn"}
    plain = {**tangent, "/rule_tangency/tangency_detected": False}
    assert findings(MENTIS, plain) == {"S2-H-VERCONF": "block"}


@PROFILES
def test_a_missing_risk_blocks_and_an_empty_one_warns_or_blocks_when_strict(
    profile: GuardianProfile,
) -> None:
    assert findings(profile, {"/risk": None})["S2-FIELD-RISK"] == "block"
    empty = findings(profile, {"/risk": []})
    assert empty == {"S2-W-RISKEMPTY": "block" if profile is STRICT else "warn"}


def test_degraded_is_a_type_of_its_own_but_not_for_the_origin() -> None:
    change = EXAMPLES["MENTIS-DEGRADED"].passes
    window = {
        **apply_changes(good_window(), change.window),
        "critical_summary": {"status": "RED"},
        "risk": ["SYS_ERR: Persistence offline"],
        "reflection_curve": {"delta": "none", "correction": "wait", "next": "restore"},
    }
    judged = judge_draft(window, OFFLINE, MENTIS)
    assert (judged.blocked, judged.persist) == (False, "spool")
    assert [finding.settled for finding in judged.findings] == ["C3"]
    refused = judge_draft(window, OFFLINE, S2)
    assert {"S2-FIELD-TYPE", "S2-HEALTH"} <= {f.rule for f in refused.findings}


@pytest.mark.parametrize("field", ["goal", "inputs", "actions", "confidence"])
@PROFILES
def test_a_missing_foundation_makes_it_red_without_confidence_and_not_kept(
    field: str, profile: GuardianProfile
) -> None:
    judged = judge_draft(apply_changes(good_window(), {f"/{field}": None}), good_state(), profile)
    assert (judged.status, judged.confidence, judged.persist) == ("RED", 0.0, "quarantine")
    assert judged.derived is not None
    assert judged.derived.status == "RED"


def test_the_derived_summary_stands_beside_the_drafts_own_and_changes_nothing() -> None:
    window = apply_changes(good_window(), {"/risk": ["a security hole", "it may rain"]})
    before = str(window)
    judged = judge_draft(window, good_state(), MENTIS)
    assert judged.derived is not None
    assert (judged.derived.status, judged.status) == ("RED", "GREEN")
    assert judged.derived.alerts == ("risk: a security hole",)
    assert judged.derived.warnings == ("risk: it may rain",)
    assert judged.differences == ("/critical_summary/status: the draft says GREEN, the ledger RED",)
    assert str(window) == before


def test_a_draft_with_another_step_than_the_ledger_is_told_apart() -> None:
    window = apply_changes(
        good_window(), {"/step_id": "step-9", "/critical_summary/status": "YELLOW"}
    )
    judged = judge_draft(window, good_state(), MENTIS)
    assert judged.differences == ("/step_id: the draft says step-9, the ledger step-1",)


def test_what_nobody_can_judge_here_is_named() -> None:
    judged = judge_draft(good_window(), good_state(), MENTIS)
    assert judged.unjudged == ("S2-TRUTH", "S2-W-AUTONOMY")


def test_operations_are_judged_only_by_what_is_known() -> None:
    judged = judge_operations(Operations(before=4, after=6), good_state(), MENTIS)
    assert [finding.rule for finding in judged.findings] == ["S2-PLUS-ONE"]
    assert {"S2-PATH", "S2-ACK", "S2-VERIFY"} <= set(judged.unjudged)


def test_a_kept_window_is_judged_by_its_entry() -> None:
    commit = case_of(Change(), MENTIS, stage="commit").commit
    assert judge_commit(stamped_window(), commit, good_state(), MENTIS).findings == ()
    late = replace(commit, head_time="2026-01-01T00:00:01+00:00")
    judged = judge_commit(stamped_window(), late, good_state(), MENTIS)
    assert [finding.rule for finding in judged.findings] == ["S2-CHRONOS-FRESH"]


@pytest.mark.parametrize("rule_id", EXAMPLES)
def test_what_a_finding_yields_to_is_declared_in_its_row(rule_id: str) -> None:
    rule = BY_ID[rule_id]
    case = case_of(EXAMPLES[rule_id].breaks, MENTIS, stage=rule.stage)
    settled = {f.settled for f in run_rule(rule, case, "block") if f.settled}
    assert settled <= set(rule.yields)


def test_strict_blocks_every_warning_that_a_program_can_decide() -> None:
    for rule in RULES:
        decided = rule.kind in ("program", "state")
        if rule.level == "warn":
            assert (STRICT.levels.get(rule.id) == "block") == decided, rule.id


@pytest.mark.parametrize(
    ("receipt", "acknowledged", "status"),
    [
        (Receipt("[OK] Added to history: 0123456789abcdef... (total: 3)", 2, 3), True, "GREEN"),
        (Receipt("Added to history: 0123456789abcdef... (total: 3)", 2, 4), False, "YELLOW"),
        (
            Receipt("Added to history: 0123456789abcdef... (total: 3)", 2, 4, verified=True),
            True,
            "GREEN",
        ),
        (Receipt("", 2, 3, verified=True), False, "YELLOW"),
        (Receipt("Added to history: 0123456789abcdef... (total: 2)", 2, 3), False, "YELLOW"),
    ],
)
def test_a_receipt_needs_its_log_line_and_the_count_or_verification(
    receipt: Receipt, acknowledged: bool, status: str
) -> None:
    assert (receipt.acknowledged, receipt.status) == (acknowledged, status)


@pytest.mark.parametrize(
    ("item", "restores"),
    [
        ("Restart it, then the watcher", True),
        ("Look at the watcher, start it, start\nthe watcher", False),
        ("the watcher: start", False),
        ("start it\nstarting the good WATCHER", True),
        ("restarted watchers", False),
        ("unstarted watcher", False),
        ("Restoring it", True),
    ],
)
def test_a_plan_restores_a_route_when_one_line_starts_the_watcher(
    item: str, restores: bool
) -> None:
    judgement = judge_draft({**good_window(), "output_plan": [item]}, OFFLINE, MENTIS)
    asked = "no item starts the watcher or restores a route"
    assert (asked not in [one.what for one in judgement.findings]) is restores


@pytest.mark.parametrize("text", ["start " * 170_000, f"TODO{' ' * 1_000_000}\nx"])
def test_a_text_as_long_as_a_draft_may_be_is_judged_like_a_short_one(text: str) -> None:
    """Tried from each of its words on, it would take hours."""
    window = {**good_window(), "output_plan": [text], "goal": text}
    found = {one.where for one in judge_draft(window, OFFLINE, MENTIS).findings}
    assert "/output_plan" in found
    assert "/goal" not in found


def test_the_monitor_is_a_route_only_while_the_watcher_is_off() -> None:
    assert Routes(watcher=True, cli=False, monitor=True).up == ("watcher",)
    assert Routes(watcher=False, cli=False, monitor=True).up == ("monitor",)
