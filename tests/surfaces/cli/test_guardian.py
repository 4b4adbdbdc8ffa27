"""`mentis guardian`: rules, check, prove, explain."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from mentis.ledger.guardian.examples import EXAMPLES, good_window
from mentis.ledger.guardian.table import RULES


class Done(Protocol):
    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]: ...


Mentis = Callable[..., Done]


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    window = {**good_window(), "cycle": "1/5"}
    file = tmp_path / "draft.json"
    file.write_text(json.dumps(window), encoding="utf-8")
    return file


def test_every_rule_is_listed(mentis: Mentis) -> None:
    done = mentis("guardian", "rules", "--json")
    assert [rule["id"] for rule in done.json()["rules"]] == [rule.id for rule in RULES]
    text = mentis("guardian", "rules", "--profile", "s2-4.0")
    assert "S2-H-VERCONF" in text.out
    assert "settles: C4, C6, C8" in text.err


@pytest.mark.parametrize("profile", ["mentis", "s2-4.0", "strict"])
def test_a_good_draft_passes_with_exit_code_0(mentis: Mentis, draft: Path, profile: str) -> None:
    done = mentis("guardian", "check", draft, "--profile", profile)
    assert (done.code, done.out) == (0, f"ok  0 blocking, 0 warnings, profile {profile}\n")


def test_a_blocked_draft_is_told_with_rule_place_and_hint_and_exits_1(
    mentis: Mentis, tmp_path: Path
) -> None:
    file = tmp_path / "draft.json"
    file.write_text(json.dumps({**good_window(), "confidence": 2}), encoding="utf-8")
    done = mentis("guardian", "check", file)
    assert done.code == 1
    assert "block  S2-FIELD-CONF  /confidence: it is missing, or not a number" in done.out
    told = mentis("guardian", "check", file, "--json").json()
    assert (told["blocked"], told["persist"]) == (True, "quarantine")


def test_a_whole_answer_is_checked(mentis: Mentis, draft: Path, tmp_path: Path) -> None:
    file = tmp_path / "answer.txt"
    file.write_text(f"Hello! {draft.read_text(encoding='utf-8')}", encoding="utf-8")
    done = mentis("guardian", "check", file, "--response")
    assert done.code == 1
    assert "S2-WIN-FIRST" in done.out


@pytest.mark.parametrize(
    ("content", "code"), [(b'{"goal": NaN}', "not-canonical"), (b"\xff", "not-canonical")]
)
def test_what_is_no_json_is_one_line_with_the_reason(
    mentis: Mentis, tmp_path: Path, content: bytes, code: str
) -> None:
    file = tmp_path / "draft.json"
    file.write_bytes(content)
    done = mentis("guardian", "check", file)
    assert (done.code, done.out) == (1, "")
    assert f"[{code}]" in done.err
    assert mentis("guardian", "check", tmp_path / "none.json").code == 2


def test_the_proof_shows_a_window_for_every_type_and_situation(mentis: Mentis) -> None:
    done = mentis("guardian", "prove", "--json")
    told = done.json()
    assert (done.code, told["conflicts"], told["satisfied"]) == (0, [], told["cells"])
    assert all(one["window"] for one in told["witnesses"])
    assert "proved  mentis" in mentis("guardian", "prove").out


def test_the_origins_conflicts_are_shown_as_known(mentis: Mentis) -> None:
    done = mentis("guardian", "prove", "--profile", "s2-4.0")
    assert done.code == 0
    assert "known conflict C3: S2-HEALTH leave no window" in done.out
    assert "known conflict C1: S2-H-TANGCONF and S2-H-VERCONF" in done.out


def test_an_owners_profile_nobody_could_obey_is_shown_and_never_used(
    mentis: Mentis, draft: Path, tmp_path: Path
) -> None:
    text = '[profiles.dead]\nsettles = ["C3"]\ntypes = ["verification"]\n'
    (tmp_path / "guardian.toml").write_text(text, encoding="utf-8")
    shown = mentis("--home", tmp_path, "guardian", "prove", "--profile", "dead")
    assert shown.code == 1
    assert "CONFLICT: S2-H-RISKSCALE and S2-H-VERCONF" in shown.out
    refused = mentis("--home", tmp_path, "guardian", "check", draft, "--profile", "dead")
    assert refused.code == 1
    assert "[profile-conflict]" in refused.err


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_every_rule_explains_itself(mentis: Mentis, rule: str) -> None:
    told = mentis("guardian", "explain", rule, "--json").json()
    assert told["id"] == rule
    assert set(told["levels"]) == {"s2-4.0", "mentis", "strict", "as-run"}
    assert (told["breaks"] is not None) == (rule in EXAMPLES)
    assert told["prompt"] or told["breaks"]


def test_an_explanation_reads_well_and_an_unknown_rule_is_usage(mentis: Mentis) -> None:
    done = mentis("guardian", "explain", "verconf")
    assert "did you mean" in done.err
    done = mentis("guardian", "explain", "S2-H-VERCONF")
    assert "mentis: block (C1, C2: warn)" in done.out
    assert '"/confidence": 0.6' in done.out
    assert "the model is told" in mentis("guardian", "explain", "S2-TRUTH").out
