"""Every rule of the table: its row, a case that passes it and one that breaks it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mentis.errors import UsageError
from mentis.ledger.guardian.case import Case, Fault, Rule
from mentis.ledger.guardian.examples import EXAMPLES, Change, good_state, good_window
from mentis.ledger.guardian.judge import judge_draft
from mentis.ledger.guardian.profiles import MENTIS, SHIPPED, STRICT
from mentis.ledger.guardian.response import find_window
from mentis.ledger.guardian.table import BY_ID, RULES, find_rule
from mentis.library.load import load_shipped
from mentis.values.guardian import GuardianProfile

from .conftest import case_of

CHECKED = [rule for rule in RULES if rule.check is not None]
MODEL_ONLY = [
    "S2-HEALTH-NOWORK",
    "S2-TRUTH",
    "S2-W-STYLE",
]


def faults(rule: Rule, case: Case) -> list[Fault]:
    assert rule.check is not None
    return list(rule.check(case))


def test_there_are_67_rules_13_warnings_and_two_of_ours() -> None:
    numbers = [rule.number for rule in RULES]
    origin = [str(n) for n in range(1, 68)] + [f"W{n}" for n in range(1, 14)]
    assert numbers == [*origin, "M1", "M2"]
    assert len(BY_ID) == len(RULES)


def test_warnings_warn_and_the_rest_blocks_but_for_the_unsure_receipt() -> None:
    warning = {rule.id for rule in RULES if rule.level == "warn"}
    assert warning == {r.id for r in RULES if r.number.startswith("W")} | {
        "S2-ACK-UNSURE",
        "MENTIS-PLACE",
    }


def test_model_only_rules_have_a_prompt_line_and_no_check() -> None:
    assert [rule.id for rule in RULES if rule.kind == "model"] == MODEL_ONLY
    assert [rule.id for rule in RULES if rule.check is None] == MODEL_ONLY
    for rule in RULES:
        if rule.prompt:
            block = load_shipped().block(rule.prompt)
            assert block is not None
            for wording in block.variants.values():
                assert re.search(rf"^- {rule.id}: .{{20}}", wording.content, re.MULTILINE), rule.id


def test_every_checked_rule_has_its_examples() -> None:
    assert set(EXAMPLES) == {rule.id for rule in CHECKED}


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_a_rule_is_passed_by_its_good_example(rule: Rule) -> None:
    assert faults(rule, case_of(EXAMPLES[rule.id].passes, MENTIS, stage=rule.stage)) == []


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_a_rule_is_broken_by_its_bad_example_and_says_where(rule: Rule) -> None:
    found = faults(rule, case_of(EXAMPLES[rule.id].breaks, MENTIS, stage=rule.stage))
    assert found
    for fault in found:
        assert fault.what
        assert fault.where == "" or fault.where.startswith("/")


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_the_good_case_passes_every_rule(rule: Rule) -> None:
    assert faults(rule, case_of(Change(), MENTIS, stage=rule.stage)) == []


@pytest.mark.parametrize("profile", SHIPPED.values(), ids=lambda profile: profile.name)
def test_the_good_window_has_no_finding_in_any_profile(profile: GuardianProfile) -> None:
    judged = judge_draft(good_window(), good_state(), profile)
    assert (judged.findings, judged.persist) == ((), "commit")


def test_a_rule_is_found_by_id_short_id_or_number() -> None:
    assert {find_rule(name).id for name in ("s2-truth", "TRUTH", "56")} == {"S2-TRUTH"}
    with pytest.raises(UsageError, match="no rule 'S2-TRUHT'") as refusal:
        find_rule("S2-TRUHT")
    assert refusal.value.hint == "did you mean S2-TRUTH?"


JUNK: list[object] = [None, True, 7, 1.5, "text", [], [1, None], {}, {"status": 3}, [[["deep"]]]]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_rule_stumbles_over_any_json_in_any_field(junk: object) -> None:
    for field in good_window():
        window = {**good_window(), field: junk}
        for rule in CHECKED:
            faults(rule, Case(window, good_state(), MENTIS))


@pytest.mark.parametrize("language", ["default", "default@german"])
def test_the_window_a_model_is_shown_as_an_example_is_not_blocked(language: str) -> None:
    block = load_shipped().block("status_window")
    assert block is not None
    answer = block.variants[language].content
    response, window = find_window(answer)
    assert (response.windows, response.fenced) == (1, True)
    for profile in SHIPPED.values():
        judged = judge_draft(window, replace(good_state(), step=7), profile)
        blocking = {finding.rule for finding in judged.findings if finding.level == "block"}
        assert blocking <= {"S2-W-VERSIONS", "S2-W-AWARE", "S2-W-ARCH", "S2-W-RESURRECT"}
        assert judged.blocked == (profile is STRICT)
