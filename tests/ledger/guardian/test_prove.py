"""The proof that a profile can be obeyed, and profiles of an owner."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mentis.errors import ProfileConflict, SettingsError
from mentis.ledger.guardian.judge import judge_draft
from mentis.ledger.guardian.owner import read_profiles
from mentis.ledger.guardian.profiles import AS_RUN, MENTIS, S2, STRICT, digest_of
from mentis.ledger.guardian.prove import ProfileProof, activate, prove
from mentis.ledger.guardian.space import RISKS, state_at
from mentis.status.guardian import open_profile, owner_profiles
from mentis.values.guardian import GuardianLimits, GuardianProfile

CELLS = 2**7 * len(RISKS)


def every_witness_passes(proof: ProfileProof, profile: GuardianProfile) -> bool:
    return all(
        not judge_draft(cell.window, state_at(cell.given), profile).blocked
        for cell in proof.cells
        if cell.window is not None
    )


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(MENTIS, id=MENTIS.name),
        pytest.param(AS_RUN, id=AS_RUN.name, marks=pytest.mark.slow),
        pytest.param(STRICT, id=STRICT.name, marks=pytest.mark.slow),
    ],
)
def test_a_window_of_every_type_passes_in_every_situation(profile: GuardianProfile) -> None:
    proof = prove(profile)
    assert proof.conflicts == ()
    assert (proof.satisfied_cells, len(proof.cells)) == (4 * CELLS, 4 * CELLS)
    assert every_witness_passes(proof, profile)


def test_the_origin_has_its_three_known_conflicts_and_no_other() -> None:
    proof = prove(S2)
    assert {(conflict.name, conflict.rules) for conflict in proof.conflicts} == {
        ("C1", ("S2-H-TANGCONF", "S2-H-VERCONF")),
        ("C1", ("S2-H-RISKSCALE", "S2-H-VERCONF")),
        ("C2", ("S2-H-VERCONF", "S2-HEALTH-CONF")),
        ("C3", ("S2-HEALTH",)),
    }
    assert proof.undeclared_conflicts == ()
    plainest = {conflict.rules: conflict.situation for conflict in proof.conflicts}
    assert plainest["S2-H-TANGCONF", "S2-H-VERCONF"] == "tangency"
    assert plainest["S2-H-RISKSCALE", "S2-H-VERCONF"] == "4 risks"
    assert every_witness_passes(proof, S2)
    assert activate(S2) is S2


def test_a_planted_profile_that_nobody_could_obey_is_refused_with_the_rules() -> None:
    planted = replace(
        MENTIS,
        name="planted",
        limits=GuardianLimits(degraded_cap=0.8),
        settles=("C3",),
        types=("execution", "verification"),
    )
    with pytest.raises(ProfileConflict) as refusal:
        activate(planted)
    assert refusal.value.facts["rules"] == ["S2-H-RISKSCALE", "S2-H-VERCONF"]
    assert refusal.value.facts["type"] == "verification"
    assert "guardian prove --profile planted" in refusal.value.hint


def test_a_profile_that_allows_no_version_is_refused_by_that_one_rule() -> None:
    with pytest.raises(ProfileConflict) as refusal:
        activate(replace(STRICT, name="none", types=("execution",), schema_versions=()))
    assert refusal.value.facts["rules"] == ["S2-CONST-SCHEMA"]


def test_a_proof_is_kept_by_what_the_profile_says_not_by_its_name() -> None:
    other = replace(MENTIS, name="other")
    assert digest_of(other) == digest_of(MENTIS)
    assert prove(other).cells is prove(MENTIS).cells
    assert digest_of(replace(MENTIS, levels={"S2-W-AWARE": "off"})) != digest_of(MENTIS)


OWNER = """
[profiles.mine]
base = "mentis"
block = ["S2-W-VERSIONS"]
off = ["S2-W-RESURRECT"]
types = ["execution", "degraded"]
schema_versions = ["3.0", "5.0"]

[profiles.mine.limits]
tangency_cap = 0.5

[profiles.dead]
base = "s2-4.0"
settles = ["C3", "C4", "C6", "C8"]
types = ["verification"]
limits = { tangency_cap = 0.9, low = 1, verification_floor = 0.95 }
"""


def test_an_owners_profile_is_a_shipped_one_with_differences(tmp_path: Path) -> None:
    (tmp_path / "guardian.toml").write_text(OWNER, encoding="utf-8")
    mine = open_profile(tmp_path, "mine")
    assert mine.levels == {"S2-W-VERSIONS": "block", "S2-W-RESURRECT": "off"}
    assert (mine.types, mine.schema_versions) == (("execution", "degraded"), ("3.0", "5.0"))
    assert mine.limits == GuardianLimits(tangency_cap=0.5)
    assert mine.settles == MENTIS.settles
    assert open_profile(tmp_path, "strict") is STRICT


def test_an_owners_profile_is_proved_before_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "guardian.toml").write_text(OWNER, encoding="utf-8")
    assert owner_profiles(tmp_path)["dead"].limits.low == 1
    with pytest.raises(ProfileConflict, match=r"S2-H-VERCONF.* leave no verification"):
        open_profile(tmp_path, "dead")


def test_a_profile_that_was_proved_is_not_proved_again_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "guardian.toml"
    mine_alone = '[profiles.mine]\nbase = "mentis"\ntypes = ["execution"]\noff = ["{}"]\n'
    file.write_text(mine_alone.format("S2-W-RESURRECT"))
    mine = open_profile(tmp_path, "mine")
    assert len(list((tmp_path / "cache" / "guardian").iterdir())) == 1

    def proves(_: object) -> None:
        raise AssertionError("it was proved before")

    monkeypatch.setattr("mentis.status.guardian.activate", proves)
    assert open_profile(tmp_path, "mine") == mine
    file.write_text(mine_alone.format("S2-W-VERSIONS"))
    with pytest.raises(AssertionError):
        open_profile(tmp_path, "mine")


def test_a_profile_does_not_inherit_what_the_shipped_one_is_excused_for(tmp_path: Path) -> None:
    (tmp_path / "guardian.toml").write_text('[profiles.copy]\nbase = "s2-4.0"\n', encoding="utf-8")
    assert open_profile(tmp_path, "s2-4.0").known
    with pytest.raises(ProfileConflict, match="cannot be obeyed: S2-HEALTH leaves no"):
        open_profile(tmp_path, "copy")


def test_a_home_without_the_file_has_no_profiles_of_its_own(tmp_path: Path) -> None:
    assert owner_profiles(tmp_path) == {}
    with pytest.raises(SettingsError, match="no guardian profile 'mentiss'") as refusal:
        open_profile(tmp_path, "mentiss")
    assert refusal.value.hint == "did you mean 'mentis'?"


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"profile": {}}, "unknown key 'profile'"),
        ({"profiles": []}, "`profiles` is not a table"),
        ({"profiles": {"mine": 3}}, "it is not a table"),
        ({"profiles": {"strict": {}}}, "a shipped profile has this name"),
        ({"profiles": {"mine": {"base": "yours"}}}, "no guardian profile 'yours'"),
        ({"profiles": {"mine": {"base": 3}}}, "it is not a string"),
        ({"profiles": {"mine": {"blok": []}}}, "unknown key 'blok'"),
        ({"profiles": {"mine": {"block": "S2-TRUTH"}}}, "block is not a list"),
        ({"profiles": {"mine": {"warn": ["S2-NO"]}}}, "there is no 'S2-NO'"),
        ({"profiles": {"mine": {"off": ["S2-TYPES"], "warn": ["S2-TYPES"]}}}, "two levels"),
        ({"profiles": {"mine": {"off": ["S2-CHAIN-LINK"]}}}, "cannot be set to off"),
        ({"profiles": {"mine": {"block": ["S2-W-STYLE"]}}}, "cannot block"),
        ({"profiles": {"mine": {"types": ["banana"]}}}, "there is no 'banana'"),
        ({"profiles": {"mine": {"settles": ["C9"]}}}, "there is no 'C9'"),
        ({"profiles": {"mine": {"limits": 3}}}, "it is not a table"),
        ({"profiles": {"mine": {"limits": {"low": 2}}}}, "low is 2"),
        ({"profiles": {"mine": {"limits": {"low": "0"}}}}, "low is not a number"),
        ({"profiles": {"mine": {"limits": {"planner_items": 1.5}}}}, "not a whole number"),
        ({"profiles": {"mine": {"limits": {"lo": 0}}}}, "unknown key 'lo'"),
    ],
)
def test_a_profile_file_with_a_mistake_is_refused_with_its_place(
    tables: dict[str, object], words: str
) -> None:
    with pytest.raises(SettingsError, match=words) as refusal:
        read_profiles(tables, file="guardian.toml")
    assert refusal.value.hint
