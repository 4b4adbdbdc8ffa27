"""Repairs of settings: shown before, noted, taken back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.doctor.repairs import (
    SettingsPlaces,
    apply_repairs,
    noted_changes,
    plan_repairs,
    undo_repairs,
)
from mentis.doctor.report import LogFinding, SettingPatch
from mentis.errors import BadInput, StoreError

CLAUDE = SettingPatch(
    "claude-code", "settings.json", ("env", "ENABLE_PROMPT_CACHING_1H"), "1", "page"
)
CODEX = SettingPatch("codex", "config.toml", ("model_auto_compact_token_limit",), 100_000, "page")


def finding(patch: SettingPatch, saving: float | None = 1.0) -> LogFinding:
    return LogFinding("one", "title", "usage", 2.0, saving, 10, "change", patch=patch)


@pytest.fixture
def places(tmp_path: Path) -> SettingsPlaces:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".codex").mkdir()
    return SettingsPlaces({"MENTIS_CONFIG": str(tmp_path / "config")}, tmp_path)


def test_a_key_is_set_and_taken_back_and_all_else_stays(places: SettingsPlaces) -> None:
    claude, codex = (places.user / name for name in (".claude/settings.json", ".codex/config.toml"))
    claude.write_text('{\n    "model": "opus",\n    "env": {\n        "A": "b"\n    }\n}\n')
    codex.write_text('# mine\nmodel = "gpt-5.6"\n\n[tools]\nweb = true\n')
    before = claude.read_text(), codex.read_text()
    plan = plan_repairs([finding(CLAUDE), finding(CODEX)], places)
    assert [one.file for one in plan.changes] == [str(claude), str(codex)]
    assert '+        "ENABLE_PROMPT_CACHING_1H": "1"' in plan.changes[0].diff
    assert (claude.read_text(), codex.read_text()) == before
    apply_repairs(plan, places, now=5.0)
    assert json.loads(claude.read_text())["env"] == {"A": "b", "ENABLE_PROMPT_CACHING_1H": "1"}
    told = tomllib.loads(codex.read_text())
    assert told["model_auto_compact_token_limit"] == 100_000
    assert told["tools"] == {"web": True}
    assert "# mine" in codex.read_text()
    assert len(noted_changes(places)) == 2
    undone, left = undo_repairs(places, now=6.0)
    assert (len(undone), left) == (2, "")
    assert claude.read_text() == before[0]
    assert tomllib.loads(codex.read_text()) == tomllib.loads(before[1])
    assert noted_changes(places) == ()
    with pytest.raises(BadInput, match="nothing that could be taken back"):
        undo_repairs(places, now=7.0)


def test_a_file_that_is_not_there_is_made_and_emptied_again(places: SettingsPlaces) -> None:
    apply_repairs(plan_repairs([finding(CLAUDE)], places), places, now=5.0)
    claude = places.user / ".claude/settings.json"
    assert json.loads(claude.read_text()) == {"env": {"ENABLE_PROMPT_CACHING_1H": "1"}}
    undo_repairs(places, now=6.0)
    assert json.loads(claude.read_text()) == {}


def test_what_its_owner_chose_is_never_changed(places: SettingsPlaces) -> None:
    claude = places.user / ".claude/settings.json"
    claude.write_text('{"env": {"ENABLE_PROMPT_CACHING_1H": "0"}}')
    plan = plan_repairs([finding(CLAUDE)], places)
    assert plan.changes == ()
    assert "is '0'" in plan.left[0]
    claude.write_text('{"env": {"FORCE_PROMPT_CACHING_5M": "1"}}')
    assert (
        "does not go with FORCE_PROMPT_CACHING_5M"
        in plan_repairs([finding(CLAUDE)], places).left[0]
    )


def test_what_was_changed_since_stays(places: SettingsPlaces) -> None:
    apply_repairs(plan_repairs([finding(CLAUDE)], places), places, now=5.0)
    claude = places.user / ".claude/settings.json"
    claude.write_text('{"env": {"ENABLE_PROMPT_CACHING_1H": "0"}}')
    undone, left = undo_repairs(places, now=6.0)
    assert undone == ()
    assert "is not as it was left" in left
    assert '"0"' in claude.read_text()


def test_a_link_stays_one_and_a_file_as_open_as_it_was(
    places: SettingsPlaces, tmp_path: Path
) -> None:
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o644)
    claude = places.user / ".claude/settings.json"
    claude.symlink_to(kept)
    apply_repairs(plan_repairs([finding(CLAUDE)], places), places, now=5.0)
    assert claude.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o644
    assert "ENABLE_PROMPT_CACHING_1H" in kept.read_text()


def test_a_finding_that_saves_nothing_changes_nothing(places: SettingsPlaces) -> None:
    plan = plan_repairs([finding(CLAUDE, None)], places)
    assert (plan.changes, plan.left) == ((), ())


@pytest.mark.parametrize("content", ['{"env": 1}', "[]", "{", "// words\n{}"])
def test_settings_that_are_not_understood_are_left(places: SettingsPlaces, content: str) -> None:
    claude = places.user / ".claude/settings.json"
    claude.write_text(content)
    with pytest.raises(StoreError, match="left as it is"):
        apply_repairs(plan_repairs([finding(CLAUDE)], places), places, now=5.0)
    assert claude.read_text() == content
    assert noted_changes(places) == ()


_PLAIN = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)
_SETTINGS = st.dictionaries(
    st.text(max_size=5).filter(lambda name: name != "env"),
    _PLAIN
    | st.lists(_PLAIN, max_size=2)
    | st.dictionaries(st.text(max_size=3), _PLAIN, max_size=2),
    max_size=4,
)


@given(_SETTINGS)
def test_whatever_else_is_set_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, told: dict[str, object]
) -> None:
    folder = tmp_path_factory.mktemp("user")
    (folder / ".claude").mkdir()
    there = SettingsPlaces({"MENTIS_CONFIG": str(folder / "config")}, folder)
    claude = folder / ".claude/settings.json"
    claude.write_text(json.dumps(told))
    apply_repairs(plan_repairs([finding(CLAUDE)], there), there, now=5.0)
    set_now = json.loads(claude.read_text())
    assert set_now.pop("env") == {"ENABLE_PROMPT_CACHING_1H": "1"}
    assert set_now == told
    undo_repairs(there, now=6.0)
    assert json.loads(claude.read_text()) == told
